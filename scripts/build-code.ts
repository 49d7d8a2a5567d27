// The JavaScript of the package: a file for each entry, and shared files for what several of them use. Its names and its
// lines are kept, so that stack traces can be read.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { minifySync, parseSync } from "rolldown/utils";
import { chunkFiles } from "./build-chunks.ts";
import { BUNDLED_PACKAGES } from "./bundled-packages.ts";

const root = resolve(import.meta.dirname, "..");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly exports: { readonly [path: string]: string | { readonly default: string } };
};

/** What `package.json` exports, and the programs that are started by their file. Below `src/`, without an extension. */
export const ENTRIES: readonly string[] = [
  ...Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.default])),
  "./dist/cli/main.js",
  "./dist/demo/main.js",
  "./dist/demo/worker.js",
].map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""));

/** Packages whose main file for Node is CommonJS: of their modules, only what is used becomes part of the build. */
const MODULES_OF_PACKAGES = { yaml: join(root, "node_modules/yaml/browser/dist/index.js") };

/** True for a package that is installed beside Pawl. What a bundled package imports is bundled with it. */
function isInstalled(id: string, importer: string | undefined): boolean {
  if (/^[./]/.test(id) || importer?.includes("/node_modules/")) return false;
  return !BUNDLED_PACKAGES.some((name) => id === name || id.startsWith(`${name}/`));
}

/** Writes the code, and returns the folders of the packages whose code is in it. */
export async function buildCode(target: string): Promise<readonly string[]> {
  const thread = await threadCode();
  const { plugin: readImports, nameOf } = chunkFiles();
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(root, `src/${entry}.ts`)])),
    platform: "node",
    external: isInstalled,
    resolve: { alias: MODULES_OF_PACKAGES },
    preserveEntrySignatures: "allow-extension",
    plugins: [asText(join(root, "src/adapters/net/thread-code.ts"), "THREAD_CODE", thread.code), readImports],
  });
  const { output } = await build.write({
    dir: target,
    format: "esm",
    comments: { legal: true, annotation: true, jsdoc: false },
    codeSplitting: { groups: [{ debugName: "files", name: nameOf, includeDependenciesRecursively: false }] },
    entryFileNames: "[name].js",
    // One level below dist/, as the sources that look for files from there: see src/cli/own-files.ts.
    chunkFileNames: ({ moduleIds }) =>
      moduleIds.some((id) => id.includes("/src/demo/")) ? "demo/[name]-[hash].js" : "chunks/[name]-[hash].js",
  });
  await build.close();
  const chunks = output.filter((file) => file.type === "chunk");
  for (const chunk of chunks) makeSmall(join(target, chunk.fileName), chunk);
  return packagesIn([...chunks, thread]);
}

/**
 * The code of worker threads, with everything that it needs: it is started from text. It is minified, since the text of an
 * error is all that leaves a thread.
 */
async function threadCode(): Promise<OutputChunk> {
  const build = await rolldown({
    cwd: root,
    input: "src/adapters/off-thread-worker.ts",
    platform: "node",
    plugins: [schemasByName()],
    onLog: (_, { code, message }) => {
      if (code === "IMPORT_IS_UNDEFINED") throw new Error(message);
    },
  });
  const { output } = await build.generate({ format: "cjs", codeSplitting: false, minify: true });
  await build.close();
  return output[0];
}

/**
 * zod reads JSON Schemas with an object of all kinds of schemas, which keeps every one of them in the code. As a module of
 * the same names, it keeps those that are used: a fifth of zod is left out.
 */
function schemasByName(): Plugin {
  const folder = join(root, "node_modules/zod/v4/classic");
  const all = "\0all-schemas";
  const object = /^const z = \{\s*\.\.\._schemas,\s*\.\.\._checks,\s*iso: _iso,?\s*\};$/m;
  return {
    name: "schemas-by-name",
    resolveId: (id) => (id === all ? all : null),
    load: (id) =>
      id === all
        ? ["* from", "* from", "* as iso from"]
            .map((what, i) => `export ${what} "${folder}/${["schemas", "checks", "iso"][i]}.js";`)
            .join("\n")
        : null,
    transform: (code, id) => {
      if (id !== join(folder, "from-json-schema.js")) return null;
      if (!object.test(code)) throw new Error(`${id} has changed: see schemasByName in build-code.ts.`);
      return code.replace(object, `import * as z from "${all}";`);
    },
  };
}

function asText(module: string, name: string, text: string): Plugin {
  return {
    name: "as-text",
    load: (id) => (id === module ? `export const ${name} = ${JSON.stringify(text)};` : null),
  };
}

/**
 * Only code that runs in production has to be readable in a stack trace: neither other packages, nor the checks for
 * stores and the crash explorer, which say in words what they found. They are minified. The rest keeps the names of its
 * functions, and a line for each statement, and loses the blanks and the names of variables: a fifth of the package.
 */
function makeSmall(file: string, { moduleIds }: OutputChunk): void {
  const code = readFileSync(file, "utf8");
  const isOthers = moduleIds.every((id) => packageFolder(id) !== null || CHECKS.test(id));
  const small = isOthers
    ? minifySync(file, code, { module: true }).code
    : statementsApart(
        file,
        minifySync(file, code, { module: true, compress: LINES_KEPT, mangle: NAMES_KEPT }).code,
      );
  writeFileSync(file, small);
}

/** Names of functions and classes are in stack traces; those of variables, constants and imports are not. */
const NAMES_KEPT = { toplevel: true, keepNames: { function: true, class: true } } as const;

/** Each statement keeps its own line. */
const LINES_KEPT = { sequences: false, joinVars: false, keepNames: NAMES_KEPT.keepNames } as const;

type AstNode = { readonly type: string; readonly start: number };

/** Begins a line before each statement: a blank there changes nothing. */
function statementsApart(file: string, code: string): string {
  const starts = new Set<number>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === "object" && value !== null) {
      const { type, start } = value as Partial<AstNode>;
      if (
        typeof start === "number" &&
        /(?<!Block)(?:Statement|Declaration|MethodDefinition)$/.test(type ?? "")
      )
        starts.add(start);
      Object.values(value).forEach(visit);
    }
  };
  visit(parseSync(file, code).program);
  let apart = "";
  let last = 0;
  for (const start of [...starts].sort((a, b) => a - b)) {
    apart += `${code.slice(last, start)}\n`;
    last = start;
  }
  return `${apart}${code.slice(last)}\n`.trimStart();
}

const CHECKS = /\/src\/testing\/(store|crash)\//;

/** The folders of the packages whose code is in the files. */
export function packagesIn(chunks: readonly Pick<OutputChunk, "moduleIds">[]): readonly string[] {
  return [
    ...new Set(chunks.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageFolder(id) ?? []))),
  ].sort();
}

/** The folder of the package that a module is in; null for Pawl's own. */
function packageFolder(id: string): string | null {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? null;
}

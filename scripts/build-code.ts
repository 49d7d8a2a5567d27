// The JavaScript of the package: a file for each entry, and shared files for what several of them use. Its names and its
// lines are kept, so that stack traces can be read.

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { minifySync, parseSync } from "rolldown/utils";
import { chunkFiles } from "./build-chunks.ts";
import { threadCode } from "./build-thread.ts";
import { BUNDLED_PACKAGES } from "./bundled-packages.ts";
import { DATABASES, embeddedMigrations, withoutComments } from "./embed-migrations.ts";

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
    plugins: [
      asText(join(root, "src/adapters/net/thread-code.ts"), "THREAD_CODE", thread.code),
      shortMigrations(),
      assertionsByName(),
      readImports,
    ],
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

function asText(module: string, name: string, text: string): Plugin {
  return {
    name: "as-text",
    load: (id) => (id === module ? `export const ${name} = ${JSON.stringify(text)};` : null),
  };
}

/** The migrations have comments, and the package has them for two databases: a third of their text. */
function shortMigrations(): Plugin {
  return {
    name: "short-migrations",
    load: (id) => {
      const database = DATABASES.find(
        (name) => id === join(root, `src/store/${name}/embedded-migrations.ts`),
      );
      return database === undefined ? null : embeddedMigrations(database, withoutComments);
    },
  };
}

/** Imported by their names, the assertions of the checks become names of one letter. The sources read better without. */
function assertionsByName(): Plugin {
  const whole = 'import assert from "node:assert/strict";';
  const call = /\bassert\.(\w+)(?=\()/g;
  return {
    name: "assertions-by-name",
    transform: (code, id) => {
      if (!CHECKS.test(id) || !code.includes(whole)) return null;
      const names = new Set([...code.matchAll(call)].map(([, name = ""]) => `${name} as assert_${name}`));
      return code
        .replace(whole, `import { ${[...names].join(", ")} } from "node:assert/strict";`)
        .replaceAll(call, "assert_$1");
    },
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
        minifySync(file, code, {
          module: true,
          compress: { keepNames: NAMES_KEPT.keepNames },
          mangle: NAMES_KEPT,
        }).code,
      );
  writeFileSync(file, small);
}

/** Names of functions and classes are in stack traces; those of variables, constants and imports are not. */
const NAMES_KEPT = { toplevel: true, keepNames: { function: true, class: true } } as const;

type AstNode = { readonly type: string; readonly start: number };

/**
 * Begins a line before each statement, and before each part of statements that were joined: a blank there changes nothing.
 * After `return` it would, so the first part stays where it is.
 */
function statementsApart(file: string, code: string): string {
  const starts = new Set<number>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === "object" && value !== null) {
      for (const { start } of lineStarts(value)) if (code[start - 1] !== "(") starts.add(start);
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

type JoinedNodes = {
  readonly declarations?: readonly AstNode[];
  readonly expressions?: readonly AstNode[];
};

/** A statement, the further declarations in it, and the further expressions between commas. */
function lineStarts(node: object): readonly AstNode[] {
  const { type = "", start = 0, declarations, expressions } = node as Partial<AstNode> & JoinedNodes;
  if (type === "SequenceExpression") return expressions?.slice(1) ?? [];
  const isStatement = /(?<!Block)(?:Statement|Declaration|MethodDefinition)$/.test(type);
  return isStatement ? [{ type, start }, ...(declarations?.slice(1) ?? [])] : [];
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

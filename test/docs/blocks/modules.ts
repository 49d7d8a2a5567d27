// The TypeScript of pages, written as modules into a project and compiled there in one go.

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { toolsFirst } from "../../package/packed-project.ts";
import { type Block, joinedBlocks } from "./blocks.ts";

/** A line of a module, and where it is on a page. Lines that the module got in addition have no place. */
type Line = { readonly text: string; readonly place: string | null };

/** A file of the project that is made from the blocks of a page, or from an example in a doc comment. */
export type Module = { readonly path: string; readonly lines: readonly Line[] };

/** The exported names of a prelude, by the prelude's name. */
export type Preludes = ReadonlyMap<string, readonly string[]>;

/** The names that a prelude exports. */
export function exportedNames(source: string): readonly string[] {
  return [...source.matchAll(/^export (?:declare )?(?:const|function|class|type|interface) (\w+)/gm)].map(
    ([, name = ""]) => name,
  );
}

/** Copies the preludes into a project, where they import the package and not its sources. */
export function copyPreludes(folder: string, project: string): void {
  const target = join(project, "pages/preludes");
  mkdirSync(target, { recursive: true });
  for (const file of readdirSync(folder)) {
    const source = readFileSync(join(folder, file), "utf8");
    writeFileSync(join(target, file), source.replaceAll('"../../../src/index.ts"', '"pawl"'));
  }
}

/** The modules of the given blocks: one a block, unless it continues the one before it. */
export function modulesOf(blocks: readonly Block[], preludes: Preludes): readonly Module[] {
  return joinedBlocks(blocks).map((group) => moduleOf(group, preludes));
}

function moduleOf(group: readonly Block[], preludes: Preludes): Module {
  const [first] = group;
  if (first === undefined) throw new Error("A module needs a block.");
  const code = group.map(({ text }) => text).join("");
  const named = group.flatMap(({ marks }) => (marks.get("with") ?? "").split(", ").filter(Boolean));
  const imports = named.map((name) => {
    const names = preludes.get(name);
    if (names === undefined) throw new Error(`${first.page}:${first.line}: there is no prelude ${name}.`);
    return importLine(`../preludes/${name}.ts`, missingNames(code, names));
  });
  const lines = group.flatMap(({ page, line, text }) =>
    text.split("\n").map((each, i) => ({ text: each, place: `${page}:${line + i}` })),
  );
  const added = imports.map((text) => ({ text, place: null }));
  return { path: modulePath(first), lines: [...added, ...lines] };
}

/** The folder of a page: its blocks see each other's files there, and nothing of other pages. */
export function pageFolder(page: string): string {
  return join("pages", page.replace(/\.md$/, "").replaceAll("/", "-"));
}

export function modulePath({ page, line, marks }: Block): string {
  return join(pageFolder(page), marks.get("file") ?? `line-${line}.ts`);
}

/** Those of the names that the code uses and does not declare or import itself. */
export function missingNames(code: string, names: readonly string[]): readonly string[] {
  return names.filter((name) => {
    const isUsed = new RegExp(`(?<![\\w"']|[^.]\\.)${name}\\b(?!["'])`).test(code);
    const declares = new RegExp(`\\b(?:const|let|function|class|type|interface) ${name}\\b`).test(code);
    const imports = new RegExp(`import [^;]*\\b${name}\\b[^;]* from`).test(code);
    const unpacks = new RegExp(`\\bconst \\{[^}]*\\b${name}\\b[^}]*\\} =`).test(code);
    return isUsed && !declares && !imports && !unpacks;
  });
}

export function importLine(from: string, names: readonly string[]): string {
  return `import { ${names.join(", ")} } from "${from}";`;
}

const USER_OPTIONS = {
  target: "es2023",
  lib: ["es2024", "dom"],
  types: ["node"],
  module: "nodenext",
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
  moduleDetection: "force",
};

/** Writes the modules into the project. A page's file that is written twice would hide the first one. */
export function writeModules(project: string, modules: readonly Module[]): void {
  const twice = modules.find(({ path }, i) => modules.findIndex((other) => other.path === path) !== i);
  if (twice !== undefined) throw new Error(`${twice.path} is written by two blocks: rename one of them.`);
  for (const { path, lines } of modules) {
    const file = join(project, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, lines.map(({ text }) => text).join("\n"));
  }
  // Named one by one, so that none is left out for its folder or its extension.
  const files = modules.map(({ path }) => path);
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: USER_OPTIONS, files }));
}

const DIAGNOSTIC = /^(?<path>[^(\n]+)\((?<line>\d+),\d+\): error (?<message>.+)$/;

/** Compiles everything that was written, and returns each error with its place on the page. */
export async function compileModules(
  project: string,
  modules: readonly Module[],
): Promise<readonly string[]> {
  const output = await promisify(execFile)("tsc", ["-p", "tsconfig.json", "--pretty", "false"], {
    cwd: project,
    env: toolsFirst,
  }).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string; message: string }) => error.stdout || error.message,
  );
  const byPath = new Map(modules.map((module) => [module.path, module]));
  return output
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith(" "))
    .map((line) => {
      const { path = "", line: at = "", message = line } = DIAGNOSTIC.exec(line)?.groups ?? {};
      const place = byPath.get(path)?.lines[Number(at) - 1]?.place ?? path;
      return place === "" ? message : `${place}: ${message}`;
    });
}

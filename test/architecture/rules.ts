// The architecture rules, each a function from a file to its problems. They see the sources as a map from path to text, so
// that a test can pass files that were never on disk.

import { isBuiltin } from "node:module";
import { posix } from "node:path";
import { findCycles } from "./import-cycles.ts";
import { type Import, importsOf } from "./imports.ts";
import { environmentReadsIn, impureCodeIn } from "./impure-code.ts";
import { orderText, placeIn, rooms, whyNotBetweenRooms } from "./rooms.ts";
import { type Token, tokenize } from "./source-tokens.ts";
import { typesIn } from "./type-declarations.ts";

/** A layer imports from itself and from those before it in this list. */
export const layers = [
  "core",
  "store",
  "session",
  "export",
  "account",
  "engine",
  "adapters",
  "server",
  "client",
  "testing",
  "cli",
  "demo",
] as const;

const libraryRoot = "src/index.ts";
const neverInLibraryRoot: readonly string[] = ["server", "client", "cli", "testing", "demo"];
const compositionRoots: readonly string[] = ["cli", "demo"];
const packagesForCore = ["node:crypto", "canonicalize", "croner", "zod"];
/**
 * The command line loads the user's own configuration, and these files one package each: threads get the URLs of two that
 * they cannot look for, and the others have no types.
 */
const computedImports = [
  "src/adapters/off-thread-jobs.ts",
  "src/adapters/tools/pdf-document.ts",
  "src/store/postgres-jobs/graphile.ts",
  "src/store/postgres-wire/pg-driver.ts",
];
const vagueNames = ["utils", "util", "helpers", "helper", "common", "types", "misc"];
const maxLines = 400;
export const maxFiles = 30;

export type SourceFile = {
  readonly path: string;
  readonly lines: number;
  readonly tokens: readonly Token[];
  readonly imports: readonly Import[];
};

export type Violation = {
  readonly rule: RuleName;
  readonly path: string;
  readonly line: number;
  readonly what: string;
};
export type RuleName = keyof typeof rules;

type Problem = { readonly line: number; readonly what: string };
type Rule = (file: SourceFile, all: ReadonlyMap<string, SourceFile>) => readonly Problem[];

const rules = {
  "every file is in a layer": (file) =>
    file.path === libraryRoot || layerOf(file.path) !== undefined
      ? []
      : [{ line: 1, what: `is neither ${libraryRoot} nor in one of the layers ${layers.join(", ")}` }],

  "every import can be followed": (file, all) =>
    file.imports.flatMap((each) => {
      const reason = whyItCannotBeFollowed(file, each, all);
      return reason === undefined ? [] : [{ line: each.line, what: reason }];
    }),

  "layers import upwards only": (file) =>
    file.imports.flatMap((each) => {
      const target = each.specifier === undefined ? undefined : resolveImport(file, each.specifier);
      return target === undefined || mayImport(file.path, target)
        ? []
        : [{ line: each.line, what: `must not import ${target}` }];
    }),

  "every file is in a room": (file) =>
    Object.keys(rooms)
      .filter((folder) => file.path.startsWith(`${folder}/`) && placeIn(folder, file.path) === undefined)
      .map((folder) => ({ line: 1, what: `is in no room of ${folder}: ${orderText(folder)}` })),

  "rooms import only from the rooms before them": (file) =>
    file.imports.flatMap((each) => {
      const target = each.specifier === undefined ? undefined : resolveImport(file, each.specifier);
      const reason = target === undefined ? undefined : whyNotBetweenRooms(file.path, target);
      return reason === undefined ? [] : [{ line: each.line, what: `must not import ${target}: ${reason}` }];
    }),

  "no folder holds too many files": (file, all) => {
    const beside = [...all.keys()].filter((path) => posix.dirname(path) === posix.dirname(file.path));
    return beside.length > maxFiles && beside[0] === file.path
      ? [{ line: 1, what: `is one of ${beside.length} files in its folder, more than ${maxFiles}` }]
      : [];
  },

  "core imports only what is pure": (file) =>
    packagesOf(file)
      .filter(({ name }) => layerOf(file.path) === "core" && !packagesForCore.includes(name))
      .map(({ line, name }) => ({ line, what: `core must not import ${name}` })),

  "core reads no clock, no randomness, no environment": (file) =>
    layerOf(file.path) === "core"
      ? impureCodeIn(file.tokens).map(({ line, what }) => ({ line, what: `core must not use ${what}` }))
      : [],

  "only composition roots read the environment": (file) => {
    if (file.path === libraryRoot || compositionRoots.includes(layerOf(file.path) ?? "")) return [];
    const imported = packagesOf(file).filter(({ name }) => name === "node:process");
    return [...environmentReadsIn(file.tokens), ...imported].map(({ line }) => ({
      line,
      what: "reads the environment; take the value as an option instead",
    }));
  },

  "only src/store/sqlite imports node:sqlite": (file) =>
    packagesOf(file)
      .filter(({ name }) => name === "node:sqlite" && !file.path.startsWith("src/store/sqlite/"))
      .map(({ line }) => ({ line, what: "must not import node:sqlite" })),

  // It is loaded by a name in a variable, so the name itself is looked for, wherever it is written.
  "only src/store/postgres-wire names the package pg": (file) =>
    file.tokens
      .filter(({ kind, text }) => kind === "string" && /^pg(\/|$)/.test(text))
      .filter(() => !file.path.startsWith("src/store/postgres-wire/"))
      .map(({ line, text }) => ({ line, what: `must not name the package ${text}` })),

  "only src/adapters imports the AI SDK": (file) => {
    // The demo loads a provider if the user has a key for it.
    if (["adapters", "demo"].includes(layerOf(file.path) ?? "")) return [];
    const typesAllowed = file.path === libraryRoot || layerOf(file.path) === "testing";
    return packagesOf(file)
      .filter(({ name, typeOnly }) => isAiSdk(name) && !(typesAllowed && typeOnly))
      .map(({ line, name }) => ({
        line,
        what: `must not import ${name}${typesAllowed ? " except as a type" : ""}`,
      }));
  },

  "no file imports itself, directly or through others": (file, all) =>
    cyclesIn(all)
      .filter(([first]) => first === file.path)
      .map((cycle) => ({ line: 1, what: `is in a cycle: ${cycle.join(" → ")}` })),

  "no file is too long": (file) =>
    file.lines > maxLines ? [{ line: maxLines, what: `has ${file.lines} lines, more than ${maxLines}` }] : [],

  "a type name is declared once": (file, all) =>
    typesIn(file.tokens).flatMap(({ name, line }) => {
      const others = (declarationsIn(all).get(name) ?? []).filter((path) => path !== file.path);
      return others.length === 0 ? [] : [{ line, what: `declares ${name}, as ${others.join(" and ")} does` }];
    }),

  "errors of Pawl are recognised by isInstance": (file, all) =>
    file.tokens.flatMap(({ text, line }, index) => {
      const name = file.tokens[index + 1]?.text ?? "";
      return text === "instanceof" && ownErrorsIn(all).has(name)
        ? [{ line, what: `uses instanceof ${name}, which misses the errors of another copy of the package` }]
        : [];
    }),

  "names are kebab-case": (file) =>
    file.path.split("/").every((part) => /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+)*$/.test(part))
      ? []
      : [{ line: 1, what: "is not named in kebab-case" }],

  "names say what is inside": (file) =>
    file.path.split("/").some((part) => vagueNames.includes(part.replace(/\..*$/, "")))
      ? [{ line: 1, what: "has a name that could hold anything; name the concept" }]
      : [],
} satisfies Record<string, Rule>;

export const ruleNames = Object.keys(rules) as readonly RuleName[];

export function checkArchitecture(texts: ReadonlyMap<string, string>): readonly Violation[] {
  const files = readSources(texts);
  return [...files.values()].flatMap((file) =>
    ruleNames.flatMap((rule) =>
      rules[rule](file, files).map((problem) => ({ rule, path: file.path, ...problem })),
    ),
  );
}

/** @throws if a file cannot be read as TypeScript: better than passing it unread. */
export function readSources(texts: ReadonlyMap<string, string>): ReadonlyMap<string, SourceFile> {
  return new Map([...texts].map(([path, text]) => [path, readSource(path, text)]));
}

/** The files that have too many lines, each with their number. Tests are held to this as well as the sources. */
export function longFiles(texts: ReadonlyMap<string, string>): readonly string[] {
  return [...texts].flatMap(([path, text]) => {
    const lines = countLines(text);
    return lines > maxLines ? [`${path} has ${lines} lines, more than ${maxLines}`] : [];
  });
}

function countLines(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function readSource(path: string, text: string): SourceFile {
  const lines = countLines(text);
  if (!/\.[cm]?[jt]sx?$/.test(path)) return { path, lines, tokens: [], imports: [] };
  try {
    const tokens = tokenize(text);
    return { path, lines, tokens, imports: importsOf(tokens) };
  } catch (error) {
    throw new Error(`${path} ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

export function layerOf(path: string): string | undefined {
  const [top, layer, ...rest] = path.split("/");
  return top === "src" && rest.length > 0 ? layers.find((each) => each === layer) : undefined;
}

function mayImport(from: string, to: string): boolean {
  const target = layerOf(to);
  if (target === undefined) return false;
  if (from === libraryRoot) return !neverInLibraryRoot.includes(target);
  const own = layerOf(from);
  return own !== undefined && indexOfLayer(target) <= indexOfLayer(own);
}

function indexOfLayer(layer: string): number {
  return layers.findIndex((each) => each === layer);
}

function whyItCannotBeFollowed(
  file: SourceFile,
  { specifier }: Import,
  all: ReadonlyMap<string, SourceFile>,
): string | undefined {
  if (specifier === undefined) {
    const isKnown = layerOf(file.path) === "cli" || computedImports.includes(file.path);
    return isKnown ? undefined : "imports a path that is computed at run time";
  }
  if (/^(pawl(\/|$)|#|\/|file:)/.test(specifier))
    return `imports its own package by the back door: ${specifier}`;
  const target = resolveImport(file, specifier);
  return target === undefined || all.has(target) ? undefined : `imports ${target}, which is not in src`;
}

/** The path of a relative import; undefined for a package. */
function resolveImport(file: SourceFile, specifier: string): string | undefined {
  return /^\.\.?(\/|$)/.test(specifier) ? posix.join(posix.dirname(file.path), specifier) : undefined;
}

type PackageImport = { readonly name: string; readonly typeOnly: boolean; readonly line: number };

/** Imports of packages, by name without the subpath; Node's own always with `node:`. */
function packagesOf(file: SourceFile): readonly PackageImport[] {
  return file.imports.flatMap(({ specifier, typeOnly, line }) => {
    if (specifier === undefined || resolveImport(file, specifier) !== undefined) return [];
    if (isBuiltin(specifier)) return [{ name: `node:${specifier.replace(/^node:/, "")}`, typeOnly, line }];
    const parts = specifier.split("/");
    return [{ name: parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/"), typeOnly, line }];
  });
}

function isAiSdk(name: string): boolean {
  return name === "ai" || name.startsWith("@ai-sdk/");
}

const knownCycles = new WeakMap<ReadonlyMap<string, SourceFile>, ReturnType<typeof findCycles>>();

/** Computed once, and not again for each file. */
function cyclesIn(all: ReadonlyMap<string, SourceFile>): ReturnType<typeof findCycles> {
  const cycles = knownCycles.get(all) ?? findCycles(importGraph(all));
  knownCycles.set(all, cycles);
  return cycles;
}

const knownDeclarations = new WeakMap<
  ReadonlyMap<string, SourceFile>,
  ReadonlyMap<string, readonly string[]>
>();

/** The files that declare each type name. Computed once, and not again for each file. */
function declarationsIn(all: ReadonlyMap<string, SourceFile>): ReadonlyMap<string, readonly string[]> {
  const known = knownDeclarations.get(all);
  if (known !== undefined) return known;
  const declarations = new Map<string, string[]>();
  for (const { path, tokens } of all.values())
    for (const name of new Set(typesIn(tokens).map((each) => each.name)))
      declarations.set(name, [...(declarations.get(name) ?? []), path]);
  knownDeclarations.set(all, declarations);
  return declarations;
}

const knownErrors = new WeakMap<ReadonlyMap<string, SourceFile>, ReadonlySet<string>>();

/** The classes that extend `PawlError`, and it. Computed once, and not again for each file. */
function ownErrorsIn(all: ReadonlyMap<string, SourceFile>): ReadonlySet<string> {
  const known = knownErrors.get(all);
  if (known !== undefined) return known;
  const errors = [...all.values()].flatMap(({ tokens }) =>
    tokens.flatMap(({ text }, index) => {
      const [name, next, base] = tokens.slice(index + 1, index + 4).map((token) => token.text);
      return text === "class" && next === "extends" && base === "PawlError" ? [name ?? ""] : [];
    }),
  );
  const found = new Set(["PawlError", ...errors]);
  knownErrors.set(all, found);
  return found;
}

function importGraph(all: ReadonlyMap<string, SourceFile>): ReadonlyMap<string, readonly string[]> {
  const targetsOf = (file: SourceFile): readonly string[] =>
    file.imports
      .map(({ specifier }) => (specifier === undefined ? undefined : resolveImport(file, specifier)))
      .filter((target) => target !== undefined);
  return new Map([...all.values()].map((file) => [file.path, targetsOf(file)]));
}

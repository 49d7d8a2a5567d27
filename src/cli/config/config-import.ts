import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { PawlError } from "../../core/errors.ts";
import { OWN_FOLDER } from "../own-files.ts";

/** An error in a configuration file and its location: `pawl.config.ts:12`. */
export type ConfigProblem = { readonly place: string; readonly what: string };

type Module = { readonly [name: string]: unknown };

/** Imports a module without Node's warnings about how it was loaded, which the user cannot act on. */
export async function importQuietly(url: string): Promise<Module> {
  return quietly(async () => (await import(url)) as Module);
}

async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!isLoadWarning(rest)) emitWarning(warning, ...rest);
  };
  const listenAgain = withoutCommonJsWarning();
  try {
    return await work();
  } finally {
    process.emitWarning = emitWarning;
    listenAgain();
  }
}

/** Node emits one warning of its loader directly: an ES module in a CommonJS package, which is reported as an error anyway. */
function withoutCommonJsWarning(): () => void {
  const listeners = process.listeners("warning");
  const filter = (warning: Error) => {
    if (warning.message.startsWith("Failed to load the ES module")) return;
    for (const listener of listeners) listener(warning);
  };
  process.removeAllListeners("warning").on("warning", filter);
  return () => {
    process.off("warning", filter);
    for (const listener of listeners) process.on("warning", listener);
  };
}

/** A package.json without "type", or type stripping being experimental in this Node. */
function isLoadWarning([first]: readonly unknown[]): boolean {
  if (typeof first === "object" && first !== null)
    return "code" in first && first.code === "MODULE_TYPELESS_PACKAGE_JSON";
  return first === "ExperimentalWarning";
}

/** Explains in one sentence why the file at `path` could not be imported; `show` formats a path for display. */
export async function importProblem(
  error: unknown,
  path: string,
  show: (path: string) => string,
): Promise<ConfigProblem> {
  if (!(error instanceof Error))
    return { place: show(path), what: `it throws ${JSON.stringify(error) ?? "undefined"}.` };
  const what = readingProblem(error, path);
  const place = what === null ? frameOf(error) : (headOf(error) ?? (await syntaxPlace(error, path)));
  return { place: shownPlace(path, place, show), what: what ?? thrownProblem(error) };
}

function shownPlace(path: string, place: SourceLine | null, show: (path: string) => string): string {
  if (place === null) return show(path);
  const shown = `${show(place.path)}:${place.line}`;
  return place.path === path ? shown : `${show(path)} (${shown})`;
}

function thrownProblem(error: Error): string {
  return PawlError.isInstance(error) ? error.message : `it throws ${error.name}: ${error.message}`;
}

type SourceLine = { readonly path: string; readonly line: number };

/** Node's loader error as a sentence with a remedy; null if the module itself threw. */
function readingProblem(error: Error & { readonly code?: unknown }, path: string): string | null {
  const { message } = error;
  switch (error.code) {
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return `${message.replace(/ is not supported.*$/s, "")} is not supported: Node only strips types, so write it in plain JavaScript (an object for an enum, fields for parameter properties), or build the file to pawl.config.js first.`;
    case "ERR_INVALID_TYPESCRIPT_SYNTAX":
      return `it cannot be read as TypeScript: ${message}.`;
    case "ERR_MODULE_NOT_FOUND":
      return notFound(message);
    case "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING":
      return "Node does not strip types under node_modules: move the configuration outside, or build it to JavaScript.";
    case "ERR_UNKNOWN_FILE_EXTENSION":
    case "ERR_IMPORT_ATTRIBUTE_MISSING":
      return `a configuration is a TypeScript or JavaScript module, and ${JSON.stringify(extname(path))} is neither: call it pawl.config.ts.`;
    default:
      return error instanceof SyntaxError ? syntaxProblem(message) : null;
  }
}

function syntaxProblem(message: string): string {
  if (/import statement outside a module|Unexpected token 'export'/.test(message))
    return 'its package.json says "type": "commonjs", and the file is an ES module: rename it to pawl.config.mts (or .mjs).';
  const reason = message.replace(/\.$/, "");
  return /does not provide an export named/.test(message)
    ? `${reason}.`
    : `it cannot be read as JavaScript: ${reason}.`;
}

function notFound(message: string): string {
  const name = /^Cannot find package '([^']+)'/.exec(message)?.[1];
  if (name !== undefined) return `it needs the package ${name}, which is not installed: npm install ${name}.`;
  const file = /^Cannot find module '([^']+)'/.exec(message)?.[1];
  return `it imports ${file ?? "a file"}, which does not exist: import files with their extension, such as .ts.`;
}

/** The location that Node prints above a syntax error. */
function headOf(error: Error): SourceLine | null {
  const match = /^((?:file:\/\/)?\/[^\n]*|[A-Za-z]:[^\n]*):(\d+)\n/.exec(error.stack ?? "");
  return match?.[1] === undefined ? null : { path: pathOf(match[1]), line: Number(match[2]) };
}

/** Node does not locate syntax errors in plain JavaScript, but its TypeScript parser does. */
async function syntaxPlace(error: Error, path: string): Promise<SourceLine | null> {
  if (!(error instanceof SyntaxError)) return null;
  try {
    const text = await readFile(path, "utf8");
    await quietly(async () => stripTypeScriptTypes(text, { sourceUrl: path }));
    return null;
  } catch (located) {
    return located instanceof Error ? headOf(located) : null;
  }
}

/** The innermost stack frame in the user's own code. */
function frameOf(error: Error): SourceLine | null {
  for (const [, file = "", line] of (error.stack ?? "").matchAll(
    /\(?((?:file:\/\/)?\/[^\n()]+?):(\d+):\d+\)?$/gm,
  )) {
    const path = pathOf(file);
    if (!path.startsWith(OWN_FOLDER) && !path.includes("/node_modules/")) return { path, line: Number(line) };
  }
  return null;
}

function pathOf(file: string): string {
  return file.startsWith("file://") ? fileURLToPath(file) : file;
}

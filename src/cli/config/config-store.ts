import { readFile } from "node:fs/promises";
import { ConfigurationError } from "../../core/errors.ts";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import { tokensOf } from "./config-tokens.ts";

/**
 * The `store` that a configuration names, read from its text: commands that only use the store do not run the file, whose code
 * is of no use to them and may be broken. It may be a text, a variable (`process.env.STORE`), or one with a text for where it is
 * not set. Null where all of what is exported is seen, and names none.
 *
 * @throws ConfigurationError where the address is computed otherwise, which only running the file would tell.
 */
export async function writtenStore(path: string, env: Environment): Promise<string | null> {
  const store = storeIn(await readFile(path, "utf8"), env);
  if (store !== COMPUTED) return store;
  throw new ConfigurationError(
    `The store of ${path} cannot be told without running it, which this command does not do: name the store with --store or PAWL_STORE, or write it out there (store: "file:./pawl.db").`,
  );
}

const COMPUTED = Symbol("computed");
type Found = string | typeof COMPUTED | null;

/** The value of `store` in the object that is exported. Where not all of that can be seen, nobody knows whether it has one. */
function storeIn(source: string, env: Environment): Found {
  const tokens = tokensOf(source);
  if (tokens === null) return COMPUTED;
  // What exports nothing cannot be run, and names none.
  if (!tokens.some((token) => /^(?:default|module|exports)$/.test(token))) return null;
  const value = exportedValue(tokens);
  if (value === null || tokens[value.at] !== "{") return COMPUTED;
  let found: Found = null;
  let at = value.at + 1;
  while (tokens[at] !== "}") {
    const end = endOfProperty(tokens, at);
    const property = end === null ? [] : tokens.slice(at, end);
    if (end === null || !isPlain(property)) return COMPUTED;
    // Of two the last one counts.
    if (/^(["']?)store\1$/.test(property[0] ?? "")) found = valueOf(property.slice(1).join(""), tokens, env);
    at = tokens[end] === "," ? end + 1 : end;
  }
  return isEnd(tokens, at + 1, value) ? found : COMPUTED;
}

/** Where a value begins, inside of `defineConfig(` or not. */
type Value = { readonly at: number; readonly isWrapped: boolean };

/**
 * What `export default` is followed by, or what the variable is given that it names, where nothing else names that and so could change
 * it. Null where it is anything else.
 */
function exportedValue(tokens: readonly string[]): Value | null {
  const [exported, second] = indexesOf(tokens, "default").filter((at) => tokens[at - 1] === "export");
  if (exported === undefined || second !== undefined) return null;
  const value = valueAt(tokens, exported + 1);
  const name = tokens[value.at] ?? "";
  if (!/^[\p{L}_$]/u.test(name)) return value;
  const [declared = 0, used, third] = indexesOf(tokens, name);
  if (used !== value.at || third !== undefined || !isEnd(tokens, used + 1, value)) return null;
  const equals = tokens.indexOf("=", declared);
  const isDeclared = /^(?:const|let|var)$/.test(tokens[declared - 1] ?? "") && equals !== -1 && equals < used;
  return isDeclared ? valueAt(tokens, equals + 1) : null;
}

function valueAt(tokens: readonly string[], at: number): Value {
  const isWrapped = tokens[at] === "defineConfig" && tokens[at + 1] === "(";
  return { at: isWrapped ? at + 2 : at, isWrapped };
}

/** Nothing is made of the value but what a type says of it: the next statement follows. */
function isEnd(tokens: readonly string[], at: number, { isWrapped }: Value): boolean {
  if (!isWrapped) return /^(?:[\p{L}_$].*|[;}]|)$/su.test(tokens[at] ?? "");
  const closing = tokens[at] === "," ? at + 1 : at;
  return tokens[closing] === ")" && isEnd(tokens, closing + 1, { at, isWrapped: false });
}

function indexesOf(tokens: readonly string[], wanted: string): readonly number[] {
  return tokens.flatMap((token, at) => (token === wanted ? [at] : []));
}

/** Where its comma is, or the end of the object; null where that does not end. */
function endOfProperty(tokens: readonly string[], start: number): number | null {
  let depth = 0;
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] ?? "";
    if (depth === 0 && /^[,}]$/.test(token)) return at;
    if (/^[{[(]$/.test(token)) depth += 1;
    if (/^[}\])]$/.test(token)) depth -= 1;
  }
  return null;
}

/** A name or text that is what it looks like, and a value: no spread, no computed key, no getter, nothing inherited. */
function isPlain([key = "", next]: readonly string[]): boolean {
  if (!/^(?:[\p{L}\p{N}_$]+|"[^"\\]*"|'[^'\\]*')$/u.test(key) || key.includes("__proto__")) return false;
  return next === undefined || next === ":" || next === "(" || key === "async";
}

/** A text without escapes, a variable, or both. */
const VALUE = /^:(?:process\.env\.(?<name>\w+)(?<or>\?\?|\|\|)?)?(?:(["'`])(?<text>[^\\$"'`]*)\3)?$/;

/** What gives variables a value of its own while the file is run. */
const SETS_VARIABLES =
  /dotenv|loadEnvFile|process\.env(?:\.\w+|\[[^\]]*\])?(?:\?\?|\|\|)?=(?!=)|assign\(process\.env/;

function valueOf(value: string, tokens: readonly string[], env: Environment): Found {
  const { name, or, text } = VALUE.exec(value)?.groups ?? {};
  if (name === undefined) return text ?? COMPUTED;
  if ((or === undefined) !== (text === undefined) || SETS_VARIABLES.test(tokens.join(""))) return COMPUTED;
  const found = Object.hasOwn(env, name) ? env[name] : undefined;
  const isSet = found !== undefined && (found !== "" || or === "??");
  return isSet ? found : (text ?? null);
}

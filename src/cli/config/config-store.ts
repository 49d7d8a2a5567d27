import { readFile } from "node:fs/promises";
import { ConfigurationError } from "../../core/errors.ts";
import type { Environment } from "../../core/job/blueprint-environment.ts";
import { tokensOf } from "./config-tokens.ts";

/**
 * The `store` of a configuration, read from its text: commands that only use the store do not execute the file, whose code
 * they do not need and which may be broken. It may be a string, a variable (`process.env.STORE`), or a variable with a string as
 * fallback. Null if the exported object is fully visible and has no `store`.
 *
 * @throws ConfigurationError if the address is computed in another way: only executing the file would show it.
 */
export async function writtenStore(path: string, env: Environment): Promise<string | null> {
  const store = storeIn(await readFile(path, "utf8"), env);
  if (store !== COMPUTED) return store;
  throw new ConfigurationError(
    `The store of ${path} is not known without executing the file, which this command does not do: name the store with --store or PAWL_STORE, or write it there as a string (store: "file:./pawl.db").`,
  );
}

const COMPUTED = Symbol("computed");
type StoreSetting = string | typeof COMPUTED | null;

/** The value of `store` in the exported object; COMPUTED unless the whole object is visible. */
function storeIn(source: string, env: Environment): StoreSetting {
  const tokens = tokensOf(source);
  if (tokens === null) return COMPUTED;
  // A file without an export is not a configuration, and has no store.
  if (!tokens.some((token) => /^(?:default|module|exports)$/.test(token))) return null;
  const value = exportedValue(tokens);
  if (value === null || tokens[value.at] !== "{") return COMPUTED;
  let found: StoreSetting = null;
  let at = value.at + 1;
  while (tokens[at] !== "}") {
    const end = endOfProperty(tokens, at);
    const property = end === null ? [] : tokens.slice(at, end);
    if (end === null || !isPlain(property)) return COMPUTED;
    // The last of two wins.
    if (/^(["']?)store\1$/.test(property[0] ?? "")) found = valueOf(property.slice(1).join(""), tokens, env);
    at = tokens[end] === "," ? end + 1 : end;
  }
  return isEnd(tokens, at + 1, value) ? found : COMPUTED;
}

/** The token index of a value, and whether it is wrapped in `defineConfig(`. */
type Value = { readonly at: number; readonly isWrapped: boolean };

/**
 * The value after `export default`, or the initializer of the variable it names, provided that the variable is used nowhere else and so
 * cannot be changed. Null in all other cases.
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

/** True if nothing but a type annotation follows the value before the next statement. */
function isEnd(tokens: readonly string[], at: number, { isWrapped }: Value): boolean {
  if (!isWrapped) return /^(?:[\p{L}_$].*|[;}]|)$/su.test(tokens[at] ?? "");
  const closing = tokens[at] === "," ? at + 1 : at;
  return tokens[closing] === ")" && isEnd(tokens, closing + 1, { at, isWrapped: false });
}

function indexesOf(tokens: readonly string[], wanted: string): readonly number[] {
  return tokens.flatMap((token, at) => (token === wanted ? [at] : []));
}

/** The index of the property's comma or of the end of the object; null if there is no end. */
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

/** A literal key with a value: no spread, no computed key, no getter, nothing inherited. */
function isPlain([key = "", next]: readonly string[]): boolean {
  if (!/^(?:[\p{L}\p{N}_$]+|"[^"\\]*"|'[^'\\]*')$/u.test(key) || key.includes("__proto__")) return false;
  return next === undefined || next === ":" || next === "(" || key === "async";
}

/** A string without escapes, a variable, or a variable with a string as fallback. */
const VALUE = /^:(?:process\.env\.(?<name>\w+)(?<or>\?\?|\|\|)?)?(?:(["'`])(?<text>[^\\$"'`]*)\3)?$/;

/** Code that sets environment variables while the file runs. */
const SETS_VARIABLES =
  /dotenv|loadEnvFile|process\.env(?:\.\w+|\[[^\]]*\])?(?:\?\?|\|\|)?=(?!=)|assign\(process\.env/;

function valueOf(value: string, tokens: readonly string[], env: Environment): StoreSetting {
  const { name, or, text } = VALUE.exec(value)?.groups ?? {};
  if (name === undefined) return text ?? COMPUTED;
  if ((or === undefined) !== (text === undefined) || SETS_VARIABLES.test(tokens.join(""))) return COMPUTED;
  const found = Object.hasOwn(env, name) ? env[name] : undefined;
  const isSet = found !== undefined && (found !== "" || or === "??");
  return isSet ? found : (text ?? null);
}

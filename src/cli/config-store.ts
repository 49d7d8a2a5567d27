import { readFile } from "node:fs/promises";
import type { Environment } from "../core/blueprint-environment.ts";
import { ConfigurationError } from "../core/errors.ts";

/**
 * The `store` that a configuration names, read from its text: commands that only use the store do not run the file, whose code
 * is of no use to them and may be broken. It may be a text, a variable (`process.env.STORE`), or one with a text for where it is
 * not set. Null where the file names none.
 *
 * @throws ConfigurationError where the address is computed otherwise, which only running the file would tell.
 */
export async function writtenStore(path: string, env: Environment): Promise<string | null> {
  const store = storeIn(await readFile(path, "utf8"), env);
  if (store !== COMPUTED) return store;
  throw new ConfigurationError(
    `${path} computes its store, and this command does not run it: name the store with --store or PAWL_STORE, or write it out there (store: "file:./pawl.db").`,
  );
}

/** Comments, texts, names, and everything else character by character. */
const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|[\p{L}_$][\p{L}\p{N}_$]*|\S/gu;

const COMPUTED = Symbol("computed");

/** The value of `store` in the object that is exported, where that can be seen. */
function storeIn(source: string, env: Environment): string | typeof COMPUTED | null {
  const tokens = [...source.matchAll(TOKEN)].flatMap(([token]) => (/^\/[/*]/.test(token) ? [] : [token]));
  let depth = 0;
  for (let at = startOfObject(tokens); at !== -1 && at < tokens.length; at++) {
    const token = tokens[at] ?? "";
    if (/^[{[(]$/.test(token)) depth += 1;
    if (/^[}\])]$/.test(token)) depth -= 1;
    if (depth === 0) return null;
    const isKey = depth === 1 && /^[{,]$/.test(tokens[at - 1] ?? "") && /^(["']?)store\1$/.test(token);
    if (isKey) return valueOf(tokens.slice(at + 1), env);
  }
  return null;
}

/** Behind `export default` or `defineConfig(`; or that of the constant which `export default` names. */
function startOfObject(tokens: readonly string[]): number {
  const exported = tokens.findIndex((token, at) => token === "default" && tokens[at - 1] === "export") + 1;
  if (exported === 0) return -1;
  const name = tokens[exported] === "defineConfig" ? (tokens[exported + 2] ?? "") : (tokens[exported] ?? "");
  if (name === "{") return tokens.indexOf("{", exported);
  const declared = tokens.findIndex((token, at) => token === name && tokens[at - 1] === "const");
  return declared === -1 ? -1 : tokens.indexOf("{", tokens.indexOf("=", declared));
}

/** A text without escapes, a variable, or both. */
const VALUE = /^:(?:process\.env\.(?<name>\w+)(?<or>\?\?|\|\|)?)?(?:(["'`])(?<text>[^\\$"'`]*)\3)?$/;

function valueOf(tokens: readonly string[], env: Environment): string | typeof COMPUTED | null {
  const end = tokens.findIndex((token) => token === "," || token === "}");
  const { name, or, text } = VALUE.exec(tokens.slice(0, end).join(""))?.groups ?? {};
  if (name === undefined) return text ?? COMPUTED;
  if ((or === undefined) !== (text === undefined)) return COMPUTED;
  const found = Object.hasOwn(env, name) ? env[name] : undefined;
  const isSet = found !== undefined && (found !== "" || or === "??");
  return isSet ? found : (text ?? null);
}

import type { McpServer } from "./mcp-server.ts";
import { secretTexts } from "./tools/hiding-secrets.ts";

/** `apiKey`, `--access-token`, `DB_PASSWORD`, `Authorization`, `--pat`. */
const SECRET_NAME = /key|token|secret|pass|auth|credential|cookie|(?:^|[-_])(?:pat|pwd)$/i;

/** Options whose value is a pair of a name and a value: `-e API_KEY=…`, `--header "Authorization: …"`. */
const PAIR_OPTION = /^--?(?:e|env|H|header)$/;

const PAIR = /^([\w.-]+)\s*[=:]\s*(.+)$/s;

/** Of a part of an address: what is shorter, or has no digit, is a name. */
const TOKEN = /^(?=.*\d).{16,}$/s;

/**
 * What a server is given and nobody else is to see: it may well say it, in an error, in a result, or on its way to its end.
 * Not where it works, though, a folder or the address of a service: its results are full of that.
 */
export function secretsOf(server: McpServer): readonly string[] {
  if ("url" in server) return [...inValues(server.headers ?? {}), ...inAddress(server.url)];
  const { args = [], env = {} } = server;
  return [...inValues(env), ...args.flatMap((arg, index) => inArgument(arg, args[index - 1] ?? ""))];
}

function inValues(values: { readonly [name: string]: string }): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const texts = [...secretTexts([value]), ...passwordIn(value)];
    if (SECRET_NAME.test(name)) return [value, ...texts];
    return isPlace(value) ? [] : texts;
  });
}

function isPlace(value: string): boolean {
  if (/^(?:[/~.]|[A-Za-z]:[\\/])/.test(value)) return true;
  const url = URL.parse(value);
  return url !== null && (value === url.origin || value === `${url.origin}/`);
}

function inArgument(arg: string, previous: string): readonly string[] {
  const option = previous.startsWith("-") ? previous : "";
  if (option !== "" && SECRET_NAME.test(option)) return [arg, ...secretTexts([arg])];
  const [, name = "", value = ""] = PAIR.exec(arg) ?? [];
  if (PAIR_OPTION.test(name)) return inArgument(value, name);
  if (SECRET_NAME.test(name)) return [value, ...secretTexts([value])];
  if (PAIR_OPTION.test(option)) return secretTexts([value]);
  return [...passwordIn(arg), ...inAddress(arg)];
}

/** As it is written, and as it is meant. */
function passwordIn(text: string): readonly string[] {
  const password = URL.parse(text)?.password ?? "";
  return password === "" ? [] : [password, decoded(password)];
}

/** Some services have the key in the query, and some in the path. */
function inAddress(address: string | URL): readonly string[] {
  const url = URL.parse(String(address));
  if (url === null) return [];
  const inPath = url.pathname.split("/").filter((part) => TOKEN.test(part));
  const inQuery = [...url.searchParams].filter(
    ([name, value]) => SECRET_NAME.test(name) || TOKEN.test(value),
  );
  return [...inPath, ...inPath.map(decoded), ...inQuery.map(([, value]) => value)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

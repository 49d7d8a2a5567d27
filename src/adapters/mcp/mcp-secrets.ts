import {
  LEAST_LENGTH,
  percentDecoded,
  SECRET_NAME,
  secretsInAddress,
  secretTexts,
} from "../net/hiding-secrets.ts";
import type { McpServer } from "./mcp-server.ts";

/** Options whose value is a name and a value: `-e API_KEY=…`, `--header "Authorization: …"`. */
const PAIR_OPTION = /^--?(?:e|env|H|header)$/;

const PAIR = /^([\w.-]+)\s*[=:]\s*(.+)$/s;

/**
 * The secrets that a server is given. It may leak them in an error, in a result, or in its last output. Its folder or the
 * address of its service are not included: its results are full of those.
 */
export function secretsOf(server: McpServer): readonly string[] {
  if ("url" in server)
    return [...inValues(server.headers ?? {}, isLikeAPin), ...secretsInAddress(server.url)];
  const { args = [], env = {} } = server;
  return [...inValues(env, isLong), ...args.flatMap((arg, index) => inArgument(arg, args[index - 1] ?? ""))];
}

/** Values with a secret's name; of the rest, those that look like a secret. */
function inValues(
  values: { readonly [name: string]: string },
  isSecret: (value: string) => boolean,
): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (SECRET_NAME.test(name)) return [...secretTexts([value]), ...passwordIn(value)];
    if (isLocation(value)) return [];
    return [...secretTexts([value]).filter(isSecret), ...passwordIn(value)];
  });
}

/** `info` and `production` are not secrets; a longer value may be one. */
function isLong(value: string): boolean {
  return value.length >= LEAST_LENGTH;
}

/** Headers have fewer plain words than an environment. */
function isLikeAPin(value: string): boolean {
  return isLong(value) || /\d/.test(value);
}

function isLocation(value: string): boolean {
  if (/^(?:[/~.]|[A-Za-z]:[\\/])/.test(value)) return true;
  const url = URL.parse(value);
  return url !== null && (value === url.origin || value === `${url.origin}/`);
}

function inArgument(arg: string, previous: string): readonly string[] {
  const option = previous.startsWith("-") ? previous : "";
  if (option !== "" && SECRET_NAME.test(option)) return secretTexts([arg]);
  const [, name = "", value = ""] = PAIR.exec(arg) ?? [];
  if (PAIR_OPTION.test(name)) return inArgument(value, name);
  if (SECRET_NAME.test(name)) return secretTexts([value]);
  if (PAIR_OPTION.test(option)) return secretTexts([value]).filter(isLong);
  return [...passwordIn(arg), ...secretsInAddress(arg)];
}

/** The password of a URL, as written and decoded. */
function passwordIn(text: string): readonly string[] {
  const password = URL.parse(text)?.password ?? "";
  return password === "" ? [] : [password, percentDecoded(password)];
}

import type { Token } from "./source-tokens.ts";

export type Finding = { readonly what: string; readonly line: number };

/** Uses of time, randomness, the environment and the network that need no import. */
export function impureCodeIn(tokens: readonly Token[]): readonly Finding[] {
  const code = withPlainMemberAccess(tokens);
  return code.flatMap((token, index) => {
    const what = token.kind === "word" ? impurityAt(code, index) : undefined;
    return what === undefined ? [] : [{ what, line: token.line }];
  });
}

/** Every way to read `process.env`, short of passing `process` itself around. */
export function environmentReadsIn(tokens: readonly Token[]): readonly Finding[] {
  const code = withPlainMemberAccess(tokens);
  return code.flatMap((token, index) => {
    const reads =
      matches(code, index, ["process", ".", "env"]) ||
      (isGlobal(code, index, "process") && destructuredNames(code, index).includes("env"));
    return reads ? [{ what: "process.env", line: token.line }] : [];
  });
}

const impureMembers = [
  ["Date", "now"],
  ["Math", "random"],
  ["performance", "now"],
  ["performance", "timeOrigin"],
] as const;

const impureGlobals = ["setTimeout", "setInterval", "setImmediate", "fetch", "WebSocket"];

/** The random half of `node:crypto` and of the global `crypto`; the hashing half is allowed. */
const randomSources = [
  "randomUUID",
  "randomUUIDv7",
  "randomBytes",
  "randomInt",
  "randomFill",
  "randomFillSync",
  "getRandomValues",
];

function impurityAt(code: readonly Token[], index: number): string | undefined {
  const name = code[index]?.text ?? "";
  for (const [object, member] of impureMembers) {
    if (matches(code, index, [object, ".", member])) return `${object}.${member}`;
    if (isGlobal(code, index, object) && destructuredNames(code, index).includes(member))
      return `${object}.${member}`;
  }
  if (matches(code, index, ["process", "."]) || destructuredNames(code, index, "process").length > 0)
    return "process";
  if (name === "Date" && isGlobal(code, index, name) && readsTheClock(code, index)) return "the present date";
  if (impureGlobals.includes(name) && isGlobal(code, index, name)) return name;
  return randomSources.includes(name) ? name : undefined;
}

/** `new Date()`, `new Date` and `Date()` read the clock; `new Date(number)` does not. */
function readsTheClock(code: readonly Token[], index: number): boolean {
  const called = code[index + 1]?.text === "(";
  const isNew = code[index - 1]?.text === "new";
  return isNew ? !called || code[index + 2]?.text === ")" : called;
}

/** True if this word is the global of that name: not `port.setTimeout`, and not the key in `{ setTimeout: … }`. */
function isGlobal(code: readonly Token[], index: number, name: string): boolean {
  if (code[index]?.text !== name || code[index]?.kind !== "word") return false;
  if (code[index + 1]?.text === ":") return false;
  return (
    code[index - 1]?.text !== "." || code[index - 2]?.text === "globalThis" || code[index - 2]?.text === "."
  );
}

/** The names taken in `const { a, b } = name`, with `name` at `index`. */
function destructuredNames(
  code: readonly Token[],
  index: number,
  name = code[index]?.text,
): readonly string[] {
  if (name === undefined || !isGlobal(code, index, name)) return [];
  if (code[index - 1]?.text !== "=" || code[index - 2]?.text !== "}") return [];
  const opening = code.slice(0, index - 2).findLastIndex((token) => token.text === "{");
  return code.slice(opening + 1, index - 2).map((token) => token.text);
}

function matches(code: readonly Token[], index: number, texts: readonly string[]): boolean {
  return texts.every((text, offset) => {
    const token = code[index + offset];
    return token?.text === text && (token.kind === "word" || token.kind === "punctuation");
  });
}

/** Writes `a?.b` and `a["b"]` as `a.b`, so that a rule has one form to look for. */
function withPlainMemberAccess(tokens: readonly Token[]): readonly Token[] {
  const plain: Token[] = [];
  for (let index = 0; index < tokens.length; index += 1) {
    const [token, next, afterNext] = [tokens[index], tokens[index + 1], tokens[index + 2]];
    if (token === undefined) break;
    if (token.text === "?" && next?.text === "." && next.kind === "punctuation") continue;
    const indexed = token.text === "[" && token.kind === "punctuation" && next?.kind === "string";
    if (indexed && afterNext?.text === "]" && plain.at(-1)?.kind === "word") {
      plain.push({ kind: "punctuation", text: ".", line: token.line });
      plain.push({ kind: "word", text: next.text, line: next.line });
      index += 2;
    } else {
      plain.push(token);
    }
  }
  return plain;
}

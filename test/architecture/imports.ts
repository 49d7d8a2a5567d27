import type { Token } from "./source-tokens.ts";

export type Import = {
  /** Undefined if it is computed at run time, so that it cannot be checked. */
  readonly specifier: string | undefined;
  /** `import type` and `export type`: gone at run time. `import { type A }` is not, it leaves `import {}`. */
  readonly typeOnly: boolean;
  readonly line: number;
};

/** Every import of a file: static, re-exported, dynamic, `require`, and `import("…")` in a type. */
export function importsOf(tokens: readonly Token[]): readonly Import[] {
  return tokens.flatMap((token, index) => {
    if (token.kind !== "word" || isMember(tokens, index)) return [];
    if (token.text === "import") return importAt(tokens, index);
    if (token.text === "export") return reExportAt(tokens, index);
    if (token.text === "require") return callAt(tokens, index);
    return [];
  });
}

/** `x.import` and the `import` of `{ import: 1 }` are names, not keywords; that of `...import("x")` is one. */
function isMember(tokens: readonly Token[], index: number): boolean {
  const afterDot = textAt(tokens, index - 1) === "." && textAt(tokens, index - 2) !== ".";
  return afterDot || textAt(tokens, index + 1) === ":";
}

function importAt(tokens: readonly Token[], index: number): readonly Import[] {
  const next = tokens[index + 1];
  if (next === undefined || isPunctuation(next, ".")) return []; // import.meta
  if (isPunctuation(next, "(")) return callAt(tokens, index);
  if (next.kind === "string") return [found(next, false)]; // import "./side-effect.ts"
  return clauseAt(tokens, index + 1);
}

function reExportAt(tokens: readonly Token[], index: number): readonly Import[] {
  const first = textAt(tokens, index + 1);
  const from = first === "type" ? index + 2 : index + 1;
  const opening = textAt(tokens, from);
  return opening === "{" || opening === "*" ? clauseAt(tokens, index + 1) : [];
}

/** From the token after `import` or `export`: the `from "…"` that ends the clause, if it has one. */
function clauseAt(tokens: readonly Token[], start: number): readonly Import[] {
  const typeOnly =
    textAt(tokens, start) === "type" && !isFrom(tokens, start + 1) && textAt(tokens, start + 1) !== ",";
  let depth = 0;
  for (let index = start; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined) break;
    const specifier = tokens[index + 1];
    if (depth === 0 && isFrom(tokens, index) && specifier !== undefined) return [found(specifier, typeOnly)];
    if (depth === 0 && token.text === "require" && token.kind === "word") return []; // import x = require(…): seen as a call
    if (isPunctuation(token, "{")) depth += 1;
    if (isPunctuation(token, "}")) {
      depth -= 1;
      if (depth === 0 && !isFrom(tokens, index + 1)) return []; // export { a, b };
    }
    if (isPunctuation(token, ";")) return [];
  }
  return [];
}

function isFrom(tokens: readonly Token[], index: number): boolean {
  return (
    textAt(tokens, index) === "from" && tokens[index]?.kind === "word" && tokens[index + 1]?.kind === "string"
  );
}

/** `import(…)` or `require(…)`. */
function callAt(tokens: readonly Token[], index: number): readonly Import[] {
  const [opening, argument, after] = [tokens[index + 1], tokens[index + 2], tokens[index + 3]];
  if (opening === undefined || argument === undefined || !isPunctuation(opening, "(")) return [];
  const literal = argument.kind === "string" && (after?.text === ")" || after?.text === ",");
  return [{ specifier: literal ? argument.text : undefined, typeOnly: false, line: argument.line }];
}

function found(specifier: Token, typeOnly: boolean): Import {
  return { specifier: specifier.text, typeOnly, line: specifier.line };
}

function isPunctuation(token: Token, text: string): boolean {
  return token.kind === "punctuation" && token.text === text;
}

function textAt(tokens: readonly Token[], index: number): string | undefined {
  return tokens[index]?.text;
}

/** After these a slash divides; after `)` and `}` only a parser could tell; after everything else a regular expression begins. */
const ENDS_VALUE = /^(?:[\p{L}\p{N}_$"'`\]].*)$/su;
const AMBIGUOUS_END = /^[)}]$/;
const BEFORE_VALUE =
  /^(?:return|typeof|instanceof|in|of|new|delete|void|throw|case|do|else|await|yield|default|extends)$/;

const BLANK_OR_COMMENT = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/uy;
const TEXT = /"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/uy;
const PATTERN = /\/(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/uy;
const WORD = /[\p{L}\p{N}_$]+/uy;
const TEMPLATE_PART = /(?:\\[\s\S]|\$(?!\{)|[^`\\$])*/uy;

/**
 * The tokens of a program: strings, regular expressions, names and numbers, and all else character by character; no comments. Null if a
 * string or regular expression is unterminated, or if only a parser could tell what a slash means.
 */
export function tokensOf(source: string): readonly string[] | null {
  const tokens: string[] = [];
  let at = skip(source, BLANK_OR_COMMENT, 0);
  while (at < source.length) {
    const token = tokenAt(source, at, tokens.at(-1) ?? null);
    if (token === null) return null;
    tokens.push(token);
    at = skip(source, BLANK_OR_COMMENT, at + token.length);
  }
  return tokens;
}

function tokenAt(source: string, at: number, previous: string | null): string | null {
  const character = source.charAt(at);
  if (character === "\\") return null;
  if (character === '"' || character === "'") return match(source, TEXT, at);
  if (character === "`") return templateAt(source, at);
  if (character === "/") {
    if (previous !== null && AMBIGUOUS_END.test(previous)) return null;
    const divides = previous !== null && ENDS_VALUE.test(previous) && !BEFORE_VALUE.test(previous);
    return divides ? character : match(source, PATTERN, at);
  }
  return match(source, WORD, at) ?? character;
}

/** A template literal with its expressions, which may contain template literals. */
function templateAt(source: string, start: number): string | null {
  let at = start + 1;
  for (;;) {
    at = skip(source, TEMPLATE_PART, at);
    if (source.charAt(at) === "`") return source.slice(start, at + 1);
    if (!source.startsWith("${", at)) return null;
    const end = endOfPlaceholder(source, at + 2);
    if (end === null) return null;
    at = end;
  }
}

function endOfPlaceholder(source: string, start: number): number | null {
  let [depth, previous]: [number, string | null] = [1, null];
  for (let at = skip(source, BLANK_OR_COMMENT, start); at < source.length; ) {
    const token = tokenAt(source, at, previous);
    if (token === null) return null;
    at += token.length;
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    if (depth === 0) return at;
    previous = token;
    at = skip(source, BLANK_OR_COMMENT, at);
  }
  return null;
}

function match(source: string, pattern: RegExp, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? null;
}

function skip(source: string, pattern: RegExp, at: number): number {
  return at + (match(source, pattern, at)?.length ?? 0);
}

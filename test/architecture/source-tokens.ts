// A small tokenizer for TypeScript: enough to distinguish code from comments, strings, templates and regular expressions.
// TypeScript 7 has no compiler API for JavaScript, so the layer check reads the sources with this. If it cannot read a
// source (a string that does not end on its line) it throws: a file it cannot read must fail the check, not pass it unseen.

export type Token = {
  /** `string` also stands for a template without substitutions; its text is the content, without the quotes. */
  readonly kind: "word" | "string" | "template" | "regex" | "number" | "punctuation";
  readonly text: string;
  readonly line: number;
};

/** Words after which a `/` begins a regular expression, although they look like a name. */
const wordsBeforeRegex = new Set(
  "return typeof case in of delete void throw new else do await yield instanceof".split(" "),
);

const wordPattern = /[\p{ID_Start}_$#][\p{ID_Continue}$\u200c\u200d]*/uy;
const numberPattern = /\.?\d(?:[eE][+-]|[\w.])*/y;
const regexPattern = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^[/\\\n])+\/[a-z]*/y;
const stringPattern = /"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'/y;
const blankPattern = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;

export function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  scan(source.replace(/^#!.*/, ""), 0, tokens, "file");
  return tokens;
}

/** Reads code up to the end of the file, or up to the `}` that closes a template's `${`; returns the end position. */
function scan(source: string, start: number, tokens: Token[], within: "file" | "template"): number {
  let at = start;
  let depth = 0;
  const take = (kind: Token["kind"], text: string, length = text.length): void => {
    tokens.push({ kind, text, line: lineAt(source, at) });
    at += length;
  };

  while (at < source.length) {
    const character = source.charAt(at);
    const blank = match(blankPattern, source, at);
    if (blank !== undefined) {
      at += blank.length;
    } else if (character === '"' || character === "'") {
      const text = match(stringPattern, source, at);
      if (text === undefined) throw unreadable(source, at);
      take("string", text.slice(1, -1), text.length);
    } else if (character === "`") {
      at = scanTemplate(source, at, tokens);
    } else if (character === "/" && regexMayStartAfter(tokens.at(-1))) {
      const text = match(regexPattern, source, at);
      if (text === undefined) throw unreadable(source, at);
      take("regex", text);
    } else {
      if (within === "template" && character === "}" && depth === 0) return at;
      if (character === "{") depth += 1;
      if (character === "}") depth -= 1;
      const word = match(wordPattern, source, at);
      const number = word === undefined ? match(numberPattern, source, at) : undefined;
      if (word !== undefined) take("word", word);
      else if (number !== undefined) take("number", number);
      else take("punctuation", character);
    }
  }
  if (within === "template") throw unreadable(source, start);
  return at;
}

/** Reads a template literal, and the code inside its substitutions as code; returns the end position. */
function scanTemplate(source: string, start: number, tokens: Token[]): number {
  const line = lineAt(source, start);
  let at = start + 1;
  let textFrom = at;
  let substitutions = 0;
  while (at < source.length) {
    if (source[at] === "\\") {
      at += 2;
    } else if (source[at] === "`") {
      tokens.push({
        kind: substitutions === 0 ? "string" : "template",
        text: source.slice(textFrom, at),
        line,
      });
      return at + 1;
    } else if (source.startsWith("${", at)) {
      substitutions += 1;
      tokens.push({ kind: "template", text: source.slice(textFrom, at), line });
      tokens.push({ kind: "punctuation", text: "${", line: lineAt(source, at) });
      at = scan(source, at + 2, tokens, "template") + 1;
      tokens.push({ kind: "punctuation", text: "}", line: lineAt(source, at) });
      textFrom = at;
    } else {
      at += 1;
    }
  }
  throw unreadable(source, start);
}

/** After a value a `/` divides; anywhere else it begins a regular expression. */
function regexMayStartAfter(previous: Token | undefined): boolean {
  if (previous === undefined) return true;
  if (previous.kind === "word") return wordsBeforeRegex.has(previous.text);
  return previous.kind === "punctuation" && ![")", "]", "}"].includes(previous.text);
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

/** The last position. Most positions are looked up in order, so counting continues from here. */
let counted = { source: "", at: 0, line: 1 };

function lineAt(source: string, at: number): number {
  if (counted.source !== source || at < counted.at) counted = { source, at: 0, line: 1 };
  let { line } = counted;
  for (
    let index = source.indexOf("\n", counted.at);
    index !== -1 && index < at;
    index = source.indexOf("\n", index + 1)
  ) {
    line += 1;
  }
  counted = { source, at, line };
  return line;
}

function unreadable(source: string, at: number): Error {
  return new Error(`cannot be read from line ${lineAt(source, at)} on: ${source.slice(at, at + 40)}`);
}

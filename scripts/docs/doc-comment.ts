// Doc comments: their text, and their examples.

/** A doc comment without its stars. The text is Markdown; each example is code. */
export type DocComment = { readonly text: string; readonly examples: readonly string[] };

const NO_COMMENT: DocComment = { text: "", examples: [] };

/** A comment as the parser returns it; `value` is what stands between the marks. */
export type SourceComment = {
  readonly type: string;
  readonly value: string;
  readonly start: number;
  readonly end: number;
};

/** The doc comment right before a position of the source; empty if there is none. */
export function docBefore(source: string, comments: readonly SourceComment[], position: number): DocComment {
  const before = comments.findLast(({ end }) => end <= position);
  if (before === undefined || before.type !== "Block" || !before.value.startsWith("*")) return NO_COMMENT;
  return source.slice(before.end, position).trim() === "" ? parseDoc(before.value) : NO_COMMENT;
}

/** Parses what stands between the marks of a comment. */
export function parseDoc(value: string): DocComment {
  const lines = value
    .slice(1)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd());
  const [text = "", ...tags] = lines.join("\n").split(/^@/m);
  const said = tags.filter((tag) => !tag.startsWith("example")).map((tag) => tag.trim());
  return {
    text: [text.trim(), ...said.map(sentence)].join("\n\n").trim(),
    examples: tags
      .filter((tag) => tag.startsWith("example"))
      .map((tag) => tag.slice("example".length).trim()),
  };
}

/** `@throws JobFileError if …` as a sentence. */
function sentence(tag: string): string {
  return tag.startsWith("throws ") ? `Throws ${tag.slice("throws ".length)}` : tag;
}

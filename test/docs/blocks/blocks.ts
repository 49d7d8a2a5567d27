// The code blocks of Markdown pages, with the marks in the comments before them.

/** The languages that a block may name. Blocks in the first four are checked; the others hold no code of ours. */
const LANGUAGES = ["ts", "sh", "yaml", "sql", "json", "text", "mermaid", ""] as const;

/**
 * The marks of a block, as HTML comments on the lines before it:
 * - `with: NAME` imports what the block uses from `test/docs/preludes/NAME.ts`;
 * - `continues` makes it one file with the block of the same language before it on its page;
 * - `file: NAME` saves it under that name, so that other blocks of its page can import or run it;
 * - `run` runs it, and compares what it prints with the `text` block that follows, if there is one;
 * - `unchecked: REASON` leaves it alone.
 */
const MARKS = ["with", "continues", "file", "run", "unchecked"] as const;

type Mark = (typeof MARKS)[number];

/** One code block of a page. `line` is that of its first line of code, from 1. */
export type Block = {
  readonly page: string;
  readonly line: number;
  readonly language: string;
  readonly text: string;
  readonly marks: ReadonlyMap<string, string>;
  /** The text of the `text` block that follows a block to run; null if there is none. */
  readonly expected: string | null;
};

const FENCE = /^(?<indent>\s*)```(?<language>\S*)\s*$/;
const COMMENT = /^\s*<!-- (?<mark>[^:]+?)(?:: (?<value>.+?))? -->$/;

/** The blocks of a page, in order. */
export function blocksOf(page: string, text: string): readonly Block[] {
  const lines = text.split("\n");
  const found: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const fence = FENCE.exec(lines[at] ?? "")?.groups;
    if (fence === undefined) continue;
    const end = lines.findIndex((line, i) => i > at && line.trim() === "```");
    const inside = lines.slice(at + 1, end).map((line) => line.slice((fence.indent ?? "").length));
    const language = fence.language ?? "";
    const code = `${inside.join("\n")}\n`;
    const before = found.at(-1);
    if (language === "text" && before?.marks.has("run") === true && isDirectlyBefore(lines, before, at))
      found[found.length - 1] = { ...before, expected: code };
    found.push({ page, line: at + 2, language, text: code, marks: marksBefore(lines, at), expected: null });
    at = end;
  }
  return found;
}

function marksBefore(lines: readonly string[], fence: number): ReadonlyMap<string, string> {
  const marks = new Map<string, string>();
  for (let at = fence - 1; at >= 0; at--) {
    const groups = COMMENT.exec(lines[at] ?? "")?.groups;
    if (groups === undefined) break;
    marks.set(groups.mark ?? "", groups.value ?? "");
  }
  return marks;
}

/** True if only empty lines are between the end of the block and the line. */
function isDirectlyBefore(lines: readonly string[], block: Block, line: number): boolean {
  const end = block.line - 1 + block.text.split("\n").length;
  return lines.slice(end, line).every((each) => each.trim() === "");
}

/** Blocks of one language, grouped: each with those that continue it. */
export function joinedBlocks(blocks: readonly Block[]): readonly (readonly Block[])[] {
  const groups: Block[][] = [];
  for (const block of blocks) {
    const before = groups.at(-1);
    if (block.marks.has("continues") && before?.[0]?.page === block.page) before.push(block);
    else groups.push([block]);
  }
  return groups;
}

/** What is wrong with the form of the blocks: an unknown language or mark, or a mark without its value. */
export function formProblems(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap(({ page, line, language, marks }) => {
    const where = `${page}:${line}`;
    const unknown = [...marks.keys()].filter((mark) => !MARKS.some((each) => each === mark));
    const needsValue = (["with", "file", "unchecked"] satisfies Mark[]).filter(
      (mark) => marks.get(mark) === "",
    );
    return [
      ...(LANGUAGES.some((each) => each === language) ? [] : [`${where}: unknown language ${language}`]),
      ...unknown.map((mark) => `${where}: unknown mark ${mark}`),
      ...needsValue.map((mark) => `${where}: the mark ${mark} has no value`),
    ];
  });
}

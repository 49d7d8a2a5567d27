// Markdown that the scripts write.

const WIDTH = 120;

/** The first lines of every page that is written by the script. */
export const GENERATED =
  "<!-- Written by `npm run docs` from the doc comments in src: change those, and run it again. -->";

/** Breaks the lines of prose: paragraphs and lists of at most 120 characters a line. */
export function wrapped(text: string): string {
  return text
    .split(/\n{2,}/)
    .map((paragraph) =>
      paragraph
        .split(/\n(?=- )/)
        .map(wrappedLine)
        .join("\n"),
    )
    .join("\n\n");
}

function wrappedLine(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || Array.from(last).length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.join(text.startsWith("- ") ? "\n  " : "\n");
}

export function codeBlock(code: string): string {
  return `\`\`\`ts\n${code}\n\`\`\``;
}

/** A row of a table. A bar inside a cell needs a backslash, also in code. */
function tableRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map(tableRow).join("\n");
}

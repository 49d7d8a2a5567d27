/** More than any real text has without an empty line; they take time quadratic in their number. */
const MOST_QUOTES_IN_A_ROW = 100;

/**
 * Puts an empty line between quotes if very many follow each other without one, each with lines that are not marked as
 * part of it. The parser reads each of them up to the next empty line, and there may be none. Code is left as it is.
 */
export function withQuotesApart(markdown: string): string {
  let fence: string | null = null;
  let depthBefore = 0;
  let quotes = 0;
  const apart = markdown.split("\n").map((line) => {
    fence = fenceAfter(line, fence);
    const depth = quoteDepth(line);
    if (fence !== null || line.trim() === "") quotes = 0;
    else if (depth > depthBefore) quotes += 1;
    depthBefore = depth;
    if (quotes <= MOST_QUOTES_IN_A_ROW) return line;
    quotes = 0;
    return `\n${line}`;
  });
  return apart.join("\n");
}

function quoteDepth(line: string): number {
  return (/^[\s>]*/.exec(line)?.[0] ?? "").replace(/\s+/g, "").length;
}

/** The opening fence of the code block that the next line is in; null if it is in none. */
function fenceAfter(line: string, fence: string | null): string | null {
  const mark = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1] ?? null;
  if (fence === null) return mark;
  const ends = mark?.startsWith(fence) === true && line.trim() === mark;
  return ends ? null : fence;
}

/**
 * The lines of a Markdown text that are not in a fenced block, by the rules of CommonMark: a fence is three or more ` or ~
 * with at most three blanks before it, and ends with one of the same kind that is as long and has nothing after it. A
 * carriage return ends a line too.
 */
export function outsideFences(markdown: string): readonly string[] {
  const outside: string[] = [];
  let fence: { readonly mark: string; readonly length: number } | null = null;
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    if (fence === null) {
      const opening = /^ {0,3}(`{3,})[^`]*$|^ {0,3}(~{3,}).*$/.exec(line);
      const marks = opening?.[1] ?? opening?.[2];
      if (marks === undefined) outside.push(line);
      else fence = { mark: marks.charAt(0), length: marks.length };
      continue;
    }
    const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line)?.[1];
    if (closing?.startsWith(fence.mark) === true && closing.length >= fence.length) fence = null;
  }
  if (fence !== null) throw new Error("A fence is not closed.");
  return outside;
}

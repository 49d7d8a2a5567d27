/**
 * Matches a path against a pattern. `*` and `?` match within one part, `**` across parts; a pattern without a slash matches
 * the name of a file in any folder.
 *
 * @example
 * globMatcher("notes/**\/*.md")("notes/2024/plan.md"); // true
 */
export function globMatcher(pattern: string): (path: string) => boolean {
  const plain = pattern.replace(/^(?:\.?\/+)+/, "").replace(/\*{3,}/g, "**");
  const parts = (plain.includes("/") ? plain : `**/${plain}`).split("/").filter((part) => part !== "");
  return (path) => fits(parts, path.split("/"));
}

/** Part by part, and never backtracking beyond the last `**`: no pattern takes long. */
function fits(pattern: readonly string[], path: readonly string[]): boolean {
  return matches(pattern, path, (wanted) => wanted === "**", partFits);
}

function partFits(wanted: string, part: string): boolean {
  return matches(
    Array.from(wanted),
    Array.from(part),
    (each) => each === "*",
    (each, character) => each === "?" || each === character,
  );
}

/** Matches wildcards over a list, in time proportional to the product of the two lengths. */
function matches(
  pattern: readonly string[],
  items: readonly string[],
  isAny: (wanted: string) => boolean,
  isOne: (wanted: string, item: string) => boolean,
): boolean {
  let at = 0;
  let back: { pattern: number; item: number } | null = null;
  for (let item = 0; item < items.length; ) {
    const wanted = pattern[at];
    if (wanted !== undefined && isAny(wanted)) {
      back = { pattern: at, item };
      at++;
    } else if (wanted !== undefined && isOne(wanted, items[item] ?? "")) {
      at++;
      item++;
    } else if (back !== null) {
      back = { pattern: back.pattern, item: back.item + 1 };
      at = back.pattern + 1;
      item = back.item;
    } else return false;
  }
  return pattern.slice(at).every(isAny);
}

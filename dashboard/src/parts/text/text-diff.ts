/** A part of two texts: in both, only in the earlier one, or only in the later one. */
export type DiffPart = { readonly kind: "same" | "removed" | "added"; readonly text: string };

/** Above it the table of the comparison would be too large, and the middle of the texts is shown as replaced. */
const MOST_CELLS = 1_000_000;

/** What changed between two texts, word by word. */
export function wordDiff(before: string, after: string): readonly DiffPart[] {
  return joined(diff(wordsOf(before), wordsOf(after)));
}

/** What changed between two texts, line by line. */
export function lineDiff(before: string, after: string): readonly DiffPart[] {
  return joined(diff(linesOf(before), linesOf(after)));
}

function wordsOf(text: string): readonly string[] {
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
}

function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function diff(before: readonly string[], after: readonly string[]): readonly DiffPart[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const rest = Math.min(before.length, after.length) - start;
  while (end < rest && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const part =
    (kind: DiffPart["kind"]) =>
    (text: string): DiffPart => ({ kind, text });
  return [
    ...before.slice(0, start).map(part("same")),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(part("same")),
  ];
}

/** The longest common subsequence, by the table of its lengths. */
function middle(before: readonly string[], after: readonly string[]): readonly DiffPart[] {
  const removed = before.map((text): DiffPart => ({ kind: "removed", text }));
  const added = after.map((text): DiffPart => ({ kind: "added", text }));
  if (before.length === 0 || after.length === 0 || before.length * after.length > MOST_CELLS) {
    return [...removed, ...added];
  }
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const parts: (DiffPart | undefined)[] = [];
  let [i, j] = [0, 0];
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) {
      parts.push({ kind: "same", text: before[i] ?? "" });
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) parts.push(removed[i++]);
    else parts.push(added[j++]);
  }
  return [...parts, ...removed.slice(i), ...added.slice(j)].filter((part) => part !== undefined);
}

/** Neighbours of the same kind become one part. */
function joined(parts: readonly DiffPart[]): readonly DiffPart[] {
  const result: DiffPart[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    if (last?.kind === part.kind) result[result.length - 1] = { ...last, text: last.text + part.text };
    else result.push(part);
  }
  return result;
}

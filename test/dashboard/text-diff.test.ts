import fc from "fast-check";
import { expect, test } from "vitest";
import { lineDiff, wordDiff } from "../../dashboard/src/parts/text/text-diff.ts";

const words = fc
  .array(fc.constantFrom("a", "b", "c", " ", "\n", "é", "🙂", "."))
  .map((list) => list.join(""));

test("the parts of a diff are exactly the two texts", () => {
  fc.assert(
    fc.property(words, words, fc.constantFrom(wordDiff, lineDiff), (before, after, diff) => {
      const parts = diff(before, after);
      const text = (without: string) =>
        parts
          .filter(({ kind }) => kind !== without)
          .map((part) => part.text)
          .join("");
      expect(text("added")).toBe(before);
      expect(text("removed")).toBe(after);
    }),
  );
});

test("a changed word is the only thing that is marked", () => {
  expect(wordDiff("about the site of the museum", "about the new site of the museum")).toEqual([
    { kind: "same", text: "about the " },
    { kind: "added", text: "new " },
    { kind: "same", text: "site of the museum" },
  ]);
});

test("texts that are too long to compare word by word are still whole", () => {
  const [before, after] = ["x y ".repeat(2_000), "p q ".repeat(2_000)];
  expect(wordDiff(before, after)).toEqual([
    { kind: "removed", text: before.trimEnd() },
    { kind: "added", text: after.trimEnd() },
    { kind: "same", text: " " },
  ]);
});

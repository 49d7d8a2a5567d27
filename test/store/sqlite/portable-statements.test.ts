// Node before 22.20, and 24 before 24.7, takes values by position only for plain parameters.

import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const store = resolve(import.meta.dirname, "../../../src/store");

/** The parameters of a text that have a number: `?1`. */
function numberedParameters(text: string): readonly string[] {
  return [...text.matchAll(/[\s(]\?\d+/g)].map(([found]) => found.trim());
}

test("no statement of the store numbers its parameters", () => {
  const files = globSync("**/*.{ts,sql}", { cwd: store });
  expect(files.length).toBeGreaterThan(60);
  const numbered = files.filter(
    (file) => numberedParameters(readFileSync(join(store, file), "utf8")).length > 0,
  );
  expect(numbered).toEqual([]);
  expect(numberedParameters("SELECT ?1, (?2) FROM t WHERE a = ? AND b = ?3")).toEqual(["?1", "(?2", "?3"]);
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Ways to make HTML, code or an address out of a text. Texts of models, tools and people are only ever text nodes. */
const FORBIDDEN =
  /dangerouslySetInnerHTML|\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML|document\.write|srcdoc|srcDoc|marked\.parse|\bmarked\(|\bnew Function\b|\beval\(|javascript:|DOMParser|createContextualFragment/;

test("no text becomes HTML or code anywhere in the dashboard", () => {
  const folder = join(import.meta.dirname, "../../dashboard/src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.tsx?$/.test(file),
  );
  expect(files.length).toBeGreaterThan(50);
  const found = files.filter((file) => FORBIDDEN.test(readFileSync(join(folder, file), "utf8")));
  expect(found).toEqual([]);
  expect(FORBIDDEN.test("<p dangerouslySetInnerHTML={{ __html: text }} />")).toBe(true);
});

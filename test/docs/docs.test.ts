// The pages that people read: each rule holds for all of them, and finds a mistake that is planted among them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { checkDecisions, checkLines, checkLinks, checkPaths, type Pages } from "./page-checks.ts";

const root = resolve(import.meta.dirname, "../..");
const exists = (path: string) => existsSync(join(root, path));

const PAGES: Pages = new Map(
  [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  ].map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

/** The pages with one more, or with another text of one. */
function plant(path: string, text: string): Pages {
  return new Map([...PAGES, [path, text]]);
}

test("the pages are all seen", () => {
  expect(PAGES.size).toBeGreaterThan(100);
  for (const page of ["docs/jobs.md", "docs/glossary.md", "docs/decisions/README.md"])
    expect(PAGES.has(page)).toBe(true);
});

describe("lines of prose", () => {
  test("have at most 120 characters", () => {
    const { seen, problems } = checkLines(PAGES);
    expect(seen).toBeGreaterThan(2_000);
    expect(problems).toEqual([]);
  });

  test("are found where one is too long, but not in code and tables", () => {
    const code = `\`\`\`\n${"c".repeat(121)}\n\`\`\``;
    const page = `# Page\n\n${"é".repeat(120)}\n| ${"t".repeat(121)} |\n${code}\n${"x".repeat(121)}\n`;
    expect(checkLines(plant("docs/planted.md", page)).problems).toEqual([
      "docs/planted.md:8 has 121 characters",
    ]);
  });
});

describe("relative links", () => {
  test("lead to a file, and to a heading of it", () => {
    const { seen, problems } = checkLinks(PAGES, exists);
    expect(seen).toBeGreaterThan(150);
    expect(problems).toEqual([]);
  });

  test("are found where a file or a heading does not exist, also over two lines", () => {
    const page =
      "[a](jobs.md) [b](job.md) [c\nd](jobs.md#budgets) [e](jobs.md#prices) [f](#nowhere) `[g](code.md)` [h](https://x.example/y.md)";
    expect(checkLinks(plant("docs/planted.md", page), exists).problems).toEqual([
      "docs/planted.md links to job.md, and there is no docs/job.md",
      "docs/planted.md links to jobs.md#prices, and docs/jobs.md has no such heading",
      "docs/planted.md links to #nowhere, and docs/planted.md has no such heading",
    ]);
  });
});

describe("paths of the repository", () => {
  test("exist where a page names one", () => {
    const { seen, problems } = checkPaths(PAGES, exists);
    expect(seen).toBeGreaterThan(40);
    expect(problems).toEqual([]);
  });

  test("are found where one does not exist", () => {
    const page =
      "See `src/index.ts`, test/docs and src/gone/away.ts.\n\n```sh\nnode examples/gone.ts\n```\nhttps://x.example/docs/y";
    expect(checkPaths(plant("docs/planted.md", page), exists).problems).toEqual([
      "docs/planted.md names src/gone/away.ts, which does not exist",
      "docs/planted.md names examples/gone.ts, which does not exist",
    ]);
  });
});

describe("decisions", () => {
  test("have the number of their file, and are in the index once", () => {
    const { seen, problems } = checkDecisions(PAGES);
    expect(seen).toBeGreaterThanOrEqual(87);
    expect(problems).toEqual([]);
  });

  test("are found where one is not listed or has another number", () => {
    expect(
      checkDecisions(plant("docs/decisions/store/0999-planted.md", "# 998. Planted\n")).problems,
    ).toEqual([
      'docs/decisions/store/0999-planted.md has the title "998. Planted"',
      "docs/decisions/store/0999-planted.md is 0 times in the index",
    ]);
  });

  test("are found where one is listed twice, or shares its number", () => {
    const path = "docs/decisions/turns/0007-a-turn-is-one-response-and-its-calls.md";
    const index = "docs/decisions/README.md";
    const entry = "- [7. Another title](turns/0007-a-turn-is-one-response-and-its-calls.md)";
    expect(checkDecisions(plant(index, `${PAGES.get(index)}\n${entry}\n`)).problems).toEqual([
      `${path} is 2 times in the index`,
      `${path} has another title in the index`,
    ]);
    expect(checkDecisions(plant("docs/decisions/store/0007-planted.md", "# 7. Planted\n")).problems).toEqual([
      `${path} shares its number with another decision`,
      "docs/decisions/store/0007-planted.md shares its number with another decision",
      "docs/decisions/store/0007-planted.md is 0 times in the index",
    ]);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandNames } from "../../src/cli/commands.ts";

const folder = join(import.meta.dirname, "../../dashboard");
const texts = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((file) => /^(?!dist\/).*\.(?:tsx?|html|css|svg)$/.test(file))
  .map((file) => ({ file, text: readFileSync(join(folder, file), "utf8") }));

/** Ways to make HTML, code or an address out of a text. Texts of models, tools and people are only ever text nodes. */
const FORBIDDEN =
  /dangerouslySetInnerHTML|\binnerHTML\b|\bouterHTML\b|insertAdjacentHTML|document\.write|srcdoc|srcDoc|marked\.parse|\bmarked\(|\bnew Function\b|\beval\(|javascript:|DOMParser|createContextualFragment/;

test("no text becomes HTML or code anywhere in the dashboard", () => {
  expect(texts.length).toBeGreaterThan(50);
  expect(texts.filter(({ text }) => FORBIDDEN.test(text)).map(({ file }) => file)).toEqual([]);
  expect(FORBIDDEN.test("<p dangerouslySetInnerHTML={{ __html: text }} />")).toBe(true);
});

test("pages teach only commands that there are", () => {
  const taught = texts.flatMap(({ text }) =>
    [...text.matchAll(/\bpawl ([a-z]+)/g)].map(([, name = ""]) => name),
  );
  expect(taught.length).toBeGreaterThan(8);
  const firstWords = commandNames.map((name) => name.split(" ")[0]);
  expect(taught.filter((name) => !firstWords.includes(name))).toEqual([]);
});

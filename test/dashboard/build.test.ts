// What a browser loads: how much of it, and that the server's policy allows all of it.

import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { builtDashboard } from "../browser/built-dashboard.ts";

const KB = 1_000;
let folder = "";
let files: readonly string[];

beforeAll(async () => {
  folder = await builtDashboard();
  files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => /\.\w+$/.test(file));
}, 120_000);

const packed = (name: string): Buffer => readFileSync(join(folder, `${name}.gz`));
const textOf = (name: string): string => gunzipSync(packed(name)).toString("utf8");
const size = (names: Iterable<string>): number =>
  [...names].reduce((sum, name) => sum + packed(name).length, 0);

/** The files that are loaded with a file, itself included. What is fetched later is not. */
function loadedWith(start: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(start);
  for (const name of loaded) {
    for (const [, other = ""] of textOf(name).matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) {
      loaded.add(`assets/${other}`);
    }
  }
  return loaded;
}

const initial = (extension: string): readonly string[] =>
  [...textOf("index.html").matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)]
    .map(([, name = ""]) => name)
    .filter((name) => name.endsWith(extension));

test("every file is compressed, and all but the page itself have a hash in their name", () => {
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => !file.endsWith(".gz"))).toEqual([]);
  const unnamed = files.filter((file) => !/-[\w-]{8}\.\w+\.gz$/.test(file));
  expect(unnamed).toEqual(["index.html.gz"]);
});

test("the page has no code and no style of its own, and loads nothing from elsewhere", () => {
  const html = textOf("index.html");
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:|https?:\/\//);
  expect(initial(".js")).toHaveLength(1);
});

test("the first load is at most 118 kB of code and 12 kB of style", () => {
  expect(size(loadedWith(initial(".js")))).toBeLessThanOrEqual(118 * KB);
  expect(size(initial(".css"))).toBeLessThanOrEqual(12 * KB);
});

test("the page of a run is at most 40 kB more, and no other page is larger", () => {
  const first = loadedWith(initial(".js"));
  const pages = files
    .map((file) => file.replace(/\.gz$/, ""))
    .filter((file) => /-page-[\w-]{8}\.js$/.test(file));
  expect(pages.some((page) => basename(page).startsWith("run-page-"))).toBe(true);
  for (const page of pages) {
    const more = [...loadedWith([page])].filter((name) => !first.has(name));
    expect([page, size(more) <= 40 * KB]).toEqual([page, true]);
  }
});

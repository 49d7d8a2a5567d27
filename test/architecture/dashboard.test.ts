import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";
import { findCycles } from "./import-cycles.ts";
import { orderText, placeIn, rooms, whyNotBetweenRooms } from "./rooms.ts";
import { longFiles, maxFiles } from "./rules.ts";

// The dashboard is no layer, but its rooms have an order too. Its files are not read by the tokenizer of the layers, which
// does not know JSX: an apostrophe in a text between tags would look like the start of a string.

const root = resolve(import.meta.dirname, "../..");

type Sources = ReadonlyMap<string, string>;
type Import = { readonly target: string; readonly typeOnly: boolean };

/** Imports of other files, and of packages under their names. */
function importsOf(path: string, text: string): readonly Import[] {
  const found = text.matchAll(
    /^(?:import|export)\b(?<type> type)?[^;"]*?\bfrom "(?<from>[^"]+)"|\bimport(?: |\()"(?<bare>[^"]+)"/gm,
  );
  return [...found].map(({ groups }) => {
    const specifier = groups?.["from"] ?? groups?.["bare"] ?? "";
    const target = specifier.startsWith(".") ? posix.join(posix.dirname(path), specifier) : specifier;
    return { target, typeOnly: groups?.["type"] !== undefined };
  });
}

/** The package that a module of the library needs to run, itself or through others; undefined if it needs none. */
function packageNeededBy(path: string, seen: Set<string> = new Set()): string | undefined {
  if (!path.startsWith("src/")) return path;
  if (seen.has(path)) return undefined;
  seen.add(path);
  return importsOf(path, readFileSync(join(root, path), "utf8"))
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ target }) => packageNeededBy(target, seen))
    .find((name) => name !== undefined);
}

function whyNotToImport(path: string, { target, typeOnly }: Import): string | undefined {
  if (!target.startsWith("src/")) return whyNotBetweenRooms(path, target);
  const name = typeOnly ? undefined : packageNeededBy(target);
  return name === undefined ? undefined : `it needs ${name}`;
}

function violationsIn(sources: Sources): readonly string[] {
  const folders = Map.groupBy(sources.keys(), (path) => posix.dirname(path));
  const graph = new Map(
    [...sources].map(([path, text]) => [path, importsOf(path, text).map(({ target }) => target)]),
  );
  return [
    ...[...sources].flatMap(([path, text]) => [
      ...Object.keys(rooms)
        .filter((folder) => path.startsWith(`${folder}/`) && placeIn(folder, path) === undefined)
        .map((folder) => `${path} is in no room of ${folder}: ${orderText(folder)}`),
      ...importsOf(path, text).flatMap((each) => {
        const why = whyNotToImport(path, each);
        return why === undefined ? [] : [`${path} must not import ${each.target}: ${why}`];
      }),
    ]),
    ...[...folders]
      .filter(([, files]) => files.length > maxFiles)
      .map(([folder, files]) => `${folder} has ${files.length} files`),
    ...longFiles(sources),
    ...findCycles(graph).map((cycle) => `${cycle.join(" → ")} is a cycle`),
  ];
}

const files = readdirSync(join(root, "dashboard/src"), { recursive: true, withFileTypes: true });
const sources: Sources = new Map(
  files
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(root, path).split(sep).join("/"), readFileSync(path, "utf8")]),
);

describe("the dashboard", () => {
  test("keeps the order of its rooms", () => {
    expect(sources.size).toBeGreaterThan(100);
    expect(violationsIn(sources)).toEqual([]);
  });

  test.each([
    ["dashboard/src/live/a.ts", 'import { B } from "../parts/controls/b.tsx";', "must not import"],
    ["dashboard/src/live/a.ts", 'import type { B } from "../pages/run/b.ts";', "must not import"],
    ["dashboard/src/live/a.ts", 'import "../app/b.ts";', "must not import"],
    ["dashboard/src/parts/text/a.tsx", 'import {\n  B,\n} from "../layout/b.tsx";', "must not import"],
    ["dashboard/src/pages/runs/a.tsx", 'const B = lazy(() => import("../run/b.tsx"));', "must not import"],
    ["dashboard/src/pages/runs/a.tsx", 'export { B } from "../spend/b.tsx";', "must not import"],
    [
      "dashboard/src/live/a.ts",
      'import { b } from "../../../src/core/canonical-json.ts";',
      "it needs node:crypto",
    ],
    ["dashboard/src/attic/a.ts", "", "is in no room"],
    ["dashboard/src/parts/a.tsx", "", "is in no room"],
    ["dashboard/src/pages/attic/a.tsx", "", "is in no room"],
    ["dashboard/src/live/a.ts", 'import "./a.ts";', "is a cycle"],
    ["dashboard/src/live/a.ts", "// line\n".repeat(401), "has 401 lines"],
  ])("would not hide a breach in %s: %s", (path, text, what) => {
    const found = violationsIn(new Map(sources).set(path, text));
    expect(found.filter((each) => each.includes(path) && each.includes(what))).toHaveLength(1);
  });

  test("would not hide a full folder", () => {
    const planted = new Map(sources);
    for (let index = 0; index <= maxFiles; index += 1) planted.set(`dashboard/src/live/a${index}.ts`, "");
    expect(violationsIn(planted).filter((each) => each.startsWith("dashboard/src/live has"))).toHaveLength(1);
  });
});

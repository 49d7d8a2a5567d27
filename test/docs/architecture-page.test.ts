import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { rooms } from "../architecture/rooms.ts";
import { layers } from "../architecture/rules.ts";

const root = resolve(import.meta.dirname, "../..");
const page = readFileSync(resolve(root, "docs/architecture.md"), "utf8");

/** Paths of files that the page names in code marks, below `src/` or `test/`. */
function namedFiles(text: string): readonly string[] {
  return [...text.matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`/g)].map(([, path = ""]) => path);
}

function missingFiles(text: string): readonly string[] {
  return namedFiles(text).filter(
    (path) => !existsSync(resolve(root, path.startsWith("test/") ? "" : "src", path)),
  );
}

/** "`file.ts` `name`": the file has to declare or mention the name. */
function missingNames(text: string): readonly string[] {
  return [...text.matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`\s+`(\w+)`/g)]
    .filter(([, path = "", name = ""]) => {
      const source = readFileSync(resolve(root, "src", path), "utf8");
      return !new RegExp(`\\b${name}\\b`).test(source);
    })
    .map(([text]) => text);
}

describe("docs/architecture.md", () => {
  it("names only files that are where it says", () => {
    expect(namedFiles(page).length).toBeGreaterThan(50);
    expect(missingFiles(page)).toEqual([]);
    expect(missingFiles("`engine/turn/turn-executor.ts`, `engine/turn/gone.ts`")).toEqual([
      "engine/turn/gone.ts",
    ]);
  });

  it("names functions and types that are in the file named with them", () => {
    expect(missingNames(page)).toEqual([]);
    expect(missingNames("`engine/turn/turn-executor.ts` `executeTurn`")).toEqual([]);
    expect(missingNames("`engine/turn/turn-executor.ts` `gone`")).toHaveLength(1);
  });

  it("lists every layer, and every room of the engine in its order", () => {
    for (const layer of layers.filter((each) => existsSync(resolve(root, "src", each))))
      expect(page).toContain(`| \`${layer}\` |`);
    const listed = [...page.matchAll(/^\| `(\w+)` \| [^|]+ \| `engine\//gm)].map(([, room]) => room);
    expect(listed).toEqual(rooms["src/engine"]);
  });

  it("leads from run() to commit 2 in one page", () => {
    const walk = page.split("## Walk 1")[1]?.split("## Walk 2")[0] ?? "";
    expect(walk).toMatch(/new Runner\(agent\)\.run\(input\)[\s\S]*Commit 1[\s\S]*Commit 2/);
    expect(walk.split("\n").length).toBeLessThan(60);
  });
});

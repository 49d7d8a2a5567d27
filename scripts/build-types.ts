// The types of the package. The compiler writes a file for each module, and a small file takes up several times its size on a
// disk. So there is one file for each entry, and one for what several of them need; without what no entry leads to.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { ENTRIES } from "./build-code.ts";
import { exportList, namesOf, neededBy, type TypeStatement, typeFile } from "./type-statements.ts";

const root = resolve(import.meta.dirname, "..");
const SHARED = "shared-types.d.ts";

export function buildTypes(target: string): void {
  const written = mkdtempSync(join(tmpdir(), "pawl-types-"));
  try {
    execFileSync("tsc", ["-p", "tsconfig.build.json", "--outDir", written], { cwd: root, stdio: "inherit" });
    for (const [file, text] of typeFiles(written)) {
      mkdirSync(dirname(join(target, file)), { recursive: true });
      writeFileSync(join(target, file), withTabs(text));
    }
  } finally {
    rmSync(written, { recursive: true, force: true });
  }
}

/** Indented by tabs: the blanks of the compiler are a twentieth of the types. */
function withTabs(text: string): string {
  return text.replace(/^(?: {4})+/gm, (blanks) => "\t".repeat(blanks.length / 4));
}

function typeFiles(written: string): ReadonlyMap<string, string> {
  // Programs have no types that are used.
  const entries = ENTRIES.filter((entry) => !/^(cli|demo)\//.test(entry)).map((entry) => ({
    file: `${entry}.d.ts`,
    needed: neededBy(join(written, `${entry}.d.ts`)),
    exported: exportList(join(written, `${entry}.d.ts`)),
  }));
  const ofEntries = new Set(
    entries.flatMap(({ exported }) => exported.map((name) => name.replace(/^type /, ""))),
  );
  const [index, ...others] = entries;
  const isShared = ({ id }: TypeStatement) =>
    index?.needed.has(id) === true || others.filter(({ needed }) => needed.has(id)).length > 1;
  const shared = new Map(
    entries.flatMap(({ needed }) => [...needed.values()].filter(isShared)).map((each) => [each.id, each]),
  );
  const sharedNames = namesOf(shared.values());
  const texts = new Map([[SHARED, typeFile([...shared.values()], { path: "", names: [] }, null, ofEntries)]]);
  for (const { file, needed, exported } of entries) {
    const all = [...needed.values()];
    const path = relative(dirname(file), SHARED).replace(/\.d\.ts$/, ".js");
    const elsewhere = { path: path.startsWith(".") ? path : `./${path}`, names: sharedNames };
    const own = all.filter((each) => !isShared(each));
    texts.set(file, typeFile(own, elsewhere, exported, ofEntries));
  }
  return texts;
}

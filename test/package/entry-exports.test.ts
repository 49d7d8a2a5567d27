// The types of each entry, beside its code: both are put together by the build.

import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exportsOf, readDeclarations } from "../../scripts/docs/declarations.ts";
import { exportList } from "../../scripts/type-statements.ts";
import { manifest, optionalPeers, packedProject } from "./packed-project.ts";

let project: string;

beforeAll(async () => {
  project = await packedProject({ packages: optionalPeers });
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

const VALUES = ["ClassDeclaration", "TSDeclareFunction", "VariableDeclaration"];

/** What the types of an entry promise to be there at run time. */
function promisedValues(path: string): readonly string[] {
  const declared = exportsOf(readDeclarations(path));
  return exportList(path)
    .filter((name) => declared.get(name)?.some(({ node }) => VALUES.includes(node.type)))
    .sort();
}

function exportedValues(name: string): readonly string[] {
  const code = `console.log(JSON.stringify(Object.keys(await import("${name}")).sort()))`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    cwd: project,
    encoding: "utf8",
  });
  return JSON.parse(stdout) as string[];
}

describe("an entry of the package", () => {
  const entries = Object.entries(manifest.exports).flatMap(([path, entry]) =>
    typeof entry === "string" ? [] : [{ name: `pawl${path.slice(1)}`, types: entry.types }],
  );

  it.each(entries)("$name exports the values that its types promise, and no others", ({ name, types }) => {
    const values = exportedValues(name);
    expect(values.length).toBeGreaterThan(0);
    expect(promisedValues(join(project, "node_modules/pawl", types))).toEqual(values);
  });
});

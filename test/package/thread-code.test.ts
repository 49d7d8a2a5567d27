// Work on worker threads, by the package: its threads are started from text, and import the zod that is installed.

import { execFile } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/core/json.ts";
import { checkBySchema } from "../../src/core/zod-json-schema.ts";
import { packedProject } from "./packed-project.ts";

/** With a pattern: checked on a thread. */
const SCHEMA: JsonObject = {
  type: "object",
  properties: { name: { type: "string", pattern: "^a+$" }, size: { type: "number", default: 4 } },
  required: ["name"],
};

let project: string;
let empty: string;

beforeAll(async () => {
  project = await packedProject({ packages: ["ai"] });
  empty = mkdtempSync(join(tmpdir(), "pawl-empty-"));
}, 120_000);

afterAll(() => {
  for (const folder of [project, empty]) rmSync(folder, { recursive: true, force: true });
});

/** A program that prints what a check of the package says. Names of functions are kept, and so it is found. */
function checking(value: Json): string {
  const [chunk] = globSync("node_modules/pawl/dist/chunks/adapters-net-zod-*.js", { cwd: project });
  return `
    import * as net from "./${chunk}";
    const check = Object.values(net).find(({ name }) => name === "checkByForeignSchema");
    console.log(JSON.stringify(await check(${JSON.stringify(SCHEMA)}, ${JSON.stringify(value)}, "server")));
  `;
}

async function printedBy(file: string): Promise<unknown> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file]);
  expect(stderr).toBe("");
  return JSON.parse(stdout);
}

describe("the package, where a value is checked against the schema of a server", () => {
  it("does it on a thread with the zod that is installed beside it", async () => {
    const program = join(project, "program.mjs");
    for (const value of [{ name: "aa" }, { name: "b" }, { name: "aa", size: "large" }, []]) {
      writeFileSync(program, checking(value));
      expect(await printedBy(program)).toEqual(checkBySchema(SCHEMA, value));
    }
  });

  it("leaves it to the server in a bundled program that has no zod beside it", async () => {
    writeFileSync(join(project, "program.js"), checking({ name: "b" }));
    const build = await rolldown({ cwd: project, input: "program.js", platform: "node", logLevel: "silent" });
    await build.write({ dir: empty, format: "esm", entryFileNames: "program.mjs" });
    await build.close();
    expect(await printedBy(join(empty, "program.mjs"))).toBeNull();
  });
});

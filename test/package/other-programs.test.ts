// Programs that are not what Pawl is written for: CommonJS files, and an old Node.

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manifest, packedProject } from "./packed-project.ts";

let project: string;

beforeAll(async () => {
  project = await packedProject({ packages: ["@opentelemetry/api"], packageJson: { type: "commonjs" } });
}, 120_000);

afterAll(() => rmSync(project, { recursive: true, force: true }));

function run(args: readonly string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
  return { stdout, stderr, status };
}

describe("a CommonJS file", () => {
  it("can require every entry of the package but pawl/otel, for which Node says to use import()", () => {
    const entries = Object.keys(manifest.exports)
      .filter((path) => path !== "./otel")
      .map((path) => `pawl${path.slice(1)}`);
    expect(run(["-e", 'require("pawl/otel")']).stderr).toContain("Use import() instead");
    writeFileSync(
      join(project, "program.cjs"),
      `for (const name of ${JSON.stringify(entries)}) require(name);
       const { openStore, Runner, Step } = require("pawl");
       openStore(":memory:")
         .then((store) => new Runner(Step.run("add", (n) => n + 1), { store }).run(41))
         .then(({ output }) => console.log(output));`,
    );
    expect(run(["program.cjs"])).toEqual({ stdout: "42\n", stderr: "", status: 0 });
  });
});

describe("an old Node", () => {
  /** Without `node:sqlite`, and with a version before it. */
  const old = `data:text/javascript,${encodeURIComponent(`
    Object.defineProperty(process.versions, "node", { value: "20.20.2" });
    const { getBuiltinModule } = process;
    process.getBuiltinModule = (name) => (name === "node:sqlite" ? undefined : getBuiltinModule(name));
  `)}`;
  const SENTENCE =
    "Pawl needs Node 22.18 or newer and this is 20.20.2: install a newer one from https://nodejs.org";

  it("is refused by the library in one sentence, whatever is imported first", () => {
    for (const entry of ["pawl", "pawl/testing/crash"]) {
      const { stderr, status } = run(["--import", old, "--input-type=module", "-e", `import "${entry}";`]);
      expect(stderr).toContain(`Error: ${SENTENCE}`);
      expect(status).toBe(1);
    }
  });

  it("is refused by the command line", () => {
    const { stderr, status } = run(["--import", old, "node_modules/pawl/dist/cli/main.js", "ls"]);
    expect(stderr).toBe(`error: ${SENTENCE} and try again.\n`);
    expect(status).toBe(1);
  });
});

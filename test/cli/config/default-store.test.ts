// Where runs are stored by default: in the store's own folder.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mcpTools } from "../../../src/adapters/mcp/mcp.ts";
import { openStore } from "../../../src/index.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { pawl } from "../recording-context.ts";
import { cliFolder } from "../sample-runs.ts";

const CONFIG = `import { samplePipeline } from ${JSON.stringify(new URL("../sample-runs.ts", import.meta.url).href)};
  export default { pipelines: { report: samplePipeline("report") }, jobs: { workspaceRoot: "." } };`;

function configured() {
  const folder = cliFolder();
  writeFileSync(join(folder.cwd, "pawl.config.ts"), CONFIG);
  return folder;
}

/** A store in the default location of an earlier version. */
async function earlierStore(cwd: string): Promise<void> {
  const store = await openStore(`file:${join(cwd, "pawl.db")}`);
  await SampleRun.create(store, "earlier-1");
  await store.close();
}

describe("the default store", () => {
  it("is created by the first run, in a folder for its owner only that git ignores", async () => {
    const { cwd } = configured();
    expect((await pawl(["ls"], { cwd })).stderr).toContain("There is no database at");
    expect(readdirSync(cwd)).toEqual(["pawl.config.ts"]);
    const { stderr } = await pawl(["run", "report", "--input", "Go", "--run-id", "q-1"], { cwd });
    expect(stderr).toContain("q-1");
    expect(existsSync(join(cwd, ".pawl/pawl.db"))).toBe(true);
    expect(statSync(join(cwd, ".pawl")).mode & 0o777).toBe(0o700);
    expect(readFileSync(join(cwd, ".pawl/.gitignore"), "utf8")).toBe("*\n");
    expect(statSync(join(cwd, ".pawl/.gitignore")).mode & 0o777).toBe(0o600);
    expect((await pawl(["ls"], { cwd })).stdout).toContain("q-1");
  });

  it("is not created empty if an earlier version stored its runs beside it", async () => {
    const { cwd } = configured();
    await earlierStore(cwd);
    for (const argv of [["ls"], ["run", "report", "--input", "Go"], ["doctor"]]) {
      const { exitCode, stdout, stderr } = await pawl(argv, { cwd });
      expect(exitCode).toBe(1);
      const printed = `${stdout}${stderr}`.replaceAll(/\s+/g, " ");
      expect(printed).toContain(
        `There is no database at ${join(cwd, ".pawl/pawl.db")}, and one at ${join(cwd, "pawl.db")}`,
      );
      expect(printed).toContain("mkdir -p .pawl && mv pawl.db* .pawl/");
    }
    expect(existsSync(join(cwd, ".pawl"))).toBe(false);
    expect((await pawl(["ls", "--store", "file:./pawl.db"], { cwd })).stdout).toContain("earlier-1");
    mkdirSync(join(cwd, ".pawl"));
    for (const name of readdirSync(cwd).filter((each) => each.startsWith("pawl.db")))
      renameSync(join(cwd, name), join(cwd, ".pawl", name));
    expect((await pawl(["ls"], { cwd })).stdout).toContain("earlier-1");
  });

  it("is not the only one whose folder is created, but the only one with a .gitignore", async () => {
    const { cwd } = configured();
    const store = ["--store", "file:./other/folder/pawl.db"];
    for (const argv of [["ls"], ["show", "q-1"], ["tail", "q-1"], ["waits"], ["doctor"], ["cancel", "q-1"]]) {
      await pawl([...argv, ...store], { cwd });
      expect([argv, existsSync(join(cwd, "other"))]).toEqual([argv, false]);
    }
    const { stdout } = await pawl(["doctor", ...store], { cwd });
    expect(stdout).toMatch(/^ok +disk /m);
    const { exitCode } = await pawl(["run", "report", "--input", "Go", "--run-id", "q-1", ...store], { cwd });
    expect(exitCode).toBe(0);
    expect(statSync(join(cwd, "other")).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(cwd, "other/folder"))).toContain("pawl.db");
    expect(readdirSync(join(cwd, "other/folder"))).not.toContain(".gitignore");
    expect((await pawl(["ls", ...store], { cwd })).stdout).toContain("q-1");
  });
});

describe("doctor", () => {
  const placeOf = async (cwd: string) => {
    const { stdout } = await pawl(["doctor", "--load-config"], { cwd, columns: 400 });
    return /^(ok|warn) +place .*$/m.exec(stdout)?.[0];
  };

  it("warns of a store inside a run's workspace", async () => {
    const folder = configured();
    const { cwd } = folder;
    await folder.withStore((store) => SampleRun.create(store, "q-1"));
    expect(await placeOf(cwd)).toMatch(/^ok/);
    writeFileSync(join(cwd, "job.yaml"), "objective: Go\npipeline: report\nartifacts:\n  workspaceDir: .\n");
    await pawl(["run", "job.yaml", "--run-id", "q-2", "--trust"], { cwd });
    expect(await placeOf(cwd)).toBe(`warn  place       the store is in ${cwd}, where run q-2 works`);
  });

  it("warns of a store in a folder that an MCP server was given", async () => {
    const { cwd } = cliFolder();
    expect(mcpTools({ command: "npx", args: ["-y", "server-filesystem", "."], cwd }).places).toContain(cwd);
    const adapters = new URL("../../../src/adapters/mcp/mcp.ts", import.meta.url).href;
    const index = new URL("../../../src/index.ts", import.meta.url).href;
    const testing = new URL("../../../src/testing/index.ts", import.meta.url).href;
    writeFileSync(
      join(cwd, "pawl.config.ts"),
      `import { mcpTools } from ${JSON.stringify(adapters)};
       import { agent } from ${JSON.stringify(index)};
       import { scriptedModel } from ${JSON.stringify(testing)};
       const files = mcpTools({ command: "npx", args: ["-y", "server-filesystem", ${JSON.stringify(cwd)}] });
       const clerk = agent({ name: "clerk", model: scriptedModel([]), tools: { files } });
       export default { pipelines: { clerk } };`,
    );
    expect(await placeOf(cwd)).toBe(
      `warn  place       the store is in ${cwd}, where the MCP server files works`,
    );
  });
});

// `pawl resume`: what it would do, and the ways to go on that a person has to choose.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CliFolder } from "./cli-process.ts";
import { pawl, pawlJson } from "./recording-context.ts";
import { WORKING_CONFIG } from "./working-config.ts";

async function killedRun(): Promise<CliFolder> {
  const folder = new CliFolder(WORKING_CONFIG);
  folder.write("hold-two");
  const command = folder.start("run", "worker", "--input", "Go", "--run-id", "r-1");
  await folder.logged("two begins");
  command.signal("SIGKILL");
  await command.ended();
  folder.remove("hold-two");
  return folder;
}

describe("resume --dry-run", () => {
  it("says what would be done with a killed run, and does none of it", async () => {
    const folder = await killedRun();
    const before = folder.log;
    const { exitCode, stdout } = await pawl(["resume", "r-1", "--dry-run"], {
      cwd: folder.path,
      columns: 80,
    });
    expect(exitCode).toBe(0);
    expect(stdout.split("\n")).toEqual([
      "run r-1 would go on so:",
      "  goes on with  worker, which was begun",
      "  the model     has answered turn 2, and is not asked again",
      "  a call        act (r-1/worker#2.1) may have happened, and runs again, which is",
      "                harmless",
      "nothing was done; go on with: pawl resume r-1",
      "",
    ]);
    expect(folder.log).toEqual(before);

    const narrow = await pawl(["resume", "r-1", "--dry-run"], { cwd: folder.path, columns: 40 });
    expect(narrow.stdout.split("\n").filter((line) => line.length > 40 && !line.includes("pawl"))).toEqual(
      [],
    );

    const milestone = ["resume", "r-1", "--dry-run", "--from", "beginning"];
    const { document } = await pawlJson(milestone, { cwd: folder.path });
    expect(document).toMatchObject({ runId: "r-1", refusal: null, turn: { response: "asked" } });
    expect(folder.log).toEqual(before);
  });

  it("has code 3 and the commands where a person is needed, and says where nothing is left", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    await pawl(["run", "asks", "--input", "Go", "--run-id", "w-1"], { cwd: folder.path });
    const asked = await pawl(["resume", "w-1", "--dry-run"], { cwd: folder.path });
    expect(asked.exitCode).toBe(3);
    expect(asked.stdout).toContain("  pawl approve w-1~1\n");
    expect(folder.log).toEqual([]);

    await pawl(["run", "echo", "--input", "Hi", "--run-id", "e-1"], { cwd: folder.path });
    expect(await pawl(["resume", "e-1", "--dry-run"], { cwd: folder.path })).toMatchObject({
      exitCode: 0,
      stdout: "run e-1 has succeeded: there is nothing left to do\n",
    });
  });
});

describe("a run whose agent is not what it was", () => {
  it("does not go on by itself, and does with a reason", async () => {
    const folder = await killedRun();
    const config = readFileSync(join(folder.path, "pawl.config.ts"), "utf8");
    folder.write("pawl.config.ts", config.replace('instructions: "Work."', 'instructions: "Work hard."'));

    const dry = await folder.pawl("resume", "r-1", "--dry-run");
    expect(dry.exitCode).toBe(1);
    expect(dry.stdout.replaceAll(/\s+/g, " ")).toContain('Changed: prompt: "Work." → "Work hard."');

    const refused = await folder.pawl("resume", "r-1", "--json");
    expect(refused.exitCode).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      status: "failed",
      error: { code: "resume" },
      commands: ["pawl resume r-1 --from milestone", "pawl resume r-1 --accept-divergence WHY"],
    });
    expect(folder.log.filter((line) => line === "two begins")).toHaveLength(1);

    const accepted = await folder.pawl("resume", "r-1", "--accept-divergence", "The same, in other words");
    expect(accepted).toMatchObject({ exitCode: 0, stdout: "All is done.\n" });
  });
});

describe("resume --redo-turn", () => {
  it("asks the model again, as long as none of its calls has gone out", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    await pawl(["run", "asks", "--input", "Go", "--run-id", "w-1"], { cwd: folder.path });
    const { exitCode, document } = await pawlJson(["resume", "w-1", "--redo-turn"], { cwd: folder.path });
    expect({ exitCode, document }).toMatchObject({
      exitCode: 3,
      document: { status: "waiting", usage: { modelCalls: 2 } },
    });
    expect(folder.log).toEqual([]);
  });
});

describe("resume --reason", () => {
  it("keeps why with the attempt", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    await pawl(["run", "fails", "--run-id", "f-1"], { cwd: folder.path });
    folder.remove("broken");
    await pawl(["resume", "f-1", "--reason", "The press is mended."], { cwd: folder.path });
    const { document } = await pawlJson(["show", "f-1"], { cwd: folder.path });
    expect(JSON.stringify(document)).toContain("The press is mended.");
  });
});

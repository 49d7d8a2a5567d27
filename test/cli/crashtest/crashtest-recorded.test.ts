// `pawl crashtest` that replays a run: the model, the tools and the people repeat their answers, and nothing real is done.

import { describe, expect, it } from "vitest";
import { PATIENCE } from "../../patience.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { configWith } from "./crashtest-config.ts";

function workFolder(): CliFolder {
  return new CliFolder(configWith("{}"));
}

async function runOnce({ path }: CliFolder, pipeline: string, runId: string): Promise<void> {
  const { exitCode, stderr } = await pawl(["run", pipeline, "--input", "Ann", "--run-id", runId], {
    cwd: path,
  });
  if (exitCode !== 0 && exitCode !== 3) throw new Error(stderr);
}

describe("a test without stand-ins", () => {
  it(
    "replays the newest succeeded run, runs no tool, and trusts the tools' declarations",
    PATIENCE,
    async () => {
      const folder = workFolder();
      await runOnce(folder, "forgetful", "f-1");
      const { length } = folder.log;
      const { exitCode, stdout } = await pawl(["crashtest", "forgetful", "--mode", "crash"], {
        cwd: folder.path,
        columns: 400,
      });
      expect(stdout).toContain("every promise kept");
      expect(stdout).toContain(
        "Replayed run f-1: the model and the tools gave their recorded answers. No tool was run",
      );
      expect(stdout).toContain("is found only with crashtests.forgetful in pawl.config.ts");
      expect(exitCode).toBe(0);
      expect(folder.log).toHaveLength(length);
    },
  );

  it("finds a tool that is wrongly declared as repeatable", PATIENCE, async () => {
    const folder = workFolder();
    await runOnce(folder, "careless", "c-1");
    const { exitCode, stdout } = await pawl(
      ["crashtest", "careless", "--run", "c-1", "--schedule", "crash after tool.send_email 1"],
      { cwd: folder.path, columns: 400 },
    );
    expect(stdout).toContain('send_email is "external" with recovery "repeat"');
    expect(exitCode).toBe(1);
  });

  it("replays answers, approvals, files, large results and the calls of code", PATIENCE, async () => {
    const folder = workFolder();
    const { path: cwd } = folder;
    await runOnce(folder, "office", "o-1");
    for (const verb of [
      ["answer", "o-1~1", "The blue one."],
      ["resume", "o-1"],
      ["approve", "o-1~2"],
      ["resume", "o-1"],
    ])
      await pawl(verb, { cwd });
    expect((await pawl(["show", "o-1"], { cwd })).stdout).toContain("succeeded");
    const { length } = folder.log;
    const { exitCode, document } = await pawlJson<{
      readonly pointsByCall: { readonly [call: string]: number };
      readonly run: string;
      readonly notes: readonly string[];
    }>(["crashtest", "office", "--schedule", "crash after tool.note 2"], { cwd });
    expect(document).toMatchObject({ kept: true, run: "o-1" });
    expect(document.pointsByCall).toMatchObject({
      "store.answer": 2,
      "store.approve": 2,
      "tool.note": 6,
      "tool.ask_human": 2,
      "tool.send_email": 2,
      "file.one.txt": 2,
    });
    expect(document.notes.at(-1)).toBe("Step code really ran, in every schedule: file.");
    expect(exitCode).toBe(0);
    expect(folder.log).toHaveLength(length);
  });

  it("names the tools that the run never ran, and how to test them", PATIENCE, async () => {
    const folder = workFolder();
    const { path: cwd } = folder;
    await runOnce(folder, "office", "o-2");
    for (const verb of [
      ["answer", "o-2~1", "The blue one."],
      ["resume", "o-2"],
      ["deny", "o-2~2", "--why", "Not today."],
      ["resume", "o-2"],
    ])
      await pawl(verb, { cwd });
    const args = ["crashtest", "office", "--schedule", "crash after tool.note 2"];
    const { exitCode, stdout } = await pawl(args, { cwd, columns: 400 });
    expect(stdout).toContain("never ran: send_email. No schedule says anything about it");
    expect(stdout).toContain(
      "Run o-2 never ran send_email: name a run that did with --run, or configure crashtests.office with a model that calls it.",
    );
    expect(exitCode).toBe(0);
    const { document } = await pawlJson<{ readonly neverRan: readonly string[] }>(args, { cwd });
    expect(document.neverRan).toEqual(["send_email"]);
  });

  it("reports step code that makes other calls than recorded", PATIENCE, async () => {
    const folder = workFolder();
    await runOnce(folder, "moody", "m-1");
    folder.write("changed");
    const { exitCode, stderr } = await pawl(["crashtest", "moody"], { cwd: folder.path });
    expect(stderr).toContain("error: Run m-1 cannot be replayed as recorded: ");
    expect(stderr).toContain("Run m-1 has no such call of note");
    expect(exitCode).toBe(2);
  });
});

describe("a test without stand-ins or a run", () => {
  const sentence =
    "error: There is nothing to test careful with: no run of it has succeeded in this store, and pawl.config.ts has no crashtests.careful. Run it once (`pawl run careful`), or configure stand-ins for its model and tools, `crashtests: { careful: { input, model, tools } }`.\n";

  it("names the remedy, and creates no database", async () => {
    const folder = workFolder();
    const { exitCode, stderr } = await pawl(["crashtest", "careful"], { cwd: folder.path });
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: sentence });
    expect((await pawl(["ls"], { cwd: folder.path })).stderr).toContain("There is no database");
  });

  it("is refused as well if there are only runs of other pipelines or inputs", async () => {
    const folder = workFolder();
    await runOnce(folder, "forgetful", "f-1");
    expect((await pawl(["crashtest", "careful"], { cwd: folder.path })).stderr).toBe(sentence);
    const other = await pawl(["crashtest", "forgetful", "--input", "Bob"], { cwd: folder.path });
    expect(other.stderr).toContain("There is nothing to test forgetful with: no run of it has succeeded");
  });

  it("reports a missing database if a run was named, whatever is configured", async () => {
    const folder = new CliFolder(configWith("{ careful: { input, model: script } }"));
    const { exitCode, stderr } = await pawl(["crashtest", "careful", "--run", "nope"], { cwd: folder.path });
    expect(stderr).toMatch(
      /^error: There is no run nope: there is no database at \S+pawl\.db yet\. Name another store with --store, or leave out --run\.\n$/,
    );
    expect(exitCode).toBe(2);
  });

  it("reports why a named run cannot be replayed", async () => {
    const folder = workFolder();
    await runOnce(folder, "forgetful", "f-1");
    await runOnce(folder, "office", "o-1");
    const stderrOf = async (pipeline: string, ...args: readonly string[]) =>
      (await pawl(["crashtest", pipeline, ...args], { cwd: folder.path })).stderr;
    expect(await stderrOf("careful", "--run", "f-1")).toContain(
      "Run f-1 is of forgetful: a test replays a run of careful",
    );
    expect(await stderrOf("office", "--run", "o-1")).toContain("Run o-1 is waiting: a test replays a run");
    expect(await stderrOf("forgetful", "--run", "nine")).toContain("There is no run nine in this store");
    expect(await stderrOf("forgetful", "--run", "f-1", "--input", "Ann")).toContain(
      "Run f-1 has its own input",
    );
  });
});

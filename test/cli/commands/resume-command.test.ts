// `pawl resume`: its dry run, and the ways to resume that a person must choose.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { WORKING_CONFIG } from "../working-config.ts";

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

/** The output and exit code of a dry run; also checks that it did nothing. */
async function dryRun(folder: CliFolder, columns: number, ...argv: readonly string[]) {
  const before = folder.log;
  const { exitCode, stdout, stderr } = await pawl(["resume", ...argv, "--dry-run"], {
    cwd: folder.path,
    columns,
    isTerminal: true,
  });
  expect([stderr, folder.log]).toEqual(["", before]);
  expect(stdout.split("\n").filter((line) => line.length > columns)).toEqual([]);
  return { exitCode, lines: stdout.trimEnd().split("\n") };
}

describe("resume --enqueue", () => {
  it("leaves the run to the next worker, which resumes it as asked", async () => {
    const folder = await killedRun();
    const argv = ["resume", "r-1", "--enqueue", "--reason", "Try again.", "--by", "Ann"];
    expect(await pawl(argv, { cwd: folder.path })).toEqual({
      exitCode: 0,
      stdout: "Run r-1 is queued: the next worker resumes it.\nFollow it:\n  pawl tail r-1 --follow\n",
      stderr: "",
    });
    const again = ["resume", "r-1", "--enqueue", "--from", "milestone"];
    const { exitCode, document } = await pawlJson(again, { cwd: folder.path });
    expect({ exitCode, document }).toMatchObject({
      exitCode: 0,
      document: { kind: "requested", runId: "r-1", run: { status: "queued" } },
    });
    expect(await pawl(["resume", "r-1"], { cwd: folder.path })).toMatchObject({ exitCode: 0 });
    expect(await pawl(argv, { cwd: folder.path })).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining("Run r-1 has already succeeded: there is nothing to resume."),
    });
  });

  it("is refused with --wait, which is for this process", async () => {
    const folder = await killedRun();
    const { exitCode, stderr } = await pawl(["resume", "r-1", "--enqueue", "--wait"], { cwd: folder.path });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("--enqueue leaves the run to a worker")]);
  });
});

describe("resume --dry-run", () => {
  it("reports what would be done with a killed run, without doing it", async () => {
    const folder = await killedRun();
    expect(await dryRun(folder, 80, "r-1")).toEqual({
      exitCode: 0,
      lines: [
        "Nothing was done. Run r-1 would resume like this:",
        "  resumes with  worker, already started",
        "  the model     has already answered turn 2, and is not asked again",
        "  a call        act (r-1/worker#2.1) was interrupted, and runs again, which is",
        "                safe",
        "Resume it:",
        "  pawl resume r-1",
      ],
    });
    expect(await dryRun(folder, 40, "r-1", "--accept-divergence", "It is the same")).toEqual({
      exitCode: 0,
      lines: [
        "Nothing was done. Run r-1 would resume",
        "like this:",
        "  resumes with  worker, already started",
        "  the model     has already answered",
        "                turn 2, and is not asked",
        "                again",
        "  a call        act (r-1/worker#2.1) was",
        "                interrupted, and runs",
        "                again, which is safe",
        "Resume it:",
        "  pawl resume r-1 --accept-divergence \\",
        "    'It is the same'",
      ],
    });
  });

  it("reports what happens to a turn that is abandoned or dropped, and names the command", async () => {
    const folder = await killedRun();
    const left = await dryRun(folder, 80, "r-1", "--from", "beginning");
    expect(left.exitCode).toBe(0);
    expect(left.lines.slice(2)).toEqual([
      "  a call        act (r-1/worker#2.1) was interrupted, and runs again, which is",
      "                safe",
      expect.stringMatching(/^ {2}the model {5}is asked for turn 3, for at most [\d,]+ tokens$/),
      "Resume it:",
      "  pawl resume r-1 --from beginning",
    ]);
    const { document } = await pawlJson(["resume", "r-1", "--dry-run", "--from", "beginning"], {
      cwd: folder.path,
    });
    expect(document).toMatchObject({ runId: "r-1", refusal: null, turn: { index: 3, response: "asked" } });

    const kept = await dryRun(folder, 80, "r-1", "--redo-turn");
    expect([kept.exitCode, kept.lines[0]]).toEqual([1, "Run r-1 would not resume:"]);
    expect(kept.lines[1]).toContain("Turn 2 of r-1/worker cannot be dropped");

    await pawl(["run", "asks", "--input", "Go", "--run-id", "w-1"], { cwd: folder.path });
    const dropped = await dryRun(folder, 80, "w-1", "--redo-turn");
    expect(dropped.exitCode).toBe(0);
    expect(dropped.lines.slice(2)).toEqual([
      "  a call        mail (w-1/send#1.1) is dropped with its response",
      expect.stringContaining("is asked for turn 1"),
      "  after that    check",
      "Resume it:",
      "  pawl resume w-1 --redo-turn",
    ]);
  });

  it("exits with 3 and the commands if a person is needed, and reports that nothing is left", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    await pawl(["run", "asks", "--input", "Go", "--run-id", "w-1"], { cwd: folder.path });
    expect(await dryRun(folder, 40, "w-1")).toEqual({
      exitCode: 3,
      lines: [
        "Nothing was done. Run w-1 would resume",
        "like this:",
        "  resumes with  send, already started",
        "  the model     has already answered",
        "                turn 1, and is not asked",
        "                again",
        "  a call        mail (w-1/send#1.1)",
        "                needs a person",
        "  waiting for   w-1~1: May mail run with",
        "                these arguments?",
        "  after that    check",
        "Answer w-1~1, with one of these:",
        "  pawl approve w-1~1",
        "  pawl deny w-1~1 --why '…'",
        "Then resume it:",
        "  pawl resume w-1",
      ],
    });
    await pawl(["approve", "w-1~1"], { cwd: folder.path });
    const approved = await dryRun(folder, 80, "w-1");
    expect([approved.exitCode, approved.lines[3]]).toEqual([
      0,
      "  a call        mail (w-1/send#1.1) runs for the first time",
    ]);

    await pawl(["run", "echo", "--input", "Hi", "--run-id", "e-1"], { cwd: folder.path });
    expect(await dryRun(folder, 80, "e-1")).toEqual({
      exitCode: 0,
      lines: ["Run e-1 has succeeded: there is nothing left to do."],
    });
  });

  it("reports what prevents the run: another process, or a budget, which may be a question", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("hold-one");
    const command = folder.start("run", "worker", "--input", "Go", "--run-id", "r-1");
    await folder.logged("one begins");
    const busy = await dryRun(folder, 80, "r-1");
    expect([busy.exitCode, busy.lines[0]]).toEqual([1, "Run r-1 would not resume:"]);
    expect(busy.lines.slice(1).join(" ")).toMatch(
      /^Another process holds it \(\S+\)\. Wait for that with --wait, or stop it\.$/,
    );
    command.signal("SIGKILL");
    await command.ended();
    folder.remove("hold-one");

    const job = { objective: "Work.", pipeline: "worker", input: "Go", budgets: { maxToolCalls: 1 } };
    folder.write("stops.json", JSON.stringify(job));
    folder.write("asks.json", JSON.stringify({ ...job, escalation: { askHumanOnBudgetReached: true } }));
    await pawl(["run", "stops.json", "--run-id", "s-1"], { cwd: folder.path });
    await pawl(["run", "asks.json", "--run-id", "a-1"], { cwd: folder.path });
    const stopped = await dryRun(folder, 80, "s-1");
    expect([stopped.exitCode, stopped.lines[0]]).toEqual([1, "Run s-1 would not resume:"]);
    expect(stopped.lines.slice(-2)).toEqual(["Resume it:", "  pawl resume s-1 --budget maxToolCalls=2"]);
    expect((await dryRun(folder, 80, "s-1", "--budget", "maxToolCalls=2")).exitCode).toBe(0);
    const asked = await dryRun(folder, 80, "a-1");
    expect([asked.exitCode, asked.lines[0]]).toEqual([3, "Run a-1 would ask a person:"]);
    expect(asked.lines.slice(-3)).toEqual([
      "Answer a-1~1, with one of these:",
      "  pawl answer a-1~1 2",
      "  pawl deny a-1~1 --why '…'",
    ]);
  });
});

describe("a run whose agent has changed", () => {
  it("resumes only with a reason", async () => {
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
  it("asks the model again if none of its calls was sent", async () => {
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
  it("is stored with the attempt", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("broken");
    await pawl(["run", "fails", "--run-id", "f-1"], { cwd: folder.path });
    folder.remove("broken");
    await pawl(["resume", "f-1", "--reason", "The press is repaired."], { cwd: folder.path });
    const { document } = await pawlJson(["show", "f-1"], { cwd: folder.path });
    expect(JSON.stringify(document)).toContain("The press is repaired.");
  });
});

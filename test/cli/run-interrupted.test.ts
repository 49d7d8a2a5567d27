// `pawl run` killed, interrupted once and twice, and resumed in every possible way.

import { describe, expect, it } from "vitest";
import { CliFolder } from "./cli-process.ts";
import { pawl } from "./recording-context.ts";
import { WHOLE_LOG, WORKING_CONFIG } from "./working-config.ts";

const START = ["run", "worker", "--input", "Go", "--run-id", "r-1"] as const;

/** A run whose tool is running in its first turn until the test lets it end. */
async function runInProgress() {
  const folder = new CliFolder(WORKING_CONFIG);
  folder.write("hold-one");
  const command = folder.start(...START);
  await folder.logged("one begins");
  return { folder, command };
}

describe("a run that is killed", () => {
  it.each([
    ["run with its id", ["run", "worker", "--run-id", "r-1"], "› run r-1 resumes"],
    ["run with the same input", ["run", "worker", "--input", "Go"], "› run r-1 resumes"],
    ["run --resume", ["run", "worker", "--resume"], "resuming run r-1, which was interrupted"],
    ["resume", ["resume", "r-1"], "› run r-1 resumes"],
  ])("is resumed with %s, without asking the model again", async (_way, args, message) => {
    const { folder, command } = await runInProgress();
    command.signal("SIGKILL");
    await command.ended();
    folder.remove("hold-one");

    const { exitCode, stdout, stderr } = await pawl(args, { cwd: folder.path });
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "All is done.\n" });
    expect(stderr).toContain(message);
    expect(stderr).toContain("  · turn 1 replays its stored response\n");
    expect(folder.log).toEqual(WHOLE_LOG.toSpliced(1, 0, "one begins"));
  });
});

describe("a run that is interrupted once", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "by %s finishes its turn, is released, and shows how to resume",
    async (signal) => {
      const { folder, command } = await runInProgress();
      command.signal(signal);
      await command.waitForStderr("! finishing turn 1 of worker; Ctrl-C again stops now\n");
      expect(folder.log).toEqual(["model 1", "one begins"]);
      folder.remove("hold-one");

      const { exitCode, stdout, stderr } = await command.ended();
      expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
      expect(stderr).toContain(
        "! run r-1 is paused; kept: 1 model call, 1 receipt, 15 tokens\nresume with: pawl resume r-1\n",
      );
      expect(folder.log).toEqual(["model 1", "one begins", "one ends"]);

      expect(await pawl(["resume", "r-1"], { cwd: folder.path })).toMatchObject({
        exitCode: 0,
        stdout: "All is done.\n",
      });
      expect(folder.log).toEqual(WHOLE_LOG);
    },
  );

  it("reports it in one document with --json", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    folder.write("hold-one");
    const command = folder.start(...START, "--json");
    await folder.logged("one begins");
    command.signal("SIGINT");
    folder.remove("hold-one");
    const { exitCode, stdout, stderr } = await command.ended();
    expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ runId: "r-1", status: "queued", output: null });
  });
});

describe("a run that is interrupted twice", () => {
  it("stops immediately, reports that this is safe, and resumes where it was", async () => {
    const { folder, command } = await runInProgress();
    command.signal("SIGINT");
    await command.waitForStderr("Ctrl-C again stops now");
    const { exitCode, stdout, stderr } = await command.endedBy("SIGINT");
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(stderr.split("\n").slice(-3)).toEqual([
      "! stopped immediately, which is safe: nothing is silently lost or silently done twice",
      "› resume with: pawl resume r-1",
      "",
    ]);
    expect(folder.log).toEqual(["model 1", "one begins"]);

    folder.remove("hold-one");
    expect(await pawl(["resume", "r-1"], { cwd: folder.path })).toMatchObject({
      exitCode: 0,
      stdout: "All is done.\n",
    });
    expect(folder.log.filter((line) => line === "one ends")).toHaveLength(1);
    expect(folder.log.filter((line) => line === "model 1")).toHaveLength(1);
  });
});

describe("a run that another process holds", () => {
  it("is refused, or waited for with --wait", async () => {
    const { folder, command } = await runInProgress();
    const refused = await pawl(["resume", "r-1"], { cwd: folder.path });
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toMatch(
      /^error: Run r-1 is held by \S+, whose lease runs until \S+: wait for it with --wait, or stop that process\.\n$/,
    );
    expect((await pawl(["run", "worker", "--resume"], { cwd: folder.path })).stderr).toBe(
      "error: No run of pipeline worker was interrupted, failed or is waiting: leave out --resume to start one; `pawl ls` lists the runs.\n",
    );

    const impatient = folder.start("resume", "r-1", "--wait");
    await impatient.waitForStderr("waiting for another process that holds the run");
    impatient.signal("SIGINT");
    expect(await impatient.ended()).toMatchObject({ exitCode: 130, stdout: "" });

    const waiting = folder.start("resume", "r-1", "--wait");
    await waiting.waitForStderr("waiting for another process that holds the run");
    folder.remove("hold-one");
    expect(await command.ended()).toMatchObject({ exitCode: 0 });
    expect(await waiting.ended()).toMatchObject({ exitCode: 0, stdout: "All is done.\n" });
    expect(folder.log.filter((line) => line.startsWith("model"))).toEqual(["model 1", "model 2", "model 3"]);
  });
});

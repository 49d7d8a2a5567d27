// `pawl cancel`, also of runs in real processes, living or dead: each ends, and the calls in progress are reported.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Pipeline, Runner, Step, tool } from "../../../src/index.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder, MAILING, runSamples, SEARCHING } from "../sample-runs.ts";
import { WORKING_CONFIG } from "../working-config.ts";

/** Its tool logs when it is asked to stop, and continues anyway. */
const LOGGING_CONFIG = WORKING_CONFIG.replace(
  "execute: async ({ what }) => {",
  `execute: async ({ what }, { signal }) => {
    signal.addEventListener("abort", () => log(what + " is asked to stop"));`,
);

const START = ["run", "worker", "--input", "Go", "--run-id", "r-1"] as const;

/** A run whose tool is running in its first turn until the test lets it end. */
async function runInProgress() {
  const folder = new CliFolder(LOGGING_CONFIG);
  folder.write("hold-one");
  const command = folder.start(...START);
  await folder.logged("one begins");
  return { folder, command };
}

/** The same command line in this process, not in that of the run. */
function here(folder: CliFolder, ...argv: readonly string[]) {
  return pawl(argv, { cwd: folder.path });
}

async function statusOf(folder: CliFolder, runId: string): Promise<unknown> {
  const { document } = await pawlJson<{ run: { status: string } }>(["show", runId], { cwd: folder.path });
  return document.run.status;
}

describe("cancel ends immediately", () => {
  it("a run that was released", async () => {
    const { folder, command } = await runInProgress();
    command.signal("SIGINT");
    await command.waitForStderr("Ctrl-C again stops now");
    folder.remove("hold-one");
    expect(await command.ended()).toMatchObject({ exitCode: 130 });
    expect(await statusOf(folder, "r-1")).toBe("queued");

    expect(await here(folder, "cancel", "r-1")).toEqual({
      exitCode: 0,
      stdout: "Run r-1 is cancelled. No tool call was in progress.\nIt can be resumed:\n  pawl resume r-1\n",
      stderr: "",
    });
    expect(await statusOf(folder, "r-1")).toBe("cancelled");
    expect(await here(folder, "resume", "r-1")).toMatchObject({ exitCode: 0 });
    expect(folder.log.filter((line) => line === "one begins")).toHaveLength(1);
  });

  it("a waiting run, whose questions can no longer be answered", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    expect((await here(folder, "run", "asks", "--input", "Go", "--run-id", "w-1")).exitCode).toBe(3);
    expect(await here(folder, "cancel", "w-1", "--json")).toMatchObject({ exitCode: 0 });
    expect(await statusOf(folder, "w-1")).toBe("cancelled");
    expect((await here(folder, "approve", "w-1~1")).exitCode).toBe(1);
    // A resumed run asks again.
    const { exitCode, document } = await pawlJson(["resume", "w-1"], { cwd: folder.path });
    expect({ exitCode, document }).toMatchObject({ exitCode: 3, document: { waits: [{ waitId: "w-1~2" }] } });
    expect(folder.log).toEqual([]);
  });

  it("a run whose process was killed inside a tool, and reports that the outcome is unknown", async () => {
    const { folder, command } = await runInProgress();
    command.signal("SIGKILL");
    await command.ended();
    const { exitCode, stdout } = await here(folder, "cancel", "r-1");
    expect(exitCode).toBe(0);
    const [first, ...rest] = stdout.split(/\n(?=Find)/);
    expect(first?.replaceAll("\n", " ")).toMatch(
      /^Run r-1 is cancelled\. Its worker died during 1 tool call, whose outcome is unknown\.$/,
    );
    expect(rest.join().split("\n")).toEqual([
      "Find out whether r-1/worker#1.1 happened, and settle it:",
      "  pawl settle r-1/worker#1.1 --succeeded '{…}'",
      "  pawl settle r-1/worker#1.1 --retry",
      "  pawl settle r-1/worker#1.1 --failed '…'",
      "It can be resumed:",
      "  pawl resume r-1",
      "",
    ]);
    expect(await statusOf(folder, "r-1")).toBe("cancelled");

    // The run continues with the outcome that the person recorded.
    expect((await here(folder, "settle", "r-1/worker#1.1", "--succeeded", '"by hand"')).exitCode).toBe(0);
    expect(await here(folder, "resume", "r-1")).toMatchObject({ exitCode: 0, stdout: "All is done.\n" });
    expect(folder.log).toEqual(["model 1", "one begins", "model 2", "two begins", "two ends", "model 3"]);
  });
});

describe("cancel of a run that a process holds", () => {
  it("makes that process end it when the running tool has finished", async () => {
    const { folder, command } = await runInProgress();
    const { exitCode, stdout } = await folder.pawl("cancel", "r-1");
    expect(exitCode).toBe(0);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
      /^Run r-1 is held by \S+, which was asked to cancel it\. Calls in progress finish first: r-1\/worker#1\.1\. Follow it: pawl tail r-1 --follow $/,
    );

    await folder.logged("one is asked to stop");
    expect(await statusOf(folder, "r-1")).toBe("running");
    folder.remove("hold-one");
    const ended = await command.ended();
    expect({ ...ended, stderr: ended.stderr.split("\n").slice(-3) }).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: [
        "! run r-1 was cancelled; kept: 1 model call, 1 receipt, 15 tokens",
        "resume with: pawl resume r-1",
        "",
      ],
    });
    expect(folder.log).toEqual(["model 1", "one begins", "one is asked to stop", "one ends"]);
    expect(await statusOf(folder, "r-1")).toBe("cancelled");

    const again = await here(folder, "cancel", "r-1");
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("was already cancelled") });
    expect(await here(folder, "resume", "r-1")).toMatchObject({ exitCode: 0, stdout: "All is done.\n" });
    expect(folder.log.filter((line) => line === "one begins")).toHaveLength(1);
  });
});

describe("cancel", () => {
  it("ends a run that no worker holds, and reports what stays unknown", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [MAILING] });
    const { exitCode, stdout } = await pawl(["cancel", "q-1"], folder);
    expect([exitCode, stdout]).toEqual([
      0,
      "Run q-1 is cancelled. No tool call was in progress.\nIt can be resumed:\n  pawl resume q-1\n",
    ]);
    const again = await pawlJson(["cancel", "q-1"], folder);
    expect(again).toMatchObject({ exitCode: 0, document: { kind: "over", run: { status: "cancelled" } } });
  });

  it("cannot end a succeeded run", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { exitCode, stdout } = await pawl(["cancel", "q-1"], folder);
    expect([exitCode, stdout]).toEqual([
      1,
      "Run q-1 has already succeeded, and cannot be cancelled.\nShow it:\n  pawl show q-1\n",
    ]);
  });

  it("asks the worker that holds the run, and names the calls in progress", async () => {
    const folder = cliFolder();
    const [started, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = tool({
      name: "slow",
      description: "Takes its time.",
      inputSchema: z.object({}),
      execute: async () => {
        started.resolve();
        await finish.promise;
        return "done";
      },
    });
    const pipeline = Pipeline.of(
      "report",
      Step.run("work", (_input, ctx) => ctx.call(slow, {})),
    );
    await folder.withStore(async (store) => {
      const running = new Runner(pipeline, { store }).run("x", { runId: "q-1" });
      await started.promise;
      const { exitCode, document } = await pawlJson(["cancel", "q-1"], folder);
      expect([exitCode, document]).toMatchObject([
        0,
        { kind: "requested", underWay: ["q-1/work#0.1"], next: [{ commands: ["pawl tail q-1 --follow"] }] },
      ]);
      finish.resolve();
      await running;
    });
  });
});

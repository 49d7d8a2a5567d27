// `pawl top`: once, as a document, and live on a terminal.

import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { CliContext } from "../../../src/cli/context/cli-context.ts";
import { runCommandLine } from "../../../src/cli/program.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { workerReport } from "../../../src/testing/store/runs/live-workers.ts";
import { queuedRun } from "../../../src/testing/store/runs/queue.ts";
import { pawl, pawlJson, recordingContext } from "../recording-context.ts";
import { cliFolder, MAILING, runSamples, SEARCHING } from "../sample-runs.ts";
import { TerminalEmulator } from "../terminal-emulator.ts";

async function fill(store: Store): Promise<void> {
  const later = Date.now() + 3_600_000;
  await store.enqueueRun(queuedRun("r-1"));
  await store.enqueueRun(queuedRun("r-2", { queue: "mail" }));
  for (let n = 0; n < 3; n++) await store.enqueueRun(queuedRun(`s-${n}`, { notBefore: later }));
  await store.enqueueRun(queuedRun("held"));
  await store.claimRun("held", { leaseMs: 30_000, from: ["queued"] });
  await store.reportWorker(workerReport("w-1", { runIds: ["held"], version: "v7" }));
}

/** A user at a terminal that shows what `pawl top` writes. */
function atTerminal(cwd: string, columns = 80) {
  const terminal = new TerminalEmulator(columns);
  const keys = new PassThrough();
  const { context, interrupt } = recordingContext({ cwd });
  const watching: CliContext = {
    ...context,
    stdout: terminal.output,
    stdin: { isTerminal: true, stream: keys },
  };
  const sees = async (text: string) => {
    while (!terminal.rows.join("\n").includes(text)) await sleep(5);
  };
  return { terminal, keys, interrupt, context: watching, sees };
}

describe("top", () => {
  it("prints queues, workers, held runs and waits once, where there is no terminal", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    const { exitCode, stdout } = await folder.withStore(async (store) => {
      await fill(store);
      return pawl(["top"], folder);
    });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^pawl top {2}\d\d:\d\d:\d\d {2}file:.*\n1 worker · 1 of 8 runs · /);
    expect(stdout).toMatch(/\n {2}default +1 +\d\.\d s +1 +3 +\d/);
    expect(stdout).toMatch(/\n {2}mail +1 +\d\.\d s +0 +0\n/);
    expect(stdout).toMatch(/\n {2}db-1\/7 +v7 +1\/8 .* ago\n/);
    expect(stdout).toMatch(/\n {2}held +report +db-1\/7 +\d\.\d s +\d\.\d s\n/);
    expect(stdout).toMatch(/\n {2}approval +1 +\d+\.\d s +q-1~1\n/);
  });

  it("is one document with --json", async () => {
    const folder = cliFolder();
    await folder.withStore(fill);
    const { exitCode, document } = await pawlJson<object>(["top"], { ...folder, isTerminal: true });
    expect(exitCode).toBe(0);
    expect(document).toMatchObject({
      at: expect.stringMatching(/Z$/) as string,
      ready: [
        { queue: "default", pipeline: "report", ready: 1 },
        { queue: "mail", ready: 1 },
      ],
      sleeping: [{ queue: "default", sleeping: 3 }],
      running: [{ queue: "default", running: 1 }],
      // Its store was closed in good order.
      held: [{ runId: "held", owner: null, silentMs: expect.any(Number) as number }],
      waits: [],
      workers: [
        { workerId: "w-1", host: "db-1", facts: { version: "v7" }, claimedPerMin: expect.any(Number) },
      ],
    });
  });

  it("says that no worker is there, and of a dead one for how long it was not seen", async () => {
    const folder = cliFolder();
    await folder.withStore((store) => store.enqueueRun(queuedRun("r-1")));
    expect((await pawl(["top"], folder)).stdout).toMatch(/no worker takes runs: `pawl worker` starts one/);
    const earlier = await openStore(`file:${folder.file}`, { now: () => Date.now() - 40_000 });
    await earlier.reportWorker(workerReport("w-1", { runIds: [] }));
    await earlier.close();
    const { stdout } = await pawl(["top", "--once"], { ...folder, isTerminal: true });
    expect(stdout).toMatch(/^pawl top .*\n0 workers · 0 claimed\/min/);
    expect(stdout).toMatch(/db-1\/7 .* not seen for 4\d s\n/);
  });

  it("names the process that holds a run before that has reported it, on a narrow terminal too", async () => {
    const folder = cliFolder();
    const runId = "01a1ec15-c13b-73ab-b402-8a74246df418";
    await folder.withStore(async (store) => {
      await store.enqueueRun(queuedRun(runId));
      await store.claimRun(runId, { leaseMs: 30_000, from: ["queued"] });
      const { stdout } = await pawl(["top", "--once"], { ...folder, isTerminal: true, columns: 46 });
      expect(stdout).toMatch(/\n {2}01a1ec15-c13b-73a\S*… +\S+ +\d\.\d s\n/);
      const wide = await pawl(["top", "--once"], { ...folder, isTerminal: true, columns: 200 });
      expect(wide.stdout).toMatch(new RegExp(`\\n  ${runId}  report  +\\S+/${process.pid}  `));
    });
  });

  it("redraws in place on a terminal until q is pressed", async () => {
    const folder = cliFolder();
    await folder.withStore(async (store) => {
      await fill(store);
      const { terminal, keys, context, sees } = atTerminal(folder.cwd);
      const ended = runCommandLine(["top"], context);
      await sees("Held runs");
      expect(terminal.isCursorShown).toBe(false);
      const height = terminal.rows.length;
      await store.enqueueRun(queuedRun("r-3", { queue: "urgent" }));
      await sees("urgent");
      expect(terminal.rows).toHaveLength(height + 1);
      expect(terminal.rows.filter((row) => row.startsWith("pawl top"))).toHaveLength(1);
      keys.write("q");
      expect(await ended).toBe(0);
      expect(terminal.isCursorShown).toBe(true);
    });
  });

  it("fits a narrow terminal, and ends with Ctrl-C", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING, MAILING] });
    await folder.withStore(fill);
    for (const columns of [80, 60, 40, 24]) {
      const { terminal, interrupt, context, sees } = atTerminal(folder.cwd, columns);
      const ended = runCommandLine(["top"], context);
      await sees("Waits");
      await sees("approval");
      interrupt();
      expect(await ended).toBe(0);
      const written = terminal.writes.filter((text) => text.includes("Waits")).join("");
      expect(written).not.toContain("\u001b[3");
      for (const row of terminal.rows) expect(row.length).toBeLessThanOrEqual(columns);
      expect(terminal.rows.filter((row) => row.startsWith("Queues"))).toHaveLength(1);
    }
  });
});

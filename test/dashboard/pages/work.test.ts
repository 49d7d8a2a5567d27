import { describe, expect, it } from "vitest";
import { type Held, heldRuns } from "../../../dashboard/src/pages/health/held-runs.ts";
import { queueRows } from "../../../dashboard/src/pages/workers/queue-rows.ts";

const ready = (queue: string, pipeline: string, count: number, oldestMs: number) => ({
  queue,
  pipeline,
  ready: count,
  oldestMs,
});
const worker = (queues: string[], pipelines: string[], isSilent = false) => ({ queues, pipelines, isSilent });

describe("the queues", () => {
  const activity = {
    ready: [
      ready("mail", "desk", 4, 90),
      ready("default", "report", 12, 10),
      ready("default", "triage", 3, 40),
    ],
    sleeping: [{ queue: "default", sleeping: 7, nextInMs: 260 }],
    running: [{ queue: "batch", running: 2 }],
  };

  it("add up their pipelines, with the oldest run of all", () => {
    const rows = queueRows(activity, [worker(["default", "mail"], ["report", "triage", "desk"])]);
    expect(
      rows.map(({ queue, ready: depth, oldestMs, running }) => [queue, depth, oldestMs, running]),
    ).toEqual([
      ["batch", 0, 0, 2],
      ["default", 15, 40, 0],
      ["mail", 4, 90, 0],
    ]);
    expect(rows.flatMap(({ untaken }) => untaken)).toEqual([]);
  });

  it("name what no worker takes: of another queue, another pipeline, or one that is silent", () => {
    const rows = queueRows(activity, [worker(["default"], ["report"]), worker(["mail"], ["desk"], true)]);
    expect(rows.map(({ queue, untaken }) => [queue, untaken])).toEqual([
      ["batch", []],
      ["default", ["triage"]],
      ["mail", ["desk"]],
    ]);
  });
});

describe("the runs that processes hold", () => {
  const held = (runId: string, owner: string | null, silentMs: number, isInterrupted = false): Held => ({
    runId,
    pipeline: "report",
    queue: "default",
    owner,
    heldMs: 1_000,
    silentMs,
    leaseMs: 30_000,
    isInterrupted,
  });

  it("are grouped by their owner, and those that nobody took stand apart, the longest first", () => {
    const { owners, left } = heldRuns([
      held("r-1", "web-1/7/x", 10),
      held("r-2", "web-2/8/y", 10),
      held("r-3", "web-2/8/y", 10),
      held("r-4", "web-3/9/z", 40_000, true),
      held("r-5", null, 90_000, true),
    ]);
    expect(owners.map(({ process, runs }) => [process, runs.map(({ runId }) => runId)])).toEqual([
      ["web-2/8", ["r-2", "r-3"]],
      ["web-1/7", ["r-1"]],
    ]);
    expect(left.map(({ runId }) => runId)).toEqual(["r-5", "r-4"]);
  });
});

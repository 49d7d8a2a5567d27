import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import type { CheckpointDeath } from "./harness/dying-checkpoints.ts";
import type { CrashSite } from "./harness/worker-order.ts";
import { TABLES } from "./scenarios/planned-scenario.ts";
import { CHECKPOINTS, type Checkpoints, execute, PlannedWork, REQUEST } from "./scenarios/planned-work.ts";

type Kill = { readonly crash?: CrashSite; readonly death?: CheckpointDeath };

/** The server drops nothing: what is sent to it twice happens twice. */
async function killed(checkpoints: Checkpoints, kill: Kill): Promise<PlannedWork> {
  const work = await PlannedWork.begin("reconcile", { marks: "at once" });
  await work.folder.killed({ ...work.order(execute(checkpoints)), ...kill });
  return work;
}

/** The run of the worker's stored request. */
async function storedRunId({ folder }: PlannedWork, checkpoints: Checkpoints): Promise<string> {
  const kept =
    checkpoints === "file"
      ? JSON.parse(readFileSync(join(folder.path, "workers/worker-001/request.json"), "utf8"))
      : await folder.withStore((store) => store.findWork("worker-001"));
  return (kept as { readonly runId: string }).runId;
}

describe("a worker killed before its first milestone", () => {
  type Start = Kill & { readonly where: string; readonly checkpoints: Checkpoints; readonly booked: number };
  const starts: readonly Start[] = [
    { where: "request stored", death: { operation: "begin", when: "after" }, checkpoints: "file", booked: 0 },
    {
      where: "request stored",
      death: { operation: "begin", when: "after" },
      checkpoints: "database",
      booked: 0,
    },
    { where: "run created", crash: { point: "run:created" }, checkpoints: "file", booked: 0 },
    { where: "planned", crash: { point: "turn:committed", turn: 1 }, checkpoints: "database", booked: 0 },
    { where: "booked", crash: { point: "tool:executed", turn: 2 }, checkpoints: "file", booked: 1 },
    {
      where: "booked, with a receipt",
      crash: { point: "tool:receipt-stored", turn: 2 },
      checkpoints: "database",
      booked: 1,
    },
    {
      where: "marked",
      crash: { point: "tool:executed", occurrence: 3, turn: 2 },
      checkpoints: "file",
      booked: 1,
    },
  ];

  test.for(sampled(starts, 3, 1))(
    "starts again with the same request and the same run: $where (checkpoints: $checkpoints)",
    async (kill) => {
      const { checkpoints, booked } = kill;
      const work = await killed(checkpoints, kill);
      const runId = await storedRunId(work, checkpoints);
      const asked = work.prompts.length;
      expect(work.server.effects).toEqual(TABLES.slice(0, booked));
      const result = await work.execute(checkpoints);

      expect(result).toMatchObject({ runId, request: REQUEST });
      await work.assertDone(result);
      expect(work.prompts[asked]).toMatchObject({ done: [], remaining: [], asks: ["planning_setup_plan"] });
      expect(work.prompts).toHaveLength(asked + 6);
      expect(await work.isCompleted(checkpoints)).toBe(true);
      expect(work.folder.lines("warned")).toEqual([]);
    },
  );

  test.for(sampled(CHECKPOINTS))(
    "that has stored nothing yet has started nothing (checkpoints: %s)",
    async (checkpoints) => {
      const work = await killed(checkpoints, { death: { operation: "begin", when: "before" } });
      expect(await work.folder.withStore((store) => store.listRuns())).toEqual([]);
      const request = { objective: "Book them all." };
      const result = await work.execute(checkpoints, { request });
      expect(result).toMatchObject({ request, resumed: false });
      await work.assertDone(result);
      expect(work.folder.lines("warned")).toEqual([]);
    },
  );
});

describe("a worker killed between the end of its run and its completed marker", () => {
  const ends: readonly (Kill & { readonly where: string; readonly checkpoints: Checkpoints })[] = [
    { where: "run:before-finish", crash: { point: "run:before-finish" }, checkpoints: "file" },
    { where: "run:finished", crash: { point: "run:finished" }, checkpoints: "database" },
    {
      where: "before the marker",
      death: { operation: "markCompleted", when: "before" },
      checkpoints: "file",
    },
    {
      where: "before the marker",
      death: { operation: "markCompleted", when: "before" },
      checkpoints: "database",
    },
  ];

  test.for(sampled(ends, 2, 1))(
    "returns the result without another call, and writes the marker: $where (checkpoints: $checkpoints)",
    async (kill) => {
      const { checkpoints } = kill;
      const work = await killed(checkpoints, kill);
      const before = { witness: work.folder.witness(), log: [...work.server.log] };
      expect(work.server.effects).toEqual(TABLES);
      expect(await work.isCompleted(checkpoints)).toBe(false);
      const result = await work.execute(checkpoints);

      await work.assertDone(result);
      expect(result).toMatchObject({ request: REQUEST, resumed: true });
      expect({ witness: work.folder.witness(), log: work.server.log }).toEqual(before);
      expect(await work.isCompleted(checkpoints)).toBe(true);
    },
  );
});

test.for(sampled(CHECKPOINTS, 2, 1))(
  "an equal request after a completed one is a new run (checkpoints: %s)",
  async (checkpoints) => {
    // Killed right after the marker: the request is completed, although the result was not returned.
    const work = await killed(checkpoints, { death: { operation: "markCompleted", when: "after" } });
    const first = await storedRunId(work, checkpoints);
    const second = await work.execute(checkpoints);
    expect(second).toMatchObject({ status: "succeeded", resumed: false });
    expect(second.runId).not.toBe(first);
    expect(work.server.effects).toEqual([...TABLES, ...TABLES]);
    expect(work.server.lookUps).toEqual([]);
    expect(work.prompts[6]).toMatchObject({ done: [], remaining: [], asks: ["planning_setup_plan"] });
    const runs = await work.folder.withStore((store) => store.listRuns());
    expect(new Set(runs.map(({ runId }) => runId))).toEqual(new Set([first, second.runId]));
    expect(runs.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
  },
);

test.for(sampled(CHECKPOINTS))(
  "another request does not replace an incomplete one (checkpoints: %s)",
  async (checkpoints) => {
    const work = await killed(checkpoints, { crash: { point: "tool:executed", turn: 4 } });
    const runId = await storedRunId(work, checkpoints);
    const request = { objective: "Book them again." };
    const kept = await work.execute(checkpoints, { request });
    expect(kept).toMatchObject({ runId, request: REQUEST });
    await work.assertDone(kept);
    expect(work.folder.lines("warned")).toEqual([
      { kind: "warned", message: expect.stringContaining(`run ${runId}`) },
    ]);

    const next = await work.execute(checkpoints, { request });
    expect(next).toMatchObject({ status: "succeeded", request, resumed: false });
    expect(next.runId).not.toBe(runId);
    expect(work.server.effects).toEqual([...TABLES, ...TABLES]);
    expect(work.folder.lines("warned")).toHaveLength(1);
  },
);

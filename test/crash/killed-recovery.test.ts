import { describe, expect, test } from "vitest";
import type { RecoveryClass } from "../../src/index.ts";
import { sampled } from "../full-test.ts";
import type { CrashSite } from "./harness/worker-order.ts";
import { TABLES } from "./scenarios/planned-scenario.ts";
import {
  ALL_BUT_THE_THIRD,
  BOTH_DONE,
  CHECKPOINTS,
  type Checkpoints,
  execute,
  PlannedWork,
  REQUEST,
  SETTLED,
  stepAsks,
} from "./scenarios/planned-work.ts";

/** Plans in turn 1, books and marks in turns 2 to 5: the third booking is in turn 4, and again in the turns after it. */
const PLAN = { marks: "at once" } as const;
const TURN = 4;
const IN_THE_THIRD: CrashSite = { point: "tool:executed", turn: TURN };

type Kill = CrashSite & {
  readonly recovery: RecoveryClass;
  readonly checkpoints: Checkpoints;
  /** The number of finished steps in the first prompt of the third process. */
  readonly done?: number;
};

/** In the order in which a process reaches them that resumes from a milestone with a call in doubt in the open turn. */
const KILLS: readonly Kill[] = [
  // The call in doubt is settled. The calls after it are abandoned with the new lineage.
  { point: "tool:started", turn: TURN, recovery: "keyed", checkpoints: "database" },
  { point: "tool:executed", turn: TURN, recovery: "keyed", checkpoints: "file" },
  { point: "tool:before-reconcile", turn: TURN, recovery: "reconcile", checkpoints: "database" },
  { point: "tool:reconciled", turn: TURN, recovery: "reconcile", checkpoints: "file" },
  { point: "tool:receipt-stored", turn: TURN, recovery: "keyed", checkpoints: "file" },
  { point: "tool:receipt-stored", turn: TURN, recovery: "keyed", checkpoints: "database" },
  // It is settled, before and after the new lineage begins.
  { point: "lineage:before-begin", recovery: "keyed", checkpoints: "file" },
  { point: "lineage:begun", recovery: "reconcile", checkpoints: "database" },
  // In the first turn of that lineage: the booking is requested again, and reuses its receipt.
  { point: "turn:journaled", turn: TURN + 1, recovery: "reconcile", checkpoints: "file" },
  { point: "turn:before-commit", turn: TURN + 1, recovery: "keyed", checkpoints: "database" },
  { point: "turn:committed", turn: TURN + 1, recovery: "keyed", checkpoints: "file" },
  { point: "turn:committed", turn: TURN + 1, recovery: "keyed", checkpoints: "database", done: 3 },
];

describe("a process killed while it resumes from a milestone", () => {
  test.for(sampled(KILLS, 3))(
    "leaves it to the next one, after $point in turn $turn ($recovery, checkpoints: $checkpoints)",
    async ({ recovery, checkpoints, done = 2, ...crash }) => {
      const work = await killedInTheThird(recovery, checkpoints);
      await work.folder.killed({ ...work.order(execute(checkpoints)), crash });
      const asked = work.prompts.length;
      const result = await work.execute(checkpoints);

      await work.assertDone(result);
      expect(work.prompts[asked]).toMatchObject({
        done: TABLES.slice(0, done),
        remaining: TABLES.slice(done),
      });
      expect(await work.resumedFrom(result.runId)).toEqual(["milestone", "milestone"]);
      expect(await work.isCompleted(checkpoints)).toBe(true);
    },
  );

  const waits = [
    { point: "run:before-wait", checkpoints: "file" },
    { point: "run:waiting", checkpoints: "database" },
  ] as const;

  test.for(sampled(waits))(
    "asks a person once, after $point (checkpoints: $checkpoints)",
    async ({ point, checkpoints }) => {
      const work = await killedInTheThird("opaque", checkpoints);
      await work.folder.killed({ ...work.order(execute(checkpoints)), crash: { point } });
      const asking = await work.execute(checkpoints);
      expect(asking).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt", attempt: 1 }] });
      const result = await work.execute(checkpoints, { answers: { inDoubt: SETTLED } });

      await work.assertDone(result, { recorded: ALL_BUT_THE_THIRD });
      expect(work.server.requests).toBe(4);
      const waits = await work.folder.withStore((store) => store.listWaits(result.runId));
      expect(waits.map(({ status }) => status)).toEqual(["answered"]);
    },
  );

  test.for(sampled(CHECKPOINTS, 2, 1))(
    "at the start of each lineage still resumes in the end (checkpoints: %s)",
    async (checkpoints) => {
      const work = await killedInTheThird("reconcile", checkpoints);
      const order = work.order(execute(checkpoints));
      for (const point of ["lineage:begun", "lineage:before-begin", "lineage:begun"] as const)
        await work.folder.killed({ ...order, crash: { point } });
      const asked = work.prompts.length;
      const result = await work.execute(checkpoints);

      await work.assertDone(result);
      expect(work.prompts[asked]).toMatchObject(BOTH_DONE);
      const lineages = await work.folder.withStore((store) => store.listLineages(result.runId));
      expect(lineages.map(({ lineage, checkpoint }) => [lineage, checkpoint])).toEqual([
        [1, 2],
        [2, 2],
        [3, 2],
      ]);
    },
  );
});

test.for([
  // The third booking is committed and not marked: only the old lineage has it, and its session.
  { point: "lineage:before-begin", asks: [...stepAsks(3).slice(1), ...stepAsks(4), []] },
  { point: "lineage:begun", asks: [...stepAsks(3), ...stepAsks(4), []] },
] as const)("a run that is resumed by turn continues the current lineage, after $point", async (kill) => {
  const work = await PlannedWork.begin("keyed");
  const act = { do: "resume", runId: "planned-1" } as const;
  const run = work.order({ do: "run", input: REQUEST, runId: "planned-1" });
  await work.folder.killed({ ...run, crash: { point: "turn:committed", turn: 6 } });
  const back = work.order({ ...act, from: "milestone" });
  await work.folder.killed({ ...back, crash: { point: kill.point } });
  const asked = work.prompts.length;
  const result = await work.folder.result(work.order(act));

  await work.assertDone(result);
  expect(work.prompts[asked]).toMatchObject(BOTH_DONE);
  expect(work.prompts.slice(asked).map(({ asks }) => asks)).toEqual(kill.asks);
});

const LINEAGES: readonly { readonly recovery: RecoveryClass; readonly checkpoints: Checkpoints }[] = [
  { recovery: "keyed", checkpoints: "file" },
  { recovery: "reconcile", checkpoints: "database" },
];

test.for(sampled(LINEAGES, 2, 1))(
  "a process killed in the third step of every lineage books it once ($recovery, checkpoints: $checkpoints)",
  async ({ recovery, checkpoints }) => {
    const work = await killedInTheThird(recovery, checkpoints);
    const order = work.order(execute(checkpoints));
    // Each lineage begins with the turn after the one that was left open.
    const points = ["turn:journaled", "tool:executed", "turn:before-commit"] as const;
    for (const [i, point] of points.entries())
      await work.folder.killed({ ...order, crash: { point, turn: TURN + 1 + i } });
    const result = await work.execute(checkpoints);

    await work.assertDone(result);
    const inTheThird = work.prompts.filter(({ asks }) => asks[0] === "book garden");
    expect(inTheThird).toHaveLength(points.length + 2);
    for (const line of inTheThird) expect(line).toMatchObject(BOTH_DONE);
    const calls = await work.folder.withStore((store) => store.listToolCalls(result.runId));
    const bookings = calls.filter(({ tool, request }) => tool === "book" && tableOf(request) === "garden");
    expect(bookings.map(({ status }) => status)).toEqual([
      "succeeded",
      "cancelled",
      "cancelled",
      "cancelled",
      "deduplicated",
    ]);
  },
);

function tableOf(request: unknown): unknown {
  return (request as { readonly table?: unknown }).table;
}

async function killedInTheThird(recovery: RecoveryClass, checkpoints: Checkpoints): Promise<PlannedWork> {
  const work = await PlannedWork.begin(recovery, PLAN);
  await work.folder.killed({ ...work.order(execute(checkpoints)), crash: IN_THE_THIRD });
  expect(work.server.effects).toEqual(TABLES.slice(0, 3));
  return work;
}

import { beforeAll, describe, expect, test } from "vitest";
import { CRASH_POINTS, type CrashPoint } from "../../src/testing/index.ts";
import { CrashFolder } from "./crash-folder.ts";
import type { CheckpointDeath } from "./dying-checkpoints.ts";
import { EffectServer } from "./effect-server.ts";
import { LEDGER_POINTS } from "./ledger-points.ts";
import {
  CHECKPOINTS,
  type Checkpoints,
  execute,
  PlannedWork,
  plannedVariant,
  REQUEST,
} from "./planned-work.ts";
import type { CrashSite } from "./worker-order.ts";

/** Plans in turn 1, books and marks in turns 2 to 5, tells of it in turn 6. */
const PLAN = { marks: "at once" } as const;
const [PLANS, FIRST, THIRD, LAST] = [1, 2, 4, 6];

/** See killed-recovery.test.ts. */
const LINEAGE_POINTS = ["lineage:before-begin", "lineage:begun"] as const satisfies CrashPoint[];

type Point = { readonly point: CrashPoint; readonly occurrence?: number };

const BEFORE_THE_FIRST_TURN: readonly Point[] = [{ point: "run:created" }, { point: "step:begun" }];

const IN_THE_TURN_THAT_PLANS: readonly Point[] = [
  { point: "turn:before-open" },
  { point: "turn:opened" },
  { point: "model:before-request" },
  { point: "model:answered" },
  { point: "turn:before-journal" },
  { point: "turn:journaled" },
  { point: "tool:before-execute" },
  { point: "tool:executed" },
  { point: "turn:before-commit" },
  { point: "turn:committed" },
];

/** Three calls, one at a time: a booking, a look, and the mark. */
const IN_A_TURN_THAT_BOOKS: readonly Point[] = [
  { point: "model:before-request" },
  { point: "model:answered" },
  { point: "turn:before-journal" },
  { point: "turn:journaled" },
  ...times("tool:before-execute", 3),
  ...times("tool:executed", 3),
  ...times("tool:before-receipt", 2),
  ...times("tool:receipt-stored", 2),
  ...times("tool:before-start", 2),
  ...times("tool:started", 2),
  { point: "turn:before-commit" },
  { point: "turn:committed" },
];

/** The booking was sent and has no receipt: it is sent again with its key, and the server drops it. */
const IN_DOUBT = new Set(
  (["tool:executed", "tool:before-receipt", "tool:before-start"] as const).map((point) =>
    nameOf({ point, occurrence: 1, turn: THIRD }),
  ),
);

/** Where the first milestone is near: there is nothing to go back to but the beginning. */
const AROUND_THE_FIRST_MILESTONE: readonly Point[] = [
  { point: "tool:executed", occurrence: 3 },
  { point: "turn:before-commit" },
  { point: "turn:committed" },
];

const IN_THE_LAST_TURN: readonly Point[] = [
  { point: "model:before-request" },
  { point: "model:answered" },
  { point: "turn:before-commit" },
  { point: "turn:committed" },
];

const AFTER_THE_LAST_TURN: readonly Point[] = [
  { point: "step:before-finish" },
  { point: "step:finished" },
  { point: "run:before-finish" },
  { point: "run:finished" },
];

/** Points outside of turns are reached with turn 0, whichever turn is next to them. */
const SITES: readonly CrashSite[] = [
  ...BEFORE_THE_FIRST_TURN.map((point) => ({ ...point, turn: 0 })),
  ...IN_THE_TURN_THAT_PLANS.map((point) => ({ ...point, turn: PLANS })),
  ...AROUND_THE_FIRST_MILESTONE.map((point) => ({ ...point, turn: FIRST })),
  ...IN_A_TURN_THAT_BOOKS.map((point) => ({ ...point, turn: THIRD })),
  ...IN_THE_LAST_TURN.map((point) => ({ ...point, turn: LAST })),
  ...AFTER_THE_LAST_TURN.map((point) => ({ ...point, turn: 0 })),
];

const KILLS = SITES.map((crash, i) => ({
  crash,
  place: nameOf(crash),
  checkpoints: CHECKPOINTS[i % 2] ?? "file",
}));

let reached: readonly CrashSite[];

beforeAll(async () => {
  const folder = CrashFolder.make();
  const server = await EffectServer.listen({ keyed: true });
  try {
    const work = new PlannedWork(folder, server, plannedVariant(server, "keyed", PLAN));
    const order = work.order(execute("file"));
    await work.assertDone(await folder.result({ ...order, trace: true }));
    reached = sitesOf(folder);
  } finally {
    await server.close();
    await folder.remove();
  }
});

describe("a worker with a plan that is killed at any point", () => {
  test.for(KILLS)("does each thing once, after $place (checkpoints: $checkpoints)", async (kill) => {
    const { crash, checkpoints } = kill;
    const work = await PlannedWork.begin("keyed", PLAN);
    await work.folder.killed({ ...work.order(execute(checkpoints)), crash });
    const isSentTwice = IN_DOUBT.has(nameOf(crash));
    await assertGoesOn(work, checkpoints, milestonesAt(crash, checkpoints), isSentTwice);
  });

  test.for<CheckpointDeath & { readonly milestones: number }>([
    // The turn is committed by then. Until the file is there, the milestone before it is the last one.
    { operation: "persistCheckpoint", when: "before", occurrence: 1, milestones: 0 },
    { operation: "persistCheckpoint", when: "after", occurrence: 1, milestones: 1 },
    { operation: "persistCheckpoint", when: "before", occurrence: 4, milestones: 3 },
    { operation: "persistCheckpoint", when: "after", occurrence: 4, milestones: 4 },
  ])("does each thing once, $when it writes its milestone $occurrence", async ({ milestones, ...death }) => {
    const work = await PlannedWork.begin("keyed", PLAN);
    await work.folder.killed({ ...work.order(execute("file")), death });
    await assertGoesOn(work, "file", milestones);
  });
});

test("a worker with a plan is killed at every point it reaches, in the turns that are looked at", () => {
  const turns = new Set([0, PLANS, THIRD, LAST]);
  const killedAt = SITES.filter(({ turn }) => turns.has(turn ?? 0)).map(nameOf);
  const passed = reached.filter(({ turn }) => turns.has(turn ?? 0)).map(nameOf);
  expect(killedAt.sort()).toEqual(passed.sort());
  // The others are reached by those alone who go back to a milestone, loop, fail or wait.
  const elsewhere = [...LINEAGE_POINTS, "loop:decided", ...LEDGER_POINTS] as readonly CrashPoint[];
  const points = new Set(SITES.map(({ point }) => point));
  expect(CRASH_POINTS.filter((point) => !points.has(point) && !elsewhere.includes(point))).toEqual([]);
});

/** The next process comes to the end, and finds as many steps done as there are milestones to go back to. */
async function assertGoesOn(
  work: PlannedWork,
  checkpoints: Checkpoints,
  milestones: number | "all done",
  isSentTwice = false,
): Promise<void> {
  const asked = work.prompts.length;
  const result = await work.execute(checkpoints);
  await work.assertDone(result);
  expect(result.request).toEqual(REQUEST);
  expect(await work.isCompleted(checkpoints)).toBe(true);
  const goneOn = work.prompts.slice(asked);
  expect(goneOn.map(({ done }) => done.length)).toEqual(progressFrom(milestones));
  expect(work.server.requests).toBe(isSentTwice ? 5 : 4);
}

/** How many steps each prompt of the next process shows as done; it plans first where there is no milestone. */
function progressFrom(milestones: number | "all done"): number[] {
  if (milestones === "all done") return [];
  const from = Array.from({ length: 5 - milestones }, (_, i) => milestones + i);
  return milestones === 0 ? [0, ...from] : from;
}

function milestonesAt({ point, turn = 0 }: CrashSite, checkpoints: Checkpoints): number | "all done" {
  const isCommitted = point === "turn:committed";
  if (turn === LAST) return isCommitted ? "all done" : 4;
  if (turn === 0) return AFTER_THE_LAST_TURN.some((each) => each.point === point) ? "all done" : 0;
  // A milestone in the store rides in the commit; the file is written after it.
  const isKept = isCommitted && checkpoints === "database";
  return turn === PLANS ? 0 : turn - FIRST + (isKept ? 1 : 0);
}

function times(point: CrashPoint, count: number): Point[] {
  return Array.from({ length: count }, (_, i) => ({ point, occurrence: i + 1 }));
}

function nameOf({ point, turn, occurrence = 1 }: CrashSite): string {
  return `${point} (time ${occurrence}) in turn ${turn}`;
}

/** The places that were passed, each time that they were. */
function sitesOf(folder: CrashFolder): CrashSite[] {
  const counts = new Map<string, number>();
  return folder.lines("reached").map(({ point, turn }) => {
    const occurrence = (counts.get(`${point} ${turn}`) ?? 0) + 1;
    counts.set(`${point} ${turn}`, occurrence);
    return { point: point as CrashPoint, turn, occurrence };
  });
}

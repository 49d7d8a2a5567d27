import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import type { CheckpointDeath } from "./harness/dying-checkpoints.ts";
import type { CrashSite } from "./harness/worker-order.ts";
import { CHECKPOINTS, type Checkpoints, execute, PlannedWork, REQUEST } from "./scenarios/planned-work.ts";

/** Plans in turn 1, books and marks in turns 2 to 5, reports in turn 6. */
const PLAN = { marks: "at once" } as const;
const [PLANS, FIRST, THIRD, LAST] = [1, 2, 4, 6];

/**
 * Points where it matters which milestones exist: around the first one and a later one, with and without its receipts, and
 * at the end. The crash explorer covers every other point.
 */
const SITES: readonly CrashSite[] = [
  { point: "turn:committed", turn: PLANS },
  { point: "tool:executed", occurrence: 3, turn: FIRST },
  { point: "turn:before-commit", turn: FIRST },
  { point: "turn:committed", turn: FIRST },
  { point: "tool:executed", occurrence: 1, turn: THIRD },
  { point: "tool:receipt-stored", occurrence: 2, turn: THIRD },
  { point: "turn:committed", turn: LAST },
  { point: "run:finished", turn: 0 },
];

const KILLS = SITES.map((crash, i) => ({
  crash,
  place: nameOf(crash),
  checkpoints: CHECKPOINTS[i % 2] ?? "file",
}));

describe("a worker with a plan that is killed around its milestones", () => {
  test.for(sampled(KILLS, 3, 1))(
    "does each thing once, after $place (checkpoints: $checkpoints)",
    async (kill) => {
      const { crash, checkpoints } = kill;
      const work = await PlannedWork.begin("keyed", PLAN);
      await work.folder.killed({ ...work.order(execute(checkpoints)), crash });
      // The booking was sent and has no receipt: it is sent again with its key, and the server drops it.
      const isSentTwice = crash.turn === THIRD && crash.point === "tool:executed";
      await assertResumes(work, checkpoints, milestonesAt(crash, checkpoints), isSentTwice);
    },
  );

  const deaths: readonly (CheckpointDeath & { readonly milestones: number })[] = [
    // The turn is already committed. Until the file is written, the milestone before it is the last one.
    { operation: "persistCheckpoint", when: "before", occurrence: 1, milestones: 0 },
    { operation: "persistCheckpoint", when: "after", occurrence: 1, milestones: 1 },
    { operation: "persistCheckpoint", when: "before", occurrence: 4, milestones: 3 },
    { operation: "persistCheckpoint", when: "after", occurrence: 4, milestones: 4 },
  ];

  test.for(sampled(deaths, 3, 2))(
    "does each thing once, $when it writes its milestone $occurrence",
    async ({ milestones, ...death }) => {
      const work = await PlannedWork.begin("keyed", PLAN);
      await work.folder.killed({ ...work.order(execute("file")), death });
      await assertResumes(work, "file", milestones);
    },
  );
});

/** The next process finishes the run, and starts with as many finished steps as there are milestones. */
async function assertResumes(
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
  const afterResume = work.prompts.slice(asked);
  expect(afterResume.map(({ done }) => done.length)).toEqual(progressFrom(milestones));
  expect(work.server.requests).toBe(isSentTwice ? 5 : 4);
}

/** The number of finished steps in each prompt of the next process; without a milestone it plans first. */
function progressFrom(milestones: number | "all done"): number[] {
  if (milestones === "all done") return [];
  const from = Array.from({ length: 5 - milestones }, (_, i) => milestones + i);
  return milestones === 0 ? [0, ...from] : from;
}

function milestonesAt({ point, turn = 0 }: CrashSite, checkpoints: Checkpoints): number | "all done" {
  const isCommitted = point === "turn:committed";
  if (turn === LAST) return isCommitted ? "all done" : 4;
  if (turn === 0) return "all done";
  // A milestone in the store is part of the commit; the file is written after it.
  const isKept = isCommitted && checkpoints === "database";
  return turn === PLANS ? 0 : turn - FIRST + (isKept ? 1 : 0);
}

function nameOf({ point, turn, occurrence = 1 }: CrashSite): string {
  return `${point} (time ${occurrence}) in turn ${turn}`;
}

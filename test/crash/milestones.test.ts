import { describe, expect, test } from "vitest";
import type { RecoveryClass } from "../../src/index.ts";
import { sampled } from "../full-test.ts";
import type { CrashSite, WaitSite } from "./harness/worker-order.ts";
import {
  ALL_BUT_THE_THIRD,
  BOTH_DONE,
  CHECKPOINTS,
  type Checkpoints,
  execute,
  PlannedWork,
  SETTLED,
  stepAsks,
} from "./scenarios/planned-work.ts";

/** The turn that makes the third booking; the next one marks it. */
const TURN = 6;
const THIRD_AND_FOURTH = [...stepAsks(3), ...stepAsks(4), []];

type Place = {
  readonly where: string;
  readonly crash?: CrashSite;
  /** Killed from outside while it waits here. */
  readonly wait?: WaitSite;
  /** The state of the third booking when the process dies: sent or not, and with a receipt or without. */
  readonly leaves: "unsent" | "sent" | "receipt";
  /** The look beside it has had its effect, and its receipt would have been stored by the commit. */
  readonly looked?: true;
};

const PLACES: readonly Place[] = [
  { where: "before the tool", crash: { point: "tool:noted", turn: TURN }, leaves: "unsent" },
  {
    where: "in the tool, before its effect",
    wait: { at: "before-effect", turn: TURN, tool: "book" },
    leaves: "unsent",
  },
  {
    where: "in the tool, after its effect",
    wait: { at: "after-effect", turn: TURN, tool: "book" },
    leaves: "sent",
  },
  { where: "after the tool", crash: { point: "tool:executed", turn: TURN }, leaves: "sent" },
  { where: "before its receipt", crash: { point: "tool:before-receipt", turn: TURN }, leaves: "sent" },
  { where: "after its receipt", crash: { point: "tool:receipt-stored", turn: TURN }, leaves: "receipt" },
  {
    where: "before the commit",
    crash: { point: "turn:before-commit", turn: TURN },
    leaves: "receipt",
    looked: true,
  },
  { where: "after the commit", crash: { point: "turn:committed", turn: TURN }, leaves: "receipt" },
];

/** The expected end of the third booking, by its state when the first process died. */
type Outcome = { readonly requests: number; readonly effects: number; readonly found?: readonly boolean[] };

const OUTCOMES: { readonly [recovery in RecoveryClass]: { readonly [left in Place["leaves"]]: Outcome } } = {
  keyed: {
    unsent: { requests: 1, effects: 1 },
    sent: { requests: 2, effects: 1 },
    receipt: { requests: 1, effects: 1 },
  },
  reconcile: {
    unsent: { requests: 1, effects: 1, found: [false] },
    sent: { requests: 1, effects: 1, found: [true] },
    receipt: { requests: 1, effects: 1 },
  },
  // The tool declares a repetition harmless, and only a call in doubt is repeated.
  repeat: {
    unsent: { requests: 1, effects: 1 },
    sent: { requests: 2, effects: 2 },
    receipt: { requests: 1, effects: 1 },
  },
  opaque: {
    unsent: { requests: 1, effects: 1 },
    sent: { requests: 1, effects: 1 },
    receipt: { requests: 1, effects: 1 },
  },
};

const RECOVERIES = ["keyed", "reconcile", "repeat", "opaque"] as const satisfies RecoveryClass[];

/** Each place with each class; the checkpoints are alternately in files and in the store. */
const KILLS = PLACES.flatMap((place, i) =>
  RECOVERIES.map((recovery, j) => {
    const checkpoints: Checkpoints = (i + j) % 2 === 0 ? "file" : "database";
    return { ...place, place, recovery, checkpoints };
  }),
);

describe("an agent killed inside the third of its four planned steps", () => {
  const isAsked = ({ recovery, leaves }: (typeof KILLS)[number]) =>
    recovery === "opaque" && leaves !== "receipt";

  test.for(
    sampled(
      KILLS.filter((kill) => !isAsked(kill)),
      4,
    ),
  )(
    "resumes from the second, $where ($recovery, checkpoints: $checkpoints)",
    async ({ place, recovery, checkpoints }) => {
      const work = await killedInTheThird(place, recovery, checkpoints);
      const result = await work.execute(checkpoints);

      const { requests, effects, found = [] } = OUTCOMES[recovery][place.leaves];
      const third = Array.from({ length: effects }, () => "garden");
      await work.assertDone(result, { effects: ["window", "terrace", ...third, "cellar"] });
      expect(work.server.requests).toBe(3 + requests);
      expect([...new Set(work.server.lookUps)]).toEqual(found);
      const afterResume = work.prompts.slice(TURN);
      expect(afterResume[0]).toMatchObject(BOTH_DONE);
      expect(afterResume.map(({ asks }) => asks)).toEqual(THIRD_AND_FOURTH);
      expect(work.folder.effects("look", "garden")).toBe(place.looked === true ? 2 : 1);
      expect(work.folder.effects("look")).toBe(place.looked === true ? 5 : 4);
      expect(await work.resumedFrom(result.runId)).toEqual(["milestone"]);
      expect(await work.isCompleted(checkpoints)).toBe(true);
    },
  );

  test.for(sampled(KILLS.filter(isAsked), 3, 1))(
    "waits for a person, $where ($recovery, checkpoints: $checkpoints)",
    async ({ place, checkpoints }) => {
      const work = await killedInTheThird(place, "opaque", checkpoints);
      const [prompts, log] = [work.prompts, [...work.server.log]];
      const asking = await work.execute(checkpoints);
      const [wait] = asking.waits;
      expect(asking).toMatchObject({ status: "waiting", output: null, waits: [{ kind: "in_doubt" }] });
      expect(wait?.subject).toMatchObject({ tool: "book", arguments: { table: "garden" } });
      expect(work.prompts).toEqual(prompts);
      expect(work.server.log).toEqual(log);
      expect(await work.isCompleted(checkpoints)).toBe(false);

      const hasHappened = place.leaves === "sent";
      const answers = { inDoubt: hasHappened ? SETTLED : ({ as: "retry" } as const) };
      const result = await work.execute(checkpoints, { answers });
      await work.assertDone(result, hasHappened ? { recorded: ALL_BUT_THE_THIRD } : {});
      expect(work.server.requests).toBe(4);
      // The answer settles a call of the open turn, so that turn continues, and the model is not asked for it again.
      const afterResume = work.prompts.slice(TURN);
      expect(afterResume[0]).toMatchObject(BOTH_DONE);
      expect(afterResume.map(({ asks }) => asks)).toEqual(THIRD_AND_FOURTH.slice(1));
      expect(await work.isCompleted(checkpoints)).toBe(true);
    },
  );

  test("is killed in every such place with every class, with checkpoints in files and in the store", () => {
    expect(KILLS).toHaveLength(PLACES.length * RECOVERIES.length);
    for (const checkpoints of CHECKPOINTS) {
      const kills = KILLS.filter((kill) => kill.checkpoints === checkpoints);
      expect(new Set(kills.map(({ recovery }) => recovery))).toEqual(new Set(RECOVERIES));
      expect(new Set(kills.map(({ where }) => where))).toEqual(new Set(PLACES.map(({ where }) => where)));
    }
  });
});

async function killedInTheThird(
  { crash, wait, leaves }: Place,
  recovery: RecoveryClass,
  checkpoints: Checkpoints,
): Promise<PlannedWork> {
  const work = await PlannedWork.begin(recovery);
  const { folder } = work;
  const order = work.order(execute(checkpoints));
  if (crash !== undefined) await folder.killed({ ...order, crash });
  if (wait !== undefined) {
    const worker = folder.start({ ...order, wait });
    await folder.untilWaiting();
    worker.kill("SIGKILL");
    expect(await worker.end).toEqual({ kind: "killed" });
  }
  expect(work.prompts.at(-1)).toMatchObject({ ...BOTH_DONE, asks: stepAsks(3)[0] });
  const booked = leaves === "unsent" ? ["window", "terrace"] : ["window", "terrace", "garden"];
  expect(work.server.effects).toEqual(booked);
  expect(await work.isCompleted(checkpoints)).toBe(false);
  return work;
}

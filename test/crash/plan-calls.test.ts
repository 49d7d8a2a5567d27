import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import type { Act, CrashSite } from "./harness/worker-order.ts";
import { type Checkpoints, execute, PlannedWork, REQUEST } from "./scenarios/planned-work.ts";

const RUN: Act = { do: "run", input: REQUEST, runId: "planned-1" };
const BY_TURN: Act = { do: "resume", runId: "planned-1" };
const MARK = "planning_update_step";
const BY_MILESTONE: Act = { ...BY_TURN, from: "milestone" };

/** Both calls have no effects outside, so without a receipt nothing of them remains. */
const BETWEEN: readonly Omit<CrashSite, "turn">[] = [
  { point: "tool:receipt-stored" },
  { point: "tool:executed", occurrence: 2 },
  { point: "turn:before-commit" },
];

describe("two planning calls in one turn, killed after the first has its receipt", () => {
  /** The plan with its first two steps done, and both others made and about to be marked. */
  const SECOND_PAIR = 7;

  test.for(sampled(BETWEEN, 2, 1))(
    "are both done by turn, without another model call ($point)",
    async (site) => {
      const work = await PlannedWork.begin("keyed", { marks: "in pairs" });
      await work.folder.killed({ ...work.order(RUN), crash: { ...site, turn: SECOND_PAIR } });
      await assertOneMark(work);
      const asked = work.prompts.length;
      const result = await work.folder.result(work.order(BY_TURN));

      await work.assertDone(result);
      expect(work.prompts.slice(asked).map(({ asks }) => asks)).toEqual([[]]);
      expect(work.server.requests).toBe(4);
    },
  );

  test.for(sampled(BETWEEN))("are both done again from the milestone ($point)", async (site) => {
    const work = await PlannedWork.begin("keyed", { marks: "in pairs" });
    await work.folder.killed({ ...work.order(RUN), crash: { ...site, turn: SECOND_PAIR } });
    await assertOneMark(work);
    const asked = work.prompts.length;
    const result = await work.folder.result(work.order(BY_MILESTONE));

    await work.assertDone(result);
    const afterResume = work.prompts.slice(asked);
    expect(afterResume[0]).toMatchObject({ done: ["window", "terrace"], remaining: ["garden", "cellar"] });
    expect(afterResume.map(({ asks }) => asks)).toEqual([
      ["book garden", "look garden"],
      ["book cellar", "look cellar"],
      ["planning_update_step 3", "planning_update_step 4"],
      [],
    ]);
    // The marks were made again: the session events of the first ones were lost with their turn.
    const calls = await work.folder.withStore((store) => store.listToolCalls("planned-1"));
    const marks = calls.filter(({ tool, turnIndex }) => tool === MARK && turnIndex > SECOND_PAIR);
    expect(marks.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    // The bookings were requested again and reused their receipts: the server got no request.
    expect(work.server.requests).toBe(4);
    expect(work.folder.effects("look")).toBe(4);
  });

  /** The session events of the first are not applied yet: only its receipt has them. */
  async function assertOneMark(work: PlannedWork): Promise<void> {
    const calls = await work.folder.withStore((store) => store.listToolCalls("planned-1"));
    const marks = calls.filter(({ tool, turnIndex }) => tool === MARK && turnIndex === SECOND_PAIR);
    expect(marks.map(({ receipt }) => receipt?.status)).toEqual(["succeeded", undefined]);
    const plan = await work.plan("planned-1");
    expect(plan?.steps.map(({ status }) => status)).toEqual(["done", "done", "pending", "pending"]);
  }
});

describe("two steps added in one turn, killed after the first has its receipt", () => {
  test.for<{ readonly way: string; readonly act: Act; readonly asks: number }>([
    // Turn 2 has the additions: it is replayed, or requested again with the earlier plan.
    { way: "by turn", act: BY_TURN, asks: 0 },
    { way: "from the beginning", act: BY_MILESTONE, asks: 1 },
  ])("are in the plan once each, $way", async ({ act, asks }) => {
    const work = await PlannedWork.begin("keyed", { adds: true, marks: "at once" });
    await work.folder.killed({ ...work.order(RUN), crash: { point: "tool:receipt-stored", turn: 2 } });
    const asked = work.prompts.length;
    const result = await work.folder.result(work.order(act));

    await work.assertDone(result);
    const additions = work.prompts.slice(asked).filter((line) => line.asks.includes("planning_add_step"));
    expect(additions).toHaveLength(asks);
  });
});

describe("a step that books the same as those before and after it", () => {
  const TABLES = ["window", "window", "window", "window"];

  const kills: readonly { readonly point: CrashSite["point"]; readonly checkpoints: Checkpoints }[] = [
    // Not requested yet, happened without a receipt, happened with one.
    { point: "model:before-request", checkpoints: "file" },
    { point: "tool:executed", checkpoints: "database" },
    { point: "turn:committed", checkpoints: "file" },
  ];

  test.for(sampled(kills))(
    "has its own effect, once, after $point (checkpoints: $checkpoints)",
    async ({ point, checkpoints }) => {
      const work = await PlannedWork.begin("reconcile", { tables: TABLES });
      await work.folder.killed({ ...work.order(execute(checkpoints)), crash: { point, turn: 6 } });
      const result = await work.execute(checkpoints);

      expect(result).toMatchObject({ status: "succeeded", output: `Booked: ${TABLES.join(", ")}.` });
      expect(work.server.effects).toEqual(TABLES);
      expect(new Set(work.server.log.map(({ key }) => key)).size).toBe(4);
    },
  );

  test("has its own effect even if the receipt of the one before it was reused in between", async () => {
    const work = await PlannedWork.begin("reconcile", { tables: TABLES });
    const order = work.order(execute("file"));
    await work.folder.killed({ ...order, crash: { point: "tool:executed", turn: 6 } });
    // Turn 7 requests the third again and reuses its receipt, turn 8 marks it: the fourth is a new call.
    await work.folder.killed({ ...order, crash: { point: "model:before-request", turn: 9 } });
    expect(work.server.effects).toEqual(TABLES.slice(0, 3));
    const result = await work.execute("file");

    expect(result).toMatchObject({ status: "succeeded", output: `Booked: ${TABLES.join(", ")}.` });
    expect(work.server.effects).toEqual(TABLES);
  });
});

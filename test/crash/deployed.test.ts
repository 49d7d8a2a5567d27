import { describe, expect, test } from "vitest";
import type { RecoveryClass } from "../../src/index.ts";
import { sampled } from "../full-test.ts";
import type { Act, CrashSite, Variant } from "./harness/worker-order.ts";
import {
  ALL_BOOKED,
  ALL_BUT_THE_THIRD,
  BOTH_DONE,
  CHECKPOINTS,
  deployed,
  execute,
  PlannedWork,
  REQUEST,
  SETTLED,
  stepAsks,
} from "./scenarios/planned-work.ts";

const RUN: Act = { do: "run", input: REQUEST, runId: "planned-1" };
const RESUME: Act = { do: "resume", runId: "planned-1" };
const MILESTONE: Act = { ...RESUME, from: "milestone", reason: "version 2 was deployed" };
const TURN = 6;
const THIRD_AND_FOURTH = [...stepAsks(3), ...stepAsks(4), []];

describe("a run that is resumed with another prompt and another model", () => {
  const kills: readonly { readonly point: CrashSite["point"]; readonly recovery: RecoveryClass }[] = [
    { point: "turn:journaled", recovery: "keyed" },
    { point: "tool:executed", recovery: "reconcile" },
    { point: "tool:receipt-stored", recovery: "opaque" },
    { point: "turn:committed", recovery: "repeat" },
  ];

  test.for(sampled(kills))(
    "is refused by turn and resumes from the milestone, after $point ($recovery)",
    async (kill) => {
      const work = await PlannedWork.begin(kill.recovery);
      const { folder, server, variant } = work;
      await folder.killed({ ...work.order(RUN), crash: { point: kill.point, turn: TURN } });
      await assertRefused(work, deployed(variant));
      const result = await folder.result(work.order(MILESTONE, deployed(variant)));

      await work.assertDone(result);
      expect(result.resumed).toBe(true);
      const resumed = work.prompts.slice(TURN);
      expect(resumed[0]).toMatchObject(BOTH_DONE);
      expect(resumed.map(({ asks }) => asks)).toEqual(THIRD_AND_FOURTH);
      expect(new Set(resumed.map(({ model }) => model))).toEqual(new Set(["planner-2"]));
      expect(server.effects).toHaveLength(4);
      expect(await attemptsOf(work)).toEqual([
        { resumedFrom: null, reason: null, endStatus: null },
        { resumedFrom: "turn", reason: "interrupted", endStatus: "failed" },
        { resumedFrom: "milestone", reason: "version 2 was deployed", endStatus: "succeeded" },
      ]);
    },
  );

  test("keeps a person's settlement of its call in doubt", async () => {
    const work = await PlannedWork.begin("opaque");
    const { folder, variant } = work;
    await folder.killed({ ...work.order(RUN), crash: { point: "tool:executed", turn: TURN } });
    const asking = await folder.result(work.order(MILESTONE, deployed(variant)));
    expect(asking).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt", attempt: 1 }] });
    await settle(work, asking.waits[0]?.toolCallId ?? undefined);
    await assertRefused(work, deployed(variant));
    const result = await folder.result(work.order(MILESTONE, deployed(variant)));

    await work.assertDone(result, { recorded: ALL_BUT_THE_THIRD });
    expect(work.prompts.slice(TURN).map(({ asks }) => asks)).toEqual(THIRD_AND_FOURTH);
  });

  test.for(sampled(CHECKPOINTS))(
    "resumes automatically under a lasting identity (checkpoints: %s)",
    async (checkpoints) => {
      const work = await PlannedWork.begin("keyed");
      const crash: CrashSite = { point: "tool:executed", turn: TURN };
      await work.folder.killed({ ...work.order(execute(checkpoints)), crash });
      const result = await work.execute(checkpoints, { variant: deployed(work.variant) });

      await work.assertDone(result);
      const resumed = work.prompts.slice(TURN);
      expect(resumed[0]).toMatchObject({ ...BOTH_DONE, model: "planner-2" });
      expect(resumed.map(({ asks }) => asks)).toEqual(THIRD_AND_FOURTH);
    },
  );
});

describe("a new version without the tool whose call is in doubt", () => {
  /** It only looks at the tables, and marks them. */
  const WITHOUT_BOOKING = [
    ["look garden"],
    ["planning_update_step 3"],
    ["look cellar"],
    ["planning_update_step 4"],
    [],
  ];

  const inDoubt = [
    { recovery: "opaque", point: "tool:executed" },
    { recovery: "reconcile", point: "tool:noted" },
  ] as const;

  test.for(sampled(inDoubt, 2, 1))(
    "waits for a person and repeats nothing ($recovery, $point)",
    async ({ recovery, point }) => {
      const work = await PlannedWork.begin(recovery);
      const { folder, server } = work;
      await folder.killed({ ...work.order(RUN), crash: { point, turn: TURN } });
      const before = { log: [...server.log], prompts: work.prompts };
      const next = withoutBooking(work);
      for (const act of [MILESTONE, MILESTONE]) {
        const asking = await folder.result(work.order(act, next));
        expect(asking).toMatchObject({ status: "waiting", output: null });
        expect(asking.waits).toMatchObject([
          { kind: "in_doubt", toolCallId: `planned-1/planned#${TURN}.1`, status: "open" },
        ]);
        expect(asking.waits[0]?.subject).toMatchObject({ tool: "book", arguments: { table: "garden" } });
      }
      expect({ log: server.log, prompts: work.prompts }).toEqual(before);

      await settle(work, `planned-1/planned#${TURN}.1`);
      const result = await folder.result(work.order(MILESTONE, next));
      expect(result).toMatchObject({ status: "succeeded", output: ALL_BOOKED, waits: [] });
      expect(work.prompts.slice(TURN)[0]).toMatchObject(BOTH_DONE);
      expect(work.prompts.slice(TURN).map(({ asks }) => asks)).toEqual(WITHOUT_BOOKING);
      expect(server.log).toEqual(before.log);
      expect((await work.plan("planned-1"))?.status).toBe("completed");
    },
  );

  test.for(sampled(CHECKPOINTS, 2, 1))(
    "does so under a lasting identity too (checkpoints: %s)",
    async (checkpoints) => {
      const work = await PlannedWork.begin("keyed");
      const { folder, server } = work;
      const crash: CrashSite = { point: "tool:executed", turn: TURN };
      await folder.killed({ ...work.order(execute(checkpoints)), crash });
      const before = { log: [...server.log], prompts: work.prompts };
      const variant = withoutBooking(work);
      const asking = await work.execute(checkpoints, { variant });
      expect(asking).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt" }] });
      const { waits } = await work.execute(checkpoints, { variant });
      expect(waits).toEqual(asking.waits);
      expect({ log: server.log, prompts: work.prompts }).toEqual(before);

      const result = await work.execute(checkpoints, { variant, answers: { inDoubt: SETTLED } });
      expect(result).toMatchObject({ status: "succeeded", output: ALL_BOOKED, waits: [] });
      expect(work.prompts.slice(TURN).map(({ asks }) => asks)).toEqual(WITHOUT_BOOKING);
      expect(server.log).toEqual(before.log);
      expect(await work.isCompleted(checkpoints)).toBe(true);
    },
  );
});

/** Continuing the conversation is refused before any call to the model or a tool. */
async function assertRefused({ folder, server }: PlannedWork, variant: Variant): Promise<void> {
  const before = { witness: folder.witness(), log: [...server.log] };
  const error = await folder.error({ scenario: "planned", act: RESUME, variant });
  expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
  const changes = error.details.changes as readonly { readonly what: string }[];
  expect(changes.map(({ what }) => what)).toEqual(["model", "prompt.version"]);
  expect({ witness: folder.witness(), log: server.log }).toEqual(before);
}

async function settle({ folder }: PlannedWork, toolCallId = ""): Promise<void> {
  await folder.withStore((store) => store.settle(toolCallId, SETTLED, { by: "maria" }));
}

function withoutBooking({ variant }: PlannedWork): Variant {
  const { booking } = variant;
  if (booking === undefined) throw new Error("There is no booking to leave out.");
  return { ...deployed(variant), booking: { ...booking, calls: ["look"] } };
}

async function attemptsOf({ folder }: PlannedWork) {
  const attempts = await folder.withStore((store) => store.listAttempts("planned-1"));
  return attempts.map(({ resumedFrom, reason, endStatus }) => ({ resumedFrom, reason, endStatus }));
}

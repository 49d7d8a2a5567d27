import { describe, expect, test } from "vitest";
import type { RecoveryClass, ToolCallRecord } from "../../src/index.ts";
import { sampled } from "../full-test.ts";
import { type CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import { effectServer } from "./harness/effect-server.ts";
import type { Act, BookingVariant, CrashSite, Variant } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "window", runId: "booking-1" };
const RESUME: Act = { do: "resume", runId: "booking-1" };
const BOOKED = "window is booking 1";

/** The caller of the booking: an agent in its first turn, one call at a time, or the code of a step. */
const ASKERS = {
  "an agent": { scenario: "bookings", turn: 1, callId: "booking-1/booking#1" },
  "a code step": { scenario: "bookingsByCode", turn: 0, callId: "booking-1/booking#0" },
} as const;
type Asker = keyof typeof ASKERS;
const ASKER_NAMES = Object.keys(ASKERS) as Asker[];

const RECOVERIES = ["repeat", "keyed", "reconcile", "opaque"] as const satisfies RecoveryClass[];

function variantOf(url: string, recovery: RecoveryClass, more: Partial<BookingVariant> = {}): Variant {
  const calls = ["book", "look"] as const;
  return { maxParallelToolCalls: 1, booking: { server: url, recovery, calls, ...more } };
}

async function bookingOf(folder: CrashFolder): Promise<ToolCallRecord> {
  const calls = await folder.withStore((store) => store.listToolCalls("booking-1"));
  const [call, ...others] = calls.filter(({ tool }) => tool === "book");
  if (call === undefined || others.length > 0) throw new Error("There should be exactly one booking.");
  return call;
}

async function triesOf(folder: CrashFolder) {
  const { toolCallId } = await bookingOf(folder);
  const tries = await folder.withStore((store) => store.listToolCallAttempts("booking-1"));
  return tries
    .filter((each) => each.toolCallId === toolCallId)
    .map(({ attempt, outcome }) => ({ attempt, outcome }));
}

type Cell = {
  readonly recovery: RecoveryClass;
  /** What the server has seen at the end: requests, and their effects. */
  readonly requests: number;
  readonly effects: number;
  readonly attempt: number;
  readonly source?: "reconciled";
  /** The answers to the look-ups, in order. */
  readonly found?: readonly boolean[];
};

/** Killed before the ledger has it as `running`: it was never dispatched, so it is dispatched now, whatever its class. */
describe("a call killed before it is running", () => {
  test.for(sampled(RECOVERIES))("(%s) of an agent runs once", async (recovery) => {
    const [folder, server] = [crashFolder(), await effectServer({ keyed: recovery === "keyed" })];
    // The look comes first, so that the booking must wait.
    const variant = variantOf(server.url, recovery, { calls: ["look", "book"] });
    const crash: CrashSite = { point: "tool:before-start", turn: 1 };
    await folder.killed({ scenario: "bookings", act: RUN, variant, crash });
    expect(await bookingOf(folder)).toMatchObject({ status: "prepared", attempt: 0, receipt: null });
    expect(server.requests).toBe(0);

    const result = await folder.result({ scenario: "bookings", act: RESUME, variant });
    expect(result).toMatchObject({
      status: "succeeded",
      output: `Done: window is free; ${BOOKED}.`,
      resumed: true,
    });
    await assertRanOnce(folder, server.log);
  });

  const others = sampled(RECOVERIES, 2, 1);
  test.for(others)("(%s) of a code step runs once, with the approval that it awaited", async (recovery) => {
    const [folder, server] = [crashFolder(), await effectServer({ keyed: recovery === "keyed" })];
    const variant = variantOf(server.url, recovery, { approval: true });
    const scenario = "bookingsByCode";
    const asked = await folder.result({ scenario, act: RUN, variant });
    expect(asked.waits).toMatchObject([{ kind: "approval", toolCallId: "booking-1/booking#0.1" }]);
    const approve: Act = { do: "answer", runId: "booking-1", answers: { approval: "approve" } };
    await folder.killed({ scenario, act: approve, variant, crash: { point: "tool:before-start" } });
    expect(await bookingOf(folder)).toMatchObject({ status: "prepared", attempt: 0, receipt: null });
    expect(server.requests).toBe(0);

    const result = await folder.result({ scenario, act: RESUME, variant });
    expect(result).toMatchObject({ status: "succeeded", output: `Done: ${BOOKED}.`, waits: [] });
    await assertRanOnce(folder, server.log);
  });

  async function assertRanOnce(folder: CrashFolder, log: readonly unknown[]): Promise<void> {
    const { idempotencyKey: key } = await bookingOf(folder);
    expect(log).toEqual([{ did: "effect", key, what: "window" }]);
    const receipt = { status: "succeeded", source: "tool" };
    expect(await bookingOf(folder)).toMatchObject({ status: "succeeded", attempt: 1, receipt });
    expect(await triesOf(folder)).toEqual([]);
  }
});

describe.for(ASKER_NAMES)("a call of %s", (asker) => {
  const shift = ASKER_NAMES.indexOf(asker);
  const { scenario, turn } = ASKERS[asker];
  const also = asker === "an agent" ? "; window is free" : "";

  const beforeEffect: readonly Cell[] = [
    { recovery: "repeat", requests: 1, effects: 1, attempt: 2 },
    { recovery: "keyed", requests: 1, effects: 1, attempt: 2 },
    { recovery: "reconcile", requests: 1, effects: 1, attempt: 2, found: [false] },
  ];
  test.for(sampled(beforeEffect, 2, shift))(
    "that is $recovery, killed after it is running and before its effect, has it",
    async (cell) => {
      const [folder, server] = [crashFolder(), await effectServer({ keyed: cell.recovery === "keyed" })];
      const variant = variantOf(server.url, cell.recovery);
      await folder.killed({ scenario, act: RUN, variant, crash: { point: "tool:noted", turn } });
      expect(await bookingOf(folder)).toMatchObject({ status: "running", attempt: 1, receipt: null });
      expect(server.log).toEqual([]);
      await assertResumes(folder, server, variant, cell, [1]);
    },
  );

  const afterEffect: readonly Cell[] = [
    // The only class, and the only place, where an effect happens twice: the tool declares that harmless.
    { recovery: "repeat", requests: 2, effects: 2, attempt: 2 },
    { recovery: "keyed", requests: 2, effects: 1, attempt: 2 },
    { recovery: "reconcile", requests: 1, effects: 1, attempt: 1, source: "reconciled", found: [true] },
  ];
  test.for(sampled(afterEffect, 2, shift + 1))(
    "that is $recovery, killed after its effect and before its receipt, is not lost",
    async (cell) => {
      const [folder, server] = [crashFolder(), await effectServer({ keyed: cell.recovery === "keyed" })];
      const variant = variantOf(server.url, cell.recovery);
      await folder.killed({ scenario, act: RUN, variant, crash: { point: "tool:executed", turn } });
      expect(await bookingOf(folder)).toMatchObject({ status: "running", attempt: 1, receipt: null });
      expect(server.effects).toEqual(["window"]);
      await assertResumes(folder, server, variant, cell, [1]);
    },
  );

  const withReceipt: readonly Cell[] = RECOVERIES.map((recovery) => ({
    recovery,
    requests: 1,
    effects: 1,
    attempt: 1,
  }));
  test.for(sampled(withReceipt, 2, shift))(
    "that is $recovery, killed after its receipt and before the commit, keeps it",
    async (cell) => {
      const [folder, server] = [crashFolder(), await effectServer({ keyed: cell.recovery === "keyed" })];
      const variant = variantOf(server.url, cell.recovery);
      const point = asker === "an agent" ? "turn:before-commit" : "step:before-finish";
      await folder.killed({ scenario, act: RUN, variant, crash: { point, turn } });
      const stored = await bookingOf(folder);
      expect(stored).toMatchObject({ status: "succeeded", attempt: 1, receipt: { source: "tool" } });
      await assertResumes(folder, server, variant, cell, []);
      expect(await bookingOf(folder)).toEqual(stored);
    },
  );

  async function assertResumes(
    folder: CrashFolder,
    server: Awaited<ReturnType<typeof effectServer>>,
    variant: Variant,
    { requests, effects, attempt, source, found = [] }: Cell,
    lost: readonly number[],
  ): Promise<void> {
    const result = await folder.result({ scenario, act: RESUME, variant });
    const booked = `window is booking ${effects}`;
    expect(result).toMatchObject({ status: "succeeded", output: `Done: ${booked}${also}.`, waits: [] });
    const { idempotencyKey, ...call } = await bookingOf(folder);
    expect({ effects: server.effects.length, requests: server.requests }).toEqual({ effects, requests });
    expect(new Set(server.lookUps)).toEqual(new Set(found));
    expect(new Set(server.log.map(({ key }) => key))).toEqual(new Set([idempotencyKey]));
    const receipt = { status: "succeeded", source: source ?? "tool", output: { value: booked } };
    expect(call).toMatchObject({ status: "succeeded", attempt, receipt });
    expect(await triesOf(folder)).toEqual(lost.map((each) => ({ attempt: each, outcome: "lost" })));
    // The response was journaled: the model was not asked again.
    if (asker === "an agent") expect(folder.lines("asked").map((line) => line.turn)).toEqual([1, 2]);
  }
});

test("a call that a look-up does not find may still land, and is adopted when it has", async () => {
  const [folder, server] = [crashFolder(), await effectServer({ isSlow: true })];
  const variant = variantOf(server.url, "reconcile", { landsWithinMs: 1_500 });
  const worker = folder.start({ scenario: "bookings", act: RUN, variant });
  await folder.until(() => server.pending === 1);
  worker.kill("SIGKILL");
  expect(await worker.end).toEqual({ kind: "killed" });

  const result = await folder.result({ scenario: "bookings", act: RESUME, variant });
  expect(result).toMatchObject({ status: "succeeded", output: `Done: ${BOOKED}; window is free.` });
  expect(server.log.map(({ did }) => did)).toEqual(["looked up", "effect", "looked up"]);
  expect(await bookingOf(folder)).toMatchObject({ attempt: 1, receipt: { source: "reconciled" } });
});

/** The outcome is unknown, and the call may not be repeated: a person decides. */
const SETTLEMENTS = [
  {
    settlement: { as: "succeeded", result: "booked by telephone" },
    more: 0,
    attempt: 1,
    message: "booked by telephone",
    receipt: { status: "succeeded", source: "person", errorCode: null },
  },
  {
    settlement: { as: "retry", why: "The list at the door is empty." },
    more: 1,
    attempt: 2,
    message: "window is booking",
    receipt: { status: "succeeded", source: "tool", errorCode: null },
  },
  {
    settlement: { as: "failed", why: "They are closed on Mondays." },
    more: 0,
    attempt: 1,
    message: "It was settled as failed: They are closed on Mondays.",
    receipt: { status: "failed", source: "person", errorCode: "settled_failed" },
  },
] as const;

describe.for(ASKER_NAMES)("an opaque call of %s", (asker) => {
  const { scenario, turn, callId } = ASKERS[asker];
  const places = [
    { where: "before its effect", point: "tool:noted", effects: 0 },
    { where: "after its effect", point: "tool:executed", effects: 1 },
  ] as const;

  test.for(sampled(places, 2, ASKER_NAMES.indexOf(asker)))(
    "that was running, killed $where, waits for a person, who settles it",
    async ({ point, effects }) => {
      const [folder, server] = [crashFolder(), await effectServer()];
      const variant = variantOf(server.url, "opaque");
      await folder.killed({ scenario, act: RUN, variant, crash: { point, turn } });
      const asked = await folder.result({ scenario, act: RESUME, variant });
      expect(asked).toMatchObject({ status: "waiting", output: null });
      expect(asked.waits).toMatchObject([
        { kind: "in_doubt", toolCallId: `${callId}.1`, attempt: 1, status: "open" },
      ]);
      expect(asked.waits[0]?.subject).toMatchObject({ tool: "book", arguments: { table: "window" } });
      // Resuming again changes nothing, and opens no other wait.
      for (const act of [RUN, RESUME])
        expect((await folder.result({ scenario, act, variant })).waits).toEqual(asked.waits);
      expect(await bookingOf(folder)).toMatchObject({ status: "in_doubt", receipt: null });
      expect(server.requests).toBe(effects);

      for (const { settlement, more, attempt, message, receipt } of SETTLEMENTS) {
        const copy = folder.copy();
        const before = server.requests;
        const act: Act = { do: "answer", runId: "booking-1", answers: { inDoubt: settlement } };
        const result = await copy.result({ scenario, act, variant });
        expect(result).toMatchObject({ status: "succeeded", waits: [] });
        expect(result.output).toContain(message);
        expect(server.requests - before).toBe(more);
        expect(await bookingOf(copy)).toMatchObject({ attempt, receipt });
        expect(await triesOf(copy)).toEqual([{ attempt: 1, outcome: "lost" }]);
        const waits = await copy.withStore((store) => store.listWaits("booking-1"));
        expect(waits).toMatchObject([{ status: "answered", answeredBy: "maria", answer: settlement }]);
        if (asker === "an agent") expect(copy.lines("asked").map((line) => line.turn)).toEqual([1, 2]);
      }
    },
  );
});

test.for(sampled(ASKER_NAMES))(
  "an opaque call of %s that a person lets run again, killed again, waits for a person again",
  async (asker) => {
    const { scenario, turn } = ASKERS[asker];
    const [folder, server] = [crashFolder(), await effectServer()];
    const variant = variantOf(server.url, "opaque");
    await folder.killed({ scenario, act: RUN, variant, crash: { point: "tool:noted", turn } });
    await folder.result({ scenario, act: RESUME, variant });
    const retry: Act = { do: "answer", runId: "booking-1", answers: { inDoubt: { as: "retry" } } };
    await folder.killed({ scenario, act: retry, variant, crash: { point: "tool:executed", turn } });

    // The answer was about the first attempt. There has been another since, and it has had its effect.
    const asking = await folder.result({ scenario, act: RESUME, variant });
    expect(asking).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt", attempt: 2 }] });
    const settlement = { as: "succeeded", result: BOOKED } as const;
    const act: Act = { do: "answer", runId: "booking-1", answers: { inDoubt: settlement } };
    expect(await folder.result({ scenario, act, variant })).toMatchObject({ status: "succeeded" });
    expect(server.effects).toEqual(["window"]);
    expect(await triesOf(folder)).toEqual([
      { attempt: 1, outcome: "lost" },
      { attempt: 2, outcome: "lost" },
    ]);
    const waits = await folder.withStore((store) => store.listWaits("booking-1"));
    expect(waits.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, "answered"],
      [2, "answered"],
    ]);
  },
);

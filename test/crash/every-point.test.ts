import { beforeAll, describe, expect, test } from "vitest";
import type { ModelCallRecord } from "../../src/index.ts";
import { CRASH_POINTS, type CrashPoint } from "../../src/testing/index.ts";
import { CrashFolder, crashFolder } from "./crash-folder.ts";
import { LEDGER_POINTS } from "./ledger-points.ts";
import { ERRAND_TURNS } from "./scenarios.ts";
import type { Act, CrashSite, ReportedResult } from "./worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "errands-1" };
const RESUME: Act = { do: "resume", runId: "errands-1" };
const TURNS = Array.from({ length: ERRAND_TURNS }, (_, i) => i + 1);
const TURNS_WITH_TOOLS = TURNS.slice(0, -1);

/** What was done in the turn of the kill, by all processes together. Everywhere else it is done once. */
type Done = {
  /** How often the model was asked. */
  readonly asked: number;
  /** Which call was charged without an answer: the one of this turn, or the one reserved for the next. */
  readonly lost?: "this" | "next";
  /** How often each tool was entered. `pay` has its effect once all the same: the outside log knows its key. */
  readonly paid: number;
  readonly looked: number;
};

type Kill = Done & { readonly point: CrashPoint; readonly occurrence?: number };

const BEFORE_THE_FIRST_TURN: readonly Kill[] = [
  { point: "run:created", asked: 1, paid: 1, looked: 1 },
  { point: "step:begun", asked: 1, paid: 1, looked: 1 },
  { point: "turn:before-open", asked: 1, paid: 1, looked: 1 },
  { point: "turn:opened", asked: 1, lost: "this", paid: 1, looked: 1 },
];

const IN_A_TURN_WITH_TOOLS: readonly Kill[] = [
  { point: "model:before-request", asked: 1, lost: "this", paid: 1, looked: 1 },
  { point: "model:answered", asked: 2, lost: "this", paid: 1, looked: 1 },
  { point: "turn:before-journal", asked: 2, lost: "this", paid: 1, looked: 1 },
  // From here on the answer is journaled: the model is not asked again.
  { point: "turn:journaled", asked: 1, paid: 1, looked: 1 },
  { point: "tool:before-execute", asked: 1, paid: 1, looked: 1 },
  { point: "tool:before-execute", occurrence: 2, asked: 1, paid: 2, looked: 1 },
  // Between the effects and their receipts, and only here, a `repeat` tool has its effect twice.
  { point: "tool:executed", asked: 1, paid: 2, looked: 2 },
  { point: "tool:executed", occurrence: 2, asked: 1, paid: 2, looked: 2 },
  { point: "tool:before-receipt", asked: 1, paid: 2, looked: 2 },
  { point: "tool:receipt-stored", asked: 1, paid: 1, looked: 2 },
  { point: "turn:before-commit", asked: 1, paid: 1, looked: 2 },
  { point: "turn:committed", asked: 1, lost: "next", paid: 1, looked: 1 },
];

const IN_THE_LAST_TURN: readonly Kill[] = [
  { point: "model:before-request", asked: 1, lost: "this", paid: 0, looked: 0 },
  { point: "model:answered", asked: 2, lost: "this", paid: 0, looked: 0 },
  // Without tool calls there is no journal of its own: answer and turn are committed in one.
  { point: "turn:before-commit", asked: 2, lost: "this", paid: 0, looked: 0 },
  { point: "turn:committed", asked: 1, paid: 0, looked: 0 },
];

const AFTER_THE_LAST_TURN: readonly Kill[] = (
  ["step:before-finish", "step:finished", "run:before-finish", "run:finished"] as const
).map((point) => ({ point, asked: 1, paid: 0, looked: 0 }));

/** Points outside of turns are reached with turn 0, whichever turn is next to them. */
const KILLS = [
  ...[...BEFORE_THE_FIRST_TURN, ...IN_A_TURN_WITH_TOOLS].map((kill) => ({ kill, turn: 1 })),
  ...IN_A_TURN_WITH_TOOLS.map((kill) => ({ kill, turn: 3 })),
  ...[...IN_THE_LAST_TURN, ...AFTER_THE_LAST_TURN].map((kill) => ({ kill, turn: ERRAND_TURNS })),
].map(({ kill, turn }, i) => ({
  kill,
  turn,
  site: siteOf(kill, turn),
  place: `${kill.point}${kill.occurrence === undefined ? "" : ` (time ${kill.occurrence})`} in turn ${turn}`,
  // Both ways to go on with a run are tried, one after the other.
  again: i % 2 === 0 ? RESUME : RUN,
}));

let unbroken: { readonly result: ReportedResult; readonly stored: Awaited<ReturnType<typeof stored>> };
let reached: readonly CrashSite[];

beforeAll(async () => {
  const folder = CrashFolder.make();
  try {
    const result = await folder.result({ scenario: "errands", act: RUN, trace: true });
    unbroken = { result, stored: await stored(folder) };
    reached = folder.lines("reached").map(({ point, turn }) => ({ point: point as CrashPoint, turn }));
    assertDone(folder, new Map());
  } finally {
    await folder.remove();
  }
});

describe("a process killed at any point", () => {
  test.for(KILLS)("goes on after $place, by $again.do", async ({ kill, turn, site, again }) => {
    const folder = crashFolder();
    await folder.killed({ scenario: "errands", act: RUN, crash: site });
    const result = await folder.result({ scenario: "errands", act: again });

    assertDone(folder, new Map([[turn, kill]]));
    await assertSame(folder, { ...unbroken.result, resumed: true }, result);
    await assertCharged(folder, result, lostTurns(turn, kill));
  });

  test("is killed at every point there is, in the turns that are looked at", () => {
    const killedAt = new Set(KILLS.map(({ site }) => nameOf(site)));
    const turns = new Set([0, 1, 3, ERRAND_TURNS]);
    expect([...new Set(reached.filter(({ turn }) => turns.has(turn ?? 0)).map(nameOf))].sort()).toEqual(
      [...killedAt].sort(),
    );
    // The loop's own point is in loops.test.ts, those of calls that take more than one step in every-ledger-point.test.ts,
    // those of a new line of history in the tests of milestones.
    const elsewhere = ["loop:decided", "lineage:before-begin", "lineage:begun", ...LEDGER_POINTS] as const;
    expect([...new Set(KILLS.map(({ site }) => site.point)), ...elsewhere].sort()).toEqual(
      [...CRASH_POINTS].sort(),
    );
  });
});

/** Two kills, and what was done in the turn of both, by three processes. */
const TWICE: readonly {
  readonly first: CrashSite;
  readonly second: CrashSite;
  readonly turn: number;
  readonly done: Done;
  readonly lost: readonly number[];
}[] = [
  {
    // The second process has to open the turn by itself: the reservation of the first one is spent.
    first: { point: "turn:committed", turn: 2 },
    second: { point: "turn:before-open", turn: 3 },
    turn: 3,
    done: { asked: 1, paid: 1, looked: 1 },
    lost: [3],
  },
  {
    first: { point: "turn:committed", turn: 2 },
    second: { point: "turn:opened", turn: 3 },
    turn: 3,
    done: { asked: 1, paid: 1, looked: 1 },
    lost: [3, 3],
  },
  {
    first: { point: "model:answered", turn: 3 },
    second: { point: "turn:before-journal", turn: 3 },
    turn: 3,
    done: { asked: 3, paid: 1, looked: 1 },
    lost: [3, 3],
  },
  {
    first: { point: "turn:before-journal", turn: 3 },
    second: { point: "turn:journaled", turn: 3 },
    turn: 3,
    done: { asked: 2, paid: 1, looked: 1 },
    lost: [3],
  },
  {
    first: { point: "turn:journaled", turn: 1 },
    second: { point: "tool:executed", turn: 1 },
    turn: 1,
    done: { asked: 1, paid: 2, looked: 2 },
    lost: [],
  },
  {
    first: { point: "tool:executed", turn: 3 },
    second: { point: "tool:receipt-stored", turn: 3 },
    turn: 3,
    done: { asked: 1, paid: 2, looked: 3 },
    lost: [],
  },
  {
    // The receipt that the first one left is used by the second and by the third.
    first: { point: "tool:receipt-stored", turn: 3 },
    second: { point: "turn:before-commit", turn: 3 },
    turn: 3,
    done: { asked: 1, paid: 1, looked: 3 },
    lost: [],
  },
  {
    first: { point: "turn:before-commit", turn: 3 },
    second: { point: "turn:committed", turn: 3 },
    turn: 3,
    done: { asked: 1, paid: 1, looked: 2 },
    lost: [4],
  },
  {
    first: { point: "turn:committed", turn: ERRAND_TURNS },
    second: { point: "step:finished" },
    turn: ERRAND_TURNS,
    done: { asked: 1, paid: 0, looked: 0 },
    lost: [],
  },
];

describe("a process killed twice in a row", () => {
  test.for(TWICE)(
    "goes on after $first.point and then $second.point in turn $turn",
    async ({ first, second, turn, done, lost }) => {
      const folder = crashFolder();
      await folder.killed({ scenario: "errands", act: RUN, crash: first });
      await folder.killed({ scenario: "errands", act: RESUME, crash: second });
      const result = await folder.result({ scenario: "errands", act: RESUME });

      assertDone(folder, new Map([[turn, done]]));
      await assertSame(folder, { ...unbroken.result, resumed: true }, result);
      await assertCharged(folder, result, lost);
    },
  );

  test("that is killed in each of its turns goes on all the same", async () => {
    const folder = crashFolder();
    const done: Done = { asked: 1, paid: 1, looked: 2 };
    for (const turn of TURNS_WITH_TOOLS)
      await folder.killed({
        scenario: "errands",
        act: turn === 1 ? RUN : RESUME,
        crash: { point: "turn:before-commit", turn },
      });
    const result = await folder.result({ scenario: "errands", act: RESUME });

    assertDone(folder, new Map(TURNS_WITH_TOOLS.map((turn) => [turn, done])));
    await assertSame(folder, { ...unbroken.result, resumed: true }, result);
    await assertCharged(folder, result, []);
    const { epoch } = await folder.withStore(
      async (store) => (await store.getRun("errands-1")) ?? { epoch: 0 },
    );
    expect(epoch).toBe(TURNS_WITH_TOOLS.length + 1);
  });
});

test("a run that ended is not touched by a process that comes after it", async () => {
  const folder = crashFolder();
  const first = await folder.result({ scenario: "errands", act: RUN });
  const before = folder.witness();
  for (const act of [RUN, RESUME]) {
    const result = await folder.result({ scenario: "errands", act });
    expect(result).toEqual({ ...first, resumed: true });
  }
  expect(folder.witness()).toEqual(before);
});

function siteOf({ point, occurrence }: Kill, turn: number): CrashSite {
  const inTurn = /^(turn|model|tool):/.test(point);
  return { point, turn: inTurn ? turn : 0, ...(occurrence === undefined ? {} : { occurrence }) };
}

function nameOf({ point, turn }: CrashSite): string {
  return `${point} in turn ${turn}`;
}

function lostTurns(turn: number, { lost }: Done): number[] {
  if (lost === undefined) return [];
  return [lost === "this" ? turn : turn + 1];
}

/** By the witnesses alone: every turn's model call and effects, once, but for what the kills explain. */
function assertDone(folder: CrashFolder, killedIn: ReadonlyMap<number, Done>): void {
  const counted = TURNS.map((turn) => ({
    turn,
    asked: folder.lines("asked").filter((line) => line.turn === turn).length,
    paid: folder.tries("pay", `town/${turn}`),
    looked: folder.effects("look", `town/${turn}`),
  }));
  const expected = TURNS.map((turn) => {
    const { asked, paid, looked } = killedIn.get(turn) ?? undisturbed(turn);
    return { turn, asked, paid, looked };
  });
  expect(counted).toEqual(expected);
  expect(folder.outside()).toEqual(TURNS_WITH_TOOLS.map((turn) => `town/${turn}`));
  expect(folder.tries("look")).toBe(folder.effects("look"));
}

function undisturbed(turn: number): Done {
  const tools = turn === ERRAND_TURNS ? 0 : 1;
  return { asked: 1, paid: tools, looked: tools };
}

/** The end is what it would have been: output, history, ledger, keys, turn indexes. */
async function assertSame(
  folder: CrashFolder,
  expected: ReportedResult,
  result: ReportedResult,
): Promise<void> {
  const { usage: _, ...end } = expected;
  expect(result).toMatchObject(end);
  expect(result.output).toContain(`{"looked":"town/${ERRAND_TURNS - 1}"}`);
  expect(await stored(folder)).toEqual(unbroken.stored);
  expect(unbroken.stored.turns.map(({ turnIndex }) => turnIndex)).toEqual(TURNS);
}

function stored(folder: CrashFolder) {
  return folder.withStore(async (store) => {
    const turns = await store.listTurns("errands-1");
    const run = await store.getRun("errands-1");
    const calls = await store.listToolCalls("errands-1");
    return {
      status: run?.status,
      reserved: run?.reserved,
      output: run?.output,
      history: await store.readHistory("errands-1", "errands"),
      turns: turns.map(({ turnIndex, response, committed }) => ({ turnIndex, response, committed })),
      calls: calls.map(({ toolCallId, idempotencyKey, status, receipt }) => ({
        toolCallId,
        idempotencyKey,
        status,
        output: receipt?.output,
      })),
      steps: (await store.listSteps("errands-1")).map(({ path, status }) => ({ path, status })),
    };
  });
}

/** Each answer is paid for once, as the provider said; each call that a kill left open, once, as reserved. */
async function assertCharged(
  folder: CrashFolder,
  result: ReportedResult,
  lost: readonly number[],
): Promise<void> {
  const { calls, charged } = await folder.withStore(async (store) => ({
    calls: await store.listModelCalls("errands-1"),
    charged: (await store.getRun("errands-1"))?.charged.tokens,
  }));
  const by = (basis: string) => calls.filter((call) => call.charge?.basis === basis);
  expect(by("provider").map(({ turnIndex }) => turnIndex)).toEqual(TURNS);
  expect(by("baseline").map(({ turnIndex }) => turnIndex)).toEqual(lost);
  expect(calls).toHaveLength(TURNS.length + lost.length);
  for (const call of by("provider")) expect(call.charge?.amount.tokens).toBe(15);
  for (const call of by("baseline")) expect(call.charge?.amount).toEqual(call.reserved);
  for (const call of calls) expect(call.reserved.tokens).toBeGreaterThan(200);
  expect(charged).toBe(sum(calls));
  expect(result.usage.charged.tokens).toBe(charged);
  expect(result.usage.modelCalls).toBe(calls.length);
}

function sum(calls: readonly ModelCallRecord[]): number {
  return calls.reduce((total, call) => total + (call.charge?.amount.tokens ?? 0), 0);
}

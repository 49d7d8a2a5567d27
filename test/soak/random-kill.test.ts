import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/testing/crash/seeded-random.ts";
import { asResult, CrashFolder } from "../crash/harness/crash-folder.ts";
import type { Act, ReportedResult, Variant } from "../crash/harness/worker-order.ts";
import { ALL_TOOLS, MARATHON_TURNS } from "../crash/scenarios/scenarios.ts";
import { SOAK_MINUTES, SOAK_SEED } from "./soak-options.ts";

/**
 * A process starts in about 200 ms and takes about 30 for a turn: it is killed before it begins, somewhere in the middle,
 * or not at all. Several at a time share the machine, and only one of them works.
 */
const LONGEST_LIFE_MS = 700;

const RUN: Act = { do: "run", input: "far", runId: "marathon-1", wait: true };
const VARIANT: Variant = { longestPauseMs: 15, step: { maxTurns: MARATHON_TURNS } };
const TURNS = Array.from({ length: MARATHON_TURNS }, (_, i) => i + 1);

type LaneResult = { readonly result: ReportedResult; readonly kills: number };

/** Starts workers one after the other and kills each after a random time, until one finishes. */
async function lane(folder: CrashFolder, lanes: number, random: () => number): Promise<LaneResult> {
  for (let kills = 0; ; ) {
    const worker = folder.start({ scenario: "marathon", act: RUN, variant: VARIANT });
    const timer = sleep(random() * LONGEST_LIFE_MS * lanes).then(() => worker.kill("SIGKILL"));
    const end = await worker.end;
    await timer;
    if (end.kind !== "killed") return { result: asResult(end), kills };
    kills += 1;
  }
}

test.for([
  { lanes: 1, who: "one process at a time" },
  { lanes: 3, who: "three that compete for the run" },
])("thirty turns finish however often their processes are killed ($who)", async ({ lanes }) => {
  console.log(`PAWL_SOAK_SEED=${SOAK_SEED}`);
  let [runs, kills] = [0, 0];
  for (const end = Date.now() + SOAK_MINUTES * 60_000; Date.now() < end; runs++) {
    const folder = CrashFolder.make();
    try {
      // Each lane has its own numbers, so that they do not depend on which of them is faster.
      const seed = SOAK_SEED + runs * lanes;
      const results = await Promise.all(
        Array.from({ length: lanes }, (_, i) => lane(folder, lanes, seededRandom(seed + i))),
      );
      const killed = results.reduce((sum, lane) => sum + lane.kills, 0);
      for (const { result } of results) expect(result.status).toBe("succeeded");
      await assertMarathon(folder, killed);
      kills += killed;
    } finally {
      await folder.remove();
    }
  }
  console.log(`${runs} runs of ${MARATHON_TURNS} turns, ${kills} kills`);
  expect(kills).toBeGreaterThan(runs);
});

async function assertMarathon(folder: CrashFolder, kills: number): Promise<void> {
  assertEffects(folder, kills);
  assertOrder(folder);
  await assertStored(folder, kills);
  assertIntact(folder);
}

/** Keyed effects once; repeatable ones at least once, and again only for a kill. */
function assertEffects(folder: CrashFolder, kills: number): void {
  const orders = TURNS.slice(0, -1).map((turn) => `far/${turn}`);
  expect(folder.outside()).toEqual([...orders, ...orders.map(() => "shipped parcel")].sort());
  for (const order of orders) expect(folder.effects("look", order)).toBeGreaterThanOrEqual(1);
  expect(folder.effects("look")).toBeLessThanOrEqual(orders.length + kills);
  for (const tool of ALL_TOOLS) expect(folder.tries(tool)).toBeLessThanOrEqual(orders.length + kills);
  expect(folder.lines("asked").length).toBeLessThanOrEqual(TURNS.length + kills);
}

/** No process went back: not before a committed turn, and not to the model once a tool of its answer had run. */
function assertOrder(folder: CrashFolder): void {
  let turn = 1;
  let ranTools = false;
  for (const line of folder.witness()) {
    if (line.kind !== "asked" && line.kind !== "tried" && line.kind !== "effect") continue;
    if (line.kind === "asked") {
      expect(line.turn).toBeOneOf(ranTools ? [turn + 1] : [turn]);
      [turn, ranTools] = [line.turn, false];
    } else {
      expect(line.turn).toBe(turn);
      ranTools = true;
    }
  }
}

async function assertStored(folder: CrashFolder, kills: number): Promise<void> {
  await folder.withStore(async (store) => {
    const turns = await store.listTurns("marathon-1");
    expect(turns.map(({ turnIndex, committed }) => [turnIndex, committed])).toEqual(
      TURNS.map((turn) => [turn, true]),
    );
    const toolCalls = await store.listToolCalls("marathon-1");
    expect(toolCalls).toHaveLength((TURNS.length - 1) * ALL_TOOLS.length);
    expect(toolCalls.every(({ status }) => status === "succeeded")).toBe(true);

    const calls = await store.listModelCalls("marathon-1");
    const answered = calls.filter(({ charge }) => charge?.basis === "provider");
    const lost = calls.filter(({ charge }) => charge?.basis === "baseline");
    expect(answered.map(({ turnIndex }) => turnIndex)).toEqual(TURNS);
    const unsent = calls.filter(({ charge }) => charge?.basis === "none");
    expect(answered.length + lost.length + unsent.length).toBe(calls.length);
    expect(lost.length + unsent.length).toBeLessThanOrEqual(kills);
    // Every model request has a call that was charged.
    expect(answered.length + lost.length).toBeGreaterThanOrEqual(folder.lines("asked").length);
    const run = await store.getRun("marathon-1");
    const charged = calls.reduce((sum, { charge }) => sum + (charge?.amount.tokens ?? 0), 0);
    expect(run).toMatchObject({ charged: { tokens: charged }, reserved: { tokens: 0 } });
    const events = await store.listEvents("marathon-1");
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  });
}

function assertIntact(folder: CrashFolder): void {
  const database = new DatabaseSync(`${folder.path}/pawl.db`, { readOnly: true });
  try {
    expect(database.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(database.prepare("PRAGMA foreign_key_check").all()).toEqual([]);
  } finally {
    database.close();
  }
}

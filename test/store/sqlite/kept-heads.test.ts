// The cached head of a run must never show: two stores that take over one run from each other, in random batches, are
// compared with reference stores whose caches are dropped after every single intent.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LeaseLostError } from "../../../src/core/errors.ts";
import { chainHash, NO_EVENT_HASH } from "../../../src/core/event-chain.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import {
  type Apply,
  begin,
  type Intent,
  LEASE_MS,
  RUNS,
  randomOf,
  STEPS,
  Workers,
} from "./random-workers.ts";
import { tempFolder } from "./temp-folder.ts";

/** The outcome of an intent, without the names of processes. */
function outcomeText(outcome: PromiseSettledResult<unknown>): string {
  const text =
    outcome.status === "fulfilled" ? JSON.stringify(outcome.value) : `refused: ${String(outcome.reason)}`;
  return nameless(text ?? "done");
}

/** Without the names of owners, and without the digests of the rows that have them. */
function nameless(text: string): string {
  return text
    .replaceAll(/[^\s"/]+\/\d+\/[0-9a-f]{8}-[0-9a-f]{12}/g, "somebody")
    .replaceAll(/(\\"(?:runs|attempts \d+)\\"),\\"[\w-]{43}\\"/g, "$1");
}

const TABLES = [
  "runs",
  "attempts",
  "run_steps",
  "granular_states",
  "failed_model_calls",
  "turns",
  "tool_calls",
  "receipts",
  "tool_call_attempts",
  "waits",
  "artifacts",
  "fingerprints",
  "events",
];

/** Everything in the file, except for the owners and the hashes that cover them. */
function contents(file: string): Record<string, string[]> {
  const database = Database.open(file);
  try {
    return Object.fromEntries(
      TABLES.map((table) => {
        const rows = database.sql(`SELECT * FROM ${table}`).all();
        return [table, rows.map(({ hash: _, event_hash: __, ...row }) => nameless(JSON.stringify(row)))];
      }),
    );
  } finally {
    database.close();
  }
}

/** The invariants of the file, whatever wrote to it in whatever order. */
function assertIntact(file: string): void {
  const database = Database.open(file);
  try {
    for (const run of database.all("SELECT * FROM runs")) {
      let last = { seq: 0, hash: Buffer.from(NO_EVENT_HASH) as Buffer };
      const key = run.int("run_key");
      for (const row of database.all("SELECT * FROM events WHERE run_key = ? ORDER BY seq", key)) {
        expect(row.int("seq")).toBe(last.seq + 1);
        const at = row.int("created_at");
        const hash = chainHash(last.hash, row.int("seq"), at, row.text("type"), row.text("data"));
        expect(row.hex("hash")).toBe(hash.toString("hex"));
        last = { seq: row.int("seq"), hash };
      }
      expect([run.int("event_seq"), run.hex("event_hash")]).toEqual([last.seq, last.hash.toString("hex")]);
      const sums = database.get(
        `SELECT (SELECT coalesce(sum(charged_tokens), 0) FROM turns WHERE run_key = ?)
              + (SELECT coalesce(sum(charged_tokens), 0) FROM failed_model_calls WHERE run_key = ?) AS charged,
                (SELECT coalesce(sum(reserved_tokens), 0) FROM granular_states g WHERE run_key = ? AND NOT EXISTS
                   (SELECT 1 FROM turns t WHERE t.run_key = g.run_key AND t.step_no = g.step_no
                       AND t.turn_index = g.open_turn_index)) AS reserved`,
        key,
        key,
        key,
      );
      expect([run.int("charged_tokens"), run.int("reserved_tokens")]).toEqual([
        sums?.int("charged"),
        sums?.int("reserved"),
      ]);
    }
  } finally {
    database.close();
  }
}

async function assertVerified(store: Store): Promise<void> {
  for (const runId of RUNS) expect((await store.verify(runId)).problems).toEqual([]);
}

/** Intents that are not among these events prove little. */
const EVENTFUL = [
  "turn.committed",
  "call.receipt",
  "calls.started",
  "call.tried",
  "call.in_doubt",
  "run.waiting",
  "wait.answered",
  "turn.dropped",
  "artifact.kept",
  "step.skipped",
  "divergence.accepted",
  "run.queued",
  "run.cancel_requested",
  "run.cancelled",
];

/** The kinds of events that have not occurred. */
function missingEvents(file: string): readonly string[] {
  const database = Database.open(file);
  try {
    const types = database.all("SELECT DISTINCT type FROM events").map((row) => row.text("type"));
    return EVENTFUL.filter((type) => !types.includes(type));
  } finally {
    database.close();
  }
}

/**
 * The number of events in each epoch of a run, as known from the claim before them; and the number of those without
 * an epoch.
 */
async function eventsByEpoch(store: Store, runId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let epoch = 1;
  for (const { type, data } of await store.listEvents(runId)) {
    const { epoch: claimed, source, by } = data as { epoch?: number; source?: string; by?: string };
    if (type === "run.claimed") epoch = claimed ?? epoch;
    else {
      const isOutsider = by !== undefined || type === "call.late" || source === "late";
      const who = isOutsider ? OUTSIDERS : epoch;
      counts[who] = (counts[who] ?? 0) + 1;
    }
  }
  return counts;
}

const OUTSIDERS = "outsiders";

/** As many as possible in one tick, in order. A claim first checks whether the owner lives, and so comes later. */
async function appliedTo(store: Store, batch: readonly Intent[]): Promise<PromiseSettledResult<unknown>[]> {
  const outcomes: Promise<PromiseSettledResult<unknown>>[] = [];
  for (const { words, apply } of batch) {
    const looksFirst = /^(claim|cancel)/.test(words);
    if (looksFirst) await Promise.all(outcomes);
    const outcome = Promise.allSettled([apply(store)]).then(([settled]) => settled);
    outcomes.push(outcome);
    if (looksFirst) await outcome;
  }
  return Promise.all(outcomes);
}

/** Liveness is unknown then: only the clock decides about leases. */
function removeLocks(folder: string): void {
  for (const name of readdirSync(folder)) if (name.includes("-owner-")) rmSync(join(folder, name));
}

const NO_RUN = { runId: "nobody", epoch: 1 };

describe("two stores on one file", () => {
  it.for(sampled([1, 2, 3]))(
    "produce what a store without a cache produces (seed %i)",
    PATIENCE,
    async (seed) => {
      const folder = tempFolder();
      const [file, referenceFile] = [join(folder, "kept.db"), join(folder, "reference.db")];
      const clock = { now: 1_000 };
      const options = { now: () => clock.now, monotonic: () => 0 };
      const stores = [await SqliteStore.open(file, options), await SqliteStore.open(file, options)] as const;
      const references = [
        await SqliteStore.open(referenceFile, options),
        await SqliteStore.open(referenceFile, options),
      ] as const;
      removeLocks(folder);
      const reference = async (who: number, apply: Apply): Promise<PromiseSettledResult<unknown>> => {
        const [outcome] = await Promise.allSettled([apply(references[who] ?? references[0])]);
        // A refused intent drops everything that a store has cached.
        for (const store of references) await expect(store.renewLease(NO_RUN, 1)).rejects.toThrow();
        return outcome;
      };
      try {
        await begin(stores[0]);
        await reference(0, begin);
        const workers = new Workers(seed);
        const random = randomOf(seed + 1_000);
        const seen = { done: 0, refused: 0, lost: 0 };
        for (let round = 0; round < 100; round++) {
          if (random(4) === 0) clock.now += LEASE_MS + 1;
          const who = random(2);
          const store = stores[who] ?? stores[0];
          if (round % 3 === 0) await workers.look(store, who);
          const batch = workers.batch(who);
          const outcomes = await appliedTo(store, batch);
          for (const [i, { words, apply }] of batch.entries()) {
            const outcome = outcomes[i] ?? { status: "rejected", reason: "nothing" };
            expect(`${words}: ${outcomeText(outcome)}`).toBe(
              `${words}: ${outcomeText(await reference(who, apply))}`,
            );
            if (outcome.status === "fulfilled") seen.done += 1;
            else if (outcome.reason instanceof LeaseLostError) seen.lost += 1;
            else seen.refused += 1;
          }
        }
        expect(contents(file)).toEqual(contents(referenceFile));
        assertIntact(file);
        await assertVerified(stores[0]);
        // Otherwise the intents prove little.
        expect(Math.min(seen.done / 3, seen.refused, seen.lost)).toBeGreaterThan(10);
      } finally {
        for (const store of [...stores, ...references]) await store.close();
      }
    },
  );

  it.for([11, 12])(
    "that write at the same time acknowledge exactly what is in the file (seed %i)",
    PATIENCE,
    async (seed) => {
      const file = join(tempFolder(), "kept.db");
      const clock = { now: 1_000 };
      const options = { now: () => clock.now };
      const stores = [await SqliteStore.open(file, options), await SqliteStore.open(file, options)] as const;
      try {
        await begin(stores[0]);
        const workers = new Workers(seed);
        const random = randomOf(seed + 1_000);
        // The steps that were begun above.
        const acknowledged = new Map<string, Record<string, number>>(
          RUNS.map((runId) => [runId, { 1: 1 + STEPS.length }]),
        );
        // Which of the two is first is not in the seed, so that a rare event may take longer.
        const isEnough = (round: number) =>
          round >= (IS_FULL_TEST ? 800 : 150) && missingEvents(file).length === 0;
        for (let round = 0; round < 2_000 && !isEnough(round); round++) {
          if (random(4) === 0) clock.now += LEASE_MS + 1;
          if (round % 3 === 0) await workers.look(stores[0], random(2));
          const work = stores.flatMap((store, who) =>
            workers.batch(who).map((intent) => ({ store, intent })),
          );
          const outcomes = await Promise.allSettled(work.map(({ store, intent }) => intent.apply(store)));
          for (const [i, { intent }] of work.entries()) {
            const { fence, about } = intent;
            // A renewal is no event.
            if (outcomes[i]?.status !== "fulfilled" || intent.words.endsWith(" renew")) continue;
            const counts = acknowledged.get(fence?.runId ?? about ?? "");
            if (counts === undefined) continue;
            const who = fence?.epoch ?? OUTSIDERS;
            counts[who] = (counts[who] ?? 0) + 1;
          }
        }
        for (const runId of RUNS)
          expect(await eventsByEpoch(stores[0], runId)).toEqual(acknowledged.get(runId));
        assertIntact(file);
        await assertVerified(stores[0]);
        expect(missingEvents(file)).toEqual([]);
      } finally {
        for (const store of stores) await store.close();
      }
    },
  );
});

// What a store keeps of a run between intents must never show: two stores that take one run from each other, in random
// batches, against a reference that is opened anew for every single intent and therefore keeps nothing.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LeaseLostError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/store/sqlite/database.ts";
import { chainHash, NO_EVENT_HASH } from "../../../src/store/sqlite/run-row.ts";
import { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { Fence, NewToolCall, Store } from "../../../src/store/store.ts";
import {
  CHARGE,
  claimOptions,
  FAILED,
  limited,
  newReceipt,
  newRun,
  newStep,
  RESERVE,
  SampleRun,
  sha256,
} from "../../../src/testing/store-conformance/sample-run.ts";
import { tempFolder } from "./temp-folder.ts";

const RUNS = ["r-1", "r-2"] as const;
const STEPS = ["draft", "review"] as const;
const LEASE_MS = 10;

type Apply = (store: Store) => Promise<unknown>;
type Intent = { readonly words: string; readonly fence: Fence | null; readonly apply: Apply };

/** Numbers that look random and are the same for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** Where a step is thought to stand. It may be wrong: an intent that is refused is as good a test as one that is not. */
type Guess = { turn: number; attempt: number; journaled: boolean; receipts: number };

/** Thinks up intents for two runs of two steps: mostly the next one in the life of a turn, now and then a wrong one. */
class Workers {
  readonly #random: (below: number) => number;
  /** What each store takes for the epoch: the one that was robbed of a run goes on with the old one for a while. */
  readonly #epochs = new Map<string, number>();
  readonly #guesses = new Map<string, Guess>();
  #minted = 0;

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  batch(who: number): Intent[] {
    // A batch is about one run for the most part, so that its intents meet each other's heads.
    const runId = this.#pick(RUNS);
    return Array.from({ length: 1 + this.#random(7) }, () =>
      this.#intent(who, this.#chance(80) ? runId : this.#pick(RUNS)),
    );
  }

  #intent(who: number, runId: string): Intent {
    const epoch = this.#epochs.get(`${who}/${runId}`) ?? 1;
    if (this.#chance(12)) return this.#claim(who, runId);
    const fence = { runId, epoch: this.#chance(5) ? Math.max(1, epoch - 1) : epoch };
    if (this.#chance(4)) return intent("release", fence, (store) => store.releaseRun(fence, FAILED));
    if (this.#chance(4)) return intent("renew", fence, (store) => store.renewLease(fence, LEASE_MS));
    const name = this.#pick(STEPS);
    if (this.#chance(6))
      return intent(`begin ${name}`, fence, (store) => store.beginStep(fence, newStep(name)));
    return this.#chance(8) ? this.#codeCall(fence, name) : this.#turnIntent(fence, name);
  }

  #claim(who: number, runId: string): Intent {
    const over = this.#chance(30) ? limited(200 + this.#random(3_000)) : {};
    const options = claimOptions({ leaseMs: LEASE_MS, ...over });
    return intent(`claim ${runId}`, null, async (store) => {
      const outcome = await store.claimRun(runId, options);
      if (outcome.kind === "claimed") {
        this.#epochs.set(`${who}/${runId}`, outcome.claim.epoch);
        for (const name of STEPS) this.#guess(runId, name).attempt += 1;
      }
      return outcome;
    });
  }

  #codeCall(fence: Fence, name: string): Intent {
    const call = sample(fence, name).codeCall(++this.#minted, { idempotencyKey: sha256(`${this.#minted}`) });
    return intent("code call", fence, (store) => store.openToolCall(fence, call));
  }

  /** The next of: open, journal, receipt, commit; or another of them, or of another turn. */
  #turnIntent(fence: Fence, name: string): Intent {
    const run = sample(fence, name);
    const guess = this.#guess(fence.runId, name);
    const turn = this.#chance(5) ? guess.turn + 1 : guess.turn;
    const attempt = Math.max(1, guess.attempt);
    const due = guess.journaled
      ? guess.receipts < 2 && !this.#chance(20)
        ? "receipt"
        : "commit"
      : guess.attempt === 0
        ? "open"
        : "journal";
    const what = this.#chance(15)
      ? this.#pick(["open", "settle", "journal", "receipt", "commit"] as const)
      : due;
    const words = `${what} ${turn}`;
    switch (what) {
      case "open":
        guess.attempt += 1;
        return intent(words, fence, async (store) => {
          const opened = await store.openTurn(fence, run.opening(turn));
          if (opened.kind === "opened") guess.attempt = opened.attempt;
          return opened;
        });
      case "settle":
        return intent(words, fence, (store) =>
          store.settleModelCall(fence, { stepKey: run.stepKey, turnIndex: turn, attempt, charge: CHARGE }),
        );
      case "journal": {
        guess.journaled = true;
        const statuses: NewToolCall["status"][] = ["running", "prepared"];
        const journal = run.journal(turn, statuses, { attempt });
        return intent(words, fence, (store) => store.journalResponse(fence, journal));
      }
      case "receipt": {
        guess.receipts += 1;
        const record = {
          stepKey: run.stepKey,
          turnIndex: turn,
          receipt: newReceipt(Math.min(2, guess.receipts)),
        };
        return intent(words, fence, (store) => store.recordReceipt(fence, record));
      }
      case "commit": {
        if (this.#chance(40)) return this.#badCommit(run, turn, words);
        const next = this.#chance(60)
          ? run.opening(turn + 1, { reserve: { ...RESERVE, tokens: 150 } })
          : null;
        Object.assign(guess, {
          turn: turn + 1,
          attempt: next === null ? 0 : 1,
          journaled: false,
          receipts: 0,
        });
        return intent(words, fence, (store) => store.commitTurn(fence, run.commit(turn, { next })));
      }
    }
  }

  /** Refused after it has changed all it changes: what it knew by then must be forgotten. */
  #badCommit(run: SampleRun, turn: number, words: string): Intent {
    const { fence } = run;
    const commit = this.#chance(50)
      ? run.commit(turn, { next: run.opening(turn + 1, { reserve: { ...RESERVE, microDollars: 0.5 } }) })
      : run.commit(turn, { receipts: [newReceipt(2), newReceipt(1)] });
    return intent(`bad ${words}`, fence, (store) => store.commitTurn(fence, commit));
  }

  /** Puts the guesses right, so that a run does not get stuck in refusals. */
  async look(store: Store, who: number): Promise<void> {
    for (const runId of RUNS) {
      this.#epochs.set(`${who}/${runId}`, (await store.getRun(runId))?.epoch ?? 1);
      const calls = await store.listModelCalls(runId);
      for (const [i, name] of STEPS.entries()) {
        const { turnIndex, journaled } = await store.readConversation(stepKeyOf(runId, i), 0);
        const open = calls.find((call) => call.stepPath === name && call.charge === null);
        Object.assign(this.#guess(runId, name), {
          turn: turnIndex + 1,
          attempt: open?.attempt ?? 0,
          journaled: journaled !== null,
          receipts: journaled?.calls.filter((call) => call.receipt !== null).length ?? 0,
        });
      }
    }
  }

  #guess(runId: string, name: string): Guess {
    const key = `${runId}/${name}`;
    const guess = this.#guesses.get(key) ?? { turn: 1, attempt: 0, journaled: false, receipts: 0 };
    this.#guesses.set(key, guess);
    return guess;
  }

  #chance(percent: number): boolean {
    return this.#random(100) < percent;
  }

  #pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.#random(from.length)] ?? from[0];
  }
}

function intent(words: string, fence: Fence | null, apply: Apply): Intent {
  return { words: fence === null ? words : `${fence.runId}@${fence.epoch} ${words}`, fence, apply };
}

/** Steps are begun in this order, before anything else: their numbers are known. */
function stepKeyOf(runId: string, index: number): number {
  return RUNS.findIndex((known) => known === runId) * STEPS.length + index + 1;
}

/** Only the words of it are used: what is handed to an intent. */
function sample(fence: Fence, name: string): SampleRun {
  const stepKey = stepKeyOf(
    fence.runId,
    STEPS.findIndex((known) => known === name),
  );
  const step = { stepKey, path: name } as SampleRun["step"];
  return new SampleRun(undefined as never, fence, step);
}

async function begin(store: Store): Promise<void> {
  for (const runId of RUNS) {
    await store.createRun(newRun(runId, { leaseMs: LEASE_MS, ...limited(2_000) }));
    for (const name of STEPS) await store.beginStep({ runId, epoch: 1 }, newStep(name));
  }
}

/** What an intent came to, without the names of processes. */
function told(outcome: PromiseSettledResult<unknown>): string {
  const text =
    outcome.status === "fulfilled" ? JSON.stringify(outcome.value) : `refused: ${String(outcome.reason)}`;
  return nameless(text ?? "done");
}

function nameless(text: string): string {
  return text.replaceAll(/[^\s"/]+\/\d+\/[0-9a-f]{12}/g, "somebody");
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
  "events",
];

/** Everything in the file, except for who did it and the hashes that cover that. */
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

/** What must hold in the file by itself, whoever wrote to it in which order. */
function assertSound(file: string): void {
  const database = Database.open(file);
  try {
    for (const run of database.all("SELECT * FROM runs")) {
      let last = { seq: 0, hash: Buffer.from(NO_EVENT_HASH) as Buffer };
      for (const row of database.all(
        "SELECT * FROM events WHERE run_no = ? ORDER BY seq",
        run.int("run_no"),
      )) {
        expect(row.int("seq")).toBe(last.seq + 1);
        const at = row.int("created_at");
        const hash = chainHash(last.hash, row.int("seq"), at, row.text("type"), row.text("data"));
        expect(row.hex("hash")).toBe(hash.toString("hex"));
        last = { seq: row.int("seq"), hash };
      }
      expect([run.int("event_seq"), run.hex("event_hash")]).toEqual([last.seq, last.hash.toString("hex")]);
      const sums = database.get(
        `SELECT (SELECT coalesce(sum(charged_tokens), 0) FROM turns WHERE step_no IN mine)
              + (SELECT coalesce(sum(charged_tokens), 0) FROM failed_model_calls WHERE step_no IN mine) AS charged,
                (SELECT coalesce(sum(reserved_tokens), 0) FROM granular_states g WHERE step_no IN mine AND NOT EXISTS
                   (SELECT 1 FROM turns t WHERE t.step_no = g.step_no AND t.turn_index = g.open_turn_index)) AS reserved
           FROM (SELECT 1)`.replaceAll(
          "mine",
          `(SELECT step_no FROM run_steps WHERE run_no = ${run.int("run_no")})`,
        ),
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

/** The worker that wrote each event, by the claim before it: how many events each epoch of a run has. */
async function eventsByEpoch(store: Store, runId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  let epoch = 1;
  for (const { type, data } of await store.listEvents(runId)) {
    if (type === "run.claimed") epoch = (data as { epoch: number }).epoch;
    else counts[epoch] = (counts[epoch] ?? 0) + 1;
  }
  return counts;
}

describe("two stores on one file", () => {
  it.for([1, 2, 3])("come to what a store without a memory comes to (seed %i)", async (seed) => {
    const folder = tempFolder();
    const [file, referenceFile] = [join(folder, "kept.db"), join(folder, "reference.db")];
    const clock = { now: 1_000 };
    const options = { now: () => clock.now };
    const stores = [await SqliteStore.open(file, options), await SqliteStore.open(file, options)] as const;
    const reference = async (apply: Apply): Promise<PromiseSettledResult<unknown>> => {
      const store = await SqliteStore.open(referenceFile, options);
      const [outcome] = await Promise.allSettled([apply(store)]);
      await store.close();
      return outcome;
    };
    try {
      await begin(stores[0]);
      await reference(begin);
      const workers = new Workers(seed);
      const random = randomOf(seed + 1_000);
      const seen = { done: 0, refused: 0, lost: 0 };
      for (let round = 0; round < 100; round++) {
        if (random(4) === 0) clock.now += LEASE_MS + 1;
        const who = random(2);
        const store = stores[who] ?? stores[0];
        if (round % 3 === 0) await workers.look(store, who);
        const batch = workers.batch(who);
        const outcomes = await Promise.allSettled(batch.map(({ apply }) => apply(store)));
        for (const [i, { words, apply }] of batch.entries()) {
          const outcome = outcomes[i] ?? { status: "rejected", reason: "nothing" };
          expect(`${words}: ${told(outcome)}`).toBe(`${words}: ${told(await reference(apply))}`);
          if (outcome.status === "fulfilled") seen.done += 1;
          else if (outcome.reason instanceof LeaseLostError) seen.lost += 1;
          else seen.refused += 1;
        }
      }
      expect(contents(file)).toEqual(contents(referenceFile));
      assertSound(file);
      // Else the intents were not worth much.
      expect(Math.min(seen.done / 3, seen.refused, seen.lost)).toBeGreaterThan(10);
    } finally {
      for (const store of stores) await store.close();
    }
  });

  it.for([11, 12])(
    "that write at the same time acknowledge what is in the file, no more and no less (seed %i)",
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
        for (let round = 0; round < 400; round++) {
          if (random(4) === 0) clock.now += LEASE_MS + 1;
          if (round % 3 === 0) await workers.look(stores[0], random(2));
          const work = stores.flatMap((store, who) =>
            workers.batch(who).map((intent) => ({ store, intent })),
          );
          const outcomes = await Promise.allSettled(work.map(({ store, intent }) => intent.apply(store)));
          for (const [i, { intent }] of work.entries()) {
            const { fence, words } = intent;
            if (outcomes[i]?.status !== "fulfilled" || fence === null) continue;
            const counts = acknowledged.get(fence.runId) ?? {};
            counts[fence.epoch] = (counts[fence.epoch] ?? 0) + 1;
          }
        }
        for (const runId of RUNS)
          expect(await eventsByEpoch(stores[0], runId)).toEqual(acknowledged.get(runId));
        assertSound(file);
      } finally {
        for (const store of stores) await store.close();
      }
    },
  );
});

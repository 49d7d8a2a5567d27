import type { Fence, NewToolCall, Store } from "../../../src/store/store.ts";
import {
  CHARGE,
  claimOptions,
  FAILED,
  limited,
  newReceipt,
  newRun,
  newStart,
  newStep,
  RESERVE,
  SampleRun,
  sha256,
} from "../../../src/testing/store/sample-run.ts";

export const RUNS = ["r-1", "r-2"] as const;
export const STEPS = ["draft", "review"] as const;
export const LEASE_MS = 10;

export type Apply = (store: Store) => Promise<unknown>;
export type Intent = {
  readonly words: string;
  /** Null if the intent has no fence. */
  readonly fence: Fence | null;
  /** The run that a person, or a worker that has lost it, acts on. */
  readonly about: string | null;
  readonly apply: Apply;
};

/** Pseudo-random numbers that are the same for the same seed (mulberry32). */
export function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** The assumed state of a step. It may be wrong: a refused intent is as good a test as one that succeeds. */
type Guess = {
  turn: number;
  /** Of the model call. */
  attempt: number;
  journaled: boolean;
  receipts: number;
  /** How often the two calls of the turn were dispatched. */
  tries: [number, number];
  tried: boolean;
  /** Neither of its calls was dispatched, and neither will be. */
  isUnwanted: boolean;
};

const NOTHING_YET = {
  turn: 1,
  attempt: 0,
  journaled: false,
  receipts: 0,
  tried: false,
  isUnwanted: false,
} as const;

/** Generates intents for two runs of two steps: mostly the next one in the life of a turn, now and then a wrong one. */
export class Workers {
  readonly #random: (below: number) => number;
  /** The epoch that each store assumes: a store that lost a run continues with the old one for a while. */
  readonly #epochs = new Map<string, number>();
  /** The store that claimed each run last; the first one has created them. */
  readonly #owners = new Map<string, number>();
  readonly #guesses = new Map<string, Guess>();
  /** The waits that were seen open. */
  readonly #open = new Map<string, readonly string[]>();
  #minted = 0;

  constructor(seed: number) {
    this.#random = randomOf(seed);
  }

  batch(who: number): Intent[] {
    // Most of a batch is about one run, so that its intents share a cached head.
    const own = RUNS.filter((each) => (this.#owners.get(each) ?? 0) === who);
    const runId = this.#pick(own.length > 0 && this.#chance(80) ? own : RUNS);
    return Array.from({ length: 1 + this.#random(7) }, () =>
      this.#intent(who, this.#chance(80) ? runId : this.#pick(RUNS)),
    );
  }

  #intent(who: number, runId: string): Intent {
    const epoch = this.#epochs.get(`${who}/${runId}`) ?? 1;
    if (this.#chance(12)) return this.#claim(who, runId);
    const fence = { runId, epoch: this.#chance(5) ? Math.max(1, epoch - 1) : epoch };
    if (this.#chance(12)) return this.#outsider(runId);
    if (this.#chance(5)) return this.#release(fence);
    if (this.#chance(4)) return intent("renew", fence, (store) => store.renewLease(fence, LEASE_MS));
    const name = this.#pick(STEPS);
    if (this.#chance(6))
      return intent(`begin ${name}`, fence, (store) => store.beginStep(fence, newStep(name)));
    if (this.#chance(8)) return this.#codeCall(fence, name);
    return this.#chance(8) ? this.#jobIntent(fence, name) : this.#turnIntent(fence, name);
  }

  #claim(who: number, runId: string): Intent {
    const over = this.#chance(30) ? limited(200 + this.#random(3_000)) : {};
    const options = claimOptions({ leaseMs: LEASE_MS, ...over });
    return intent(`claim ${runId}`, null, async (store) => {
      const outcome = await store.claimRun(runId, options);
      if (outcome.kind === "claimed") {
        this.#epochs.set(`${who}/${runId}`, outcome.claim.epoch);
        this.#owners.set(runId, who);
        for (const name of STEPS) this.#guess(runId, name).attempt += 1;
      }
      return outcome;
    });
  }

  /** Some of them open a wait: about the first call of a turn, or an approval of the second. */
  #release(fence: Fence): Intent {
    if (this.#chance(20))
      return intent("release", fence, (store) => store.releaseRun(fence, { status: "queued" }));
    if (this.#chance(40)) return intent("release", fence, (store) => store.releaseRun(fence, FAILED));
    const name = this.#pick(STEPS);
    const run = sample(fence, name);
    const { turn } = this.#guess(fence.runId, name);
    const wait = this.#chance(70)
      ? run.wait(turn, 1, this.#chance(30) ? { kind: "escalation" } : {})
      : run.approval(turn, 2, sha256(this.#pick(["these", "those"])).toString("hex"));
    const end = { status: "waiting", error: null, waits: [wait] } as const;
    return intent(`wait for ${wait.kind}`, fence, (store) => store.releaseRun(fence, end));
  }

  /** A person, or a worker that has lost the run: neither has a fence, and both may write. */
  #outsider(runId: string): Intent {
    const name = this.#pick(STEPS);
    const run = sample({ runId, epoch: 0 }, name);
    const { turn, receipts } = this.#guess(runId, name);
    const callIndex = this.#chance(80) ? Math.min(2, receipts + 1) : 1 + this.#random(2);
    const wait = this.#pick([...(this.#open.get(runId) ?? []), `${runId}~${1 + this.#random(3)}`]);
    const id = `${runId}/${name}#${turn}.${callIndex}`;
    const what = this.#pick(WORDS);
    const words = `${what} ${what === "approve" || what === "deny" || what === "answer" ? wait : id}`;
    return { words, fence: null, about: runId, apply: this.#word(what, run, turn, callIndex, wait) };
  }

  #word(what: string, run: SampleRun, turn: number, callIndex: number, wait: string): Apply {
    const id = `${run.runId}/${run.step.path}#${turn}.${callIndex}`;
    const late = run.late(turn, 1 + this.#random(2), newReceipt(callIndex));
    switch (what) {
      case "succeeded":
        return (store) => store.settle(id, { as: "succeeded", result: turn });
      case "failed":
        return (store) => store.settle(id, { as: "failed", why: "It did not." });
      case "retry":
        return (store) => store.settle(id, { as: "retry" });
      case "late":
        return (store) => store.offerLateReceipt(late);
      case "approve":
        return (store) => store.approve(wait);
      case "deny":
        return (store) => store.deny(wait, "No.");
      case "cancel":
        return async (store) => {
          const outcome = await store.requestCancel(run.runId);
          // That changes nothing, like a refusal.
          if (outcome.kind === "over") throw new Error("It is over.");
          return outcome;
        };
      default:
        return (store) => store.answer(wait, "yes");
    }
  }

  /** Stores an artifact, skips a step, or accepts another agent. */
  #jobIntent(fence: Fence, name: string): Intent {
    const { stepKey } = sample(fence, name);
    const n = ++this.#minted;
    switch (this.#pick(["artifact", "skip", "accept"] as const)) {
      case "artifact": {
        const artifact = { stepKey, name: `${n % 3}.txt`, bytes: Buffer.from(`bytes ${n}`) };
        return intent("artifact", fence, (store) => store.keepArtifact(fence, artifact));
      }
      case "skip":
        return intent("skip", fence, (store) => store.skipStep(fence, newStep(`extra-${n}`)));
      case "accept": {
        const fingerprint = { hash: sha256(`agent ${n}`).toString("hex"), document: { prompt: `${n}` } };
        const accepted = { stepKey, fingerprint, why: "It is better." };
        return intent("accept", fence, (store) => store.acceptDivergence(fence, accepted));
      }
    }
  }

  #codeCall(fence: Fence, name: string): Intent {
    const call = sample(fence, name).codeCall(++this.#minted, { idempotencyKey: sha256(`${this.#minted}`) });
    return intent("code call", fence, (store) => store.openToolCall(fence, call));
  }

  /** The next of: open, journal, receipt, start, commit; or another of them, or of another turn. */
  #turnIntent(fence: Fence, name: string): Intent {
    const run = sample(fence, name);
    const guess = this.#guess(fence.runId, name);
    const turn = this.#chance(5) ? guess.turn + 1 : guess.turn;
    const attempt = Math.max(1, guess.attempt);
    const what = this.#chance(20)
      ? this.#pick(["open", "settle", "journal", "drop", "start", "end try", "receipt", "commit"] as const)
      : this.#due(guess);
    const words = `${what} ${turn}`;
    const pending = Math.min(2, guess.receipts + 1) as 1 | 2;
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
        const isUnwanted = this.#chance(30);
        Object.assign(guess, { journaled: true, tries: [1, 0], tried: false, isUnwanted });
        const statuses: NewToolCall["status"][] = [isUnwanted ? "prepared" : "running", "prepared"];
        const journal = run.journal(turn, statuses, { attempt });
        return intent(words, fence, (store) => store.journalResponse(fence, journal));
      }
      case "drop":
        if (guess.isUnwanted) Object.assign(guess, { journaled: false, isUnwanted: false });
        return intent(words, fence, (store) =>
          store.dropTurn(fence, { stepKey: run.stepKey, turnIndex: turn }),
        );
      case "start": {
        guess.tries[pending - 1] = (guess.tries[pending - 1] ?? 0) + 1;
        guess.tried = false;
        const start = { stepKey: run.stepKey, turnIndex: turn, calls: [newStart(pending)] };
        return intent(words, fence, (store) => store.startToolCalls(fence, start));
      }
      case "end try": {
        guess.tried = true;
        const ended = run.tryEnd(turn, pending, {
          attempt: this.#chance(90) ? (guess.tries[pending - 1] ?? 1) : 2,
          inDoubt: this.#chance(50),
          hasEnded: this.#chance(50),
        });
        return intent(words, fence, (store) => store.endToolCallAttempt(fence, ended));
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

  /** The first of two calls runs from the beginning, and the second starts when the first has its receipt. */
  #due({ journaled, attempt, receipts, tries, tried, isUnwanted }: Guess) {
    if (!journaled) return attempt === 0 ? "open" : "journal";
    if (isUnwanted) return "drop";
    if (receipts >= 2 || this.#chance(10)) return "commit";
    if (receipts === 1 && tries[1] === 0) return "start";
    if (!tried && this.#chance(60)) return "end try";
    return tried && this.#chance(40) ? "start" : "receipt";
  }

  /** Refused after all of its changes: the cached head must be dropped then. */
  #badCommit(run: SampleRun, turn: number, words: string): Intent {
    const { fence } = run;
    const commit = this.#chance(50)
      ? run.commit(turn, { next: run.opening(turn + 1, { reserve: { ...RESERVE, microDollars: 0.5 } }) })
      : run.commit(turn, { receipts: [newReceipt(2), newReceipt(1)] });
    return intent(`bad ${words}`, fence, (store) => store.commitTurn(fence, commit));
  }

  /** Corrects the guesses, so that a run does not get stuck in refusals. */
  async look(store: Store, who: number): Promise<void> {
    for (const runId of RUNS) {
      this.#epochs.set(`${who}/${runId}`, (await store.getRun(runId))?.epoch ?? 1);
      const open = (await store.listWaits(runId)).filter(({ status }) => status === "open");
      this.#open.set(
        runId,
        open.map(({ waitId }) => waitId),
      );
      const calls = await store.listModelCalls(runId);
      for (const [i, name] of STEPS.entries()) {
        const { turnIndex, journaled } = await store.readConversation(runId, stepKeyOf(runId, i), 0);
        const open = calls.find((call) => call.stepPath === name && call.charge === null);
        Object.assign(this.#guess(runId, name), {
          turn: turnIndex + 1,
          attempt: open?.attempt ?? 0,
          journaled: journaled !== null,
          tries: [journaled?.calls[0]?.attempt ?? 1, journaled?.calls[1]?.attempt ?? 0],
          tried: false,
          receipts: journaled?.calls.filter((call) => call.receipt !== null).length ?? 0,
          isUnwanted: journaled?.calls.every(({ status }) => status === "prepared") ?? false,
        });
      }
    }
  }

  #guess(runId: string, name: string): Guess {
    const key = `${runId}/${name}`;
    const guess = this.#guesses.get(key) ?? { ...NOTHING_YET, tries: [1, 0] };
    this.#guesses.set(key, guess);
    return guess;
  }

  #chance(percent: number): boolean {
    return this.#random(100) < percent;
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.#random(from.length)] as T;
  }
}

/** The actions of outsiders. */
const WORDS = ["succeeded", "failed", "retry", "late", "approve", "deny", "answer", "cancel"] as const;

function intent(words: string, fence: Fence | null, apply: Apply): Intent {
  return {
    words: fence === null ? words : `${fence.runId}@${fence.epoch} ${words}`,
    fence,
    about: null,
    apply,
  };
}

/** Steps are begun in this order, before anything else: their numbers are known. */
function stepKeyOf(runId: string, index: number): number {
  return RUNS.findIndex((known) => known === runId) * STEPS.length + index + 1;
}

/** Used only to build the parameters of intents. */
function sample(fence: Fence, name: string): SampleRun {
  const stepKey = stepKeyOf(
    fence.runId,
    STEPS.findIndex((known) => known === name),
  );
  const step = { stepKey, path: name } as SampleRun["step"];
  return new SampleRun(undefined as never, fence, step);
}

export async function begin(store: Store): Promise<void> {
  for (const runId of RUNS) {
    await store.createRun(newRun(runId, { leaseMs: LEASE_MS, ...limited(2_000) }));
    for (const name of STEPS) await store.beginStep({ runId, epoch: 1 }, newStep(name));
  }
}

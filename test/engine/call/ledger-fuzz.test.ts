// Runs with tools that fail in every way, workers that die, hang and are overtaken, and people who decide: whatever
// happens, no effect occurs twice without a person's consent, and the ledger matches the effects.

import { expect, it } from "vitest";
import { z } from "zod";
import { asksPermission } from "../../../src/core/wait.ts";
import {
  AlreadySettledError,
  type Json,
  NeedsHuman,
  NotApplied,
  openStore,
  PausedError,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type Tool,
  type ToolCallRecord,
  tool,
  type WaitRecord,
} from "../../../src/index.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { randomOf } from "../../store/sqlite/random-workers.ts";
import { must } from "../run-fixture.ts";
import { acting, jumpingClock, runnerOf } from "./call-fixture.ts";

const SEEDS = IS_FULL_TEST ? 150 : 75;
const RUN = "r-1";
/** Far more than any run needs. */
const MAX_RESUMES = 60;

const SIGHTS = ["killed", "hung", "overtaken", "cancelled", "settled early", "asked", "consented"] as const;
type Sight = (typeof SIGHTS)[number];
type JumpingClock = ReturnType<typeof jumpingClock>;
type Worker = { isFrozen: boolean };
type Effect = { readonly what: string; readonly key: string };

/** One run in a world generated from a seed. */
class Fuzz {
  readonly #random: () => number;
  readonly #clock: JumpingClock;
  readonly #store: Store;
  readonly #saw: (sight: Sight) => void;
  readonly #effects: Effect[] = [];
  /** How often a person allowed another run of something that may have happened. */
  readonly #consents = new Map<string, number>();
  readonly #asked: readonly (readonly string[])[];
  readonly #recovery: "keyed" | "reconcile" | "opaque";
  readonly #dedupe: "call" | "effect";
  readonly #tool: Tool;
  readonly #isCode: boolean;
  readonly #areEqual: boolean;
  readonly #limit: number;
  #worker: Worker = { isFrozen: false };
  #stop = new AbortController();
  #overtaken = 0;

  constructor(seed: number, clock: JumpingClock, store: Store, saw: (sight: Sight) => void) {
    this.#clock = clock;
    this.#store = store;
    const below = randomOf(seed);
    this.#random = () => below(10_000) / 10_000;
    this.#saw = saw;
    this.#recovery = this.#pick(["keyed", "reconcile", "opaque"]);
    this.#dedupe = this.#pick(["call", "effect"]);
    this.#isCode = this.#chance(0.4);
    this.#areEqual = this.#chance(0.4);
    this.#limit = this.#pick([1, 2, 8]);
    this.#asked = this.#times(1, 2, (turn) =>
      this.#times(1, 3, (n) => (this.#areEqual ? "same" : `${turn}.${n}`)),
    );
    this.#tool = this.#makeTool();
  }

  /** The problems found, one sentence each. */
  async run(): Promise<string[]> {
    const problems: string[] = [];
    for (let n = 0; n < MAX_RESUMES; n++) {
      await this.#advance(n === 0);
      const { status, reserved, error } = must(await this.#store.getRun(RUN));
      if (status === "succeeded") return [...problems, ...(await this.#problems())];
      if (status === "running") await this.#clock.advance(100_000);
      else if (reserved.tokens !== 0) problems.push(`holds a reservation while it is ${status}`);
      const waits = (await this.#store.listWaits(RUN)).filter((wait) => wait.status === "open");
      const isPaused = error?.code === "paused";
      if (status === "waiting" && waits.length === 0 && !isPaused) problems.push("waits without a question");
      for (const wait of waits) await unlessTooLate(this.#decide(wait));
    }
    return [...problems, "does not end"];
  }

  #makeTool(): Tool {
    return tool({
      name: "act",
      description: "Acts.",
      inputSchema: z.object({ what: z.string() }),
      effect: "external",
      recovery: this.#recovery,
      dedupe: this.#dedupe,
      inDoubt: this.#pick(["ask", "ask", "tell"]),
      approval: this.#chance(0.3),
      exclusive: this.#chance(0.3),
      landsWithinMs: this.#pick([0, 60_000]),
      reconcile: (_input, { idempotencyKey }) => {
        if (this.#chance(0.1)) throw new Error(`Look-up ${this.#random()} failed.`);
        if (this.#chance(0.1)) return { status: "unknown" } as const;
        if (!this.#happened(idempotencyKey)) return { status: "absent" } as const;
        return { status: "done", result: "found" } as const;
      },
      execute: ({ what }, { idempotencyKey }) => this.#act(what, idempotencyKey),
    });
  }

  async #act(what: string, key: string): Promise<string> {
    const fate = this.#random();
    if (fate < 0.1) throw new Error("Reset before it was sent.");
    if (fate < 0.25) throw new NotApplied("503");
    if (fate < 0.3) throw new NeedsHuman("auth", "Log in, please.");
    // The other side of a keyed tool drops a key that it has already seen.
    if (this.#recovery !== "keyed" || !this.#happened(key)) this.#effects.push({ what, key });
    if (fate < 0.4) throw new Error("Reset after it was sent.");
    if (fate < 0.43) throw new PausedError("Later.");
    if (fate < 0.5) await this.#hang();
    else if (fate < 0.58) await this.#beOvertaken();
    else if (fate < 0.63) await this.#beCancelled();
    else if (fate < 0.7) await this.#settleEarly();
    return "done";
  }

  async #hang(): Promise<void> {
    this.#saw("hung");
    if (this.#chance(0.5)) this.#stop.abort();
    await this.#clock.advance(700_000);
  }

  /** The worker freezes, another one takes the run, and then the first one wakes. */
  async #beOvertaken(): Promise<void> {
    if (this.#overtaken++ >= 3) return;
    this.#saw("overtaken");
    const worker = this.#worker;
    worker.isFrozen = true;
    await this.#clock.advance(31_000);
    await this.#advance(false);
    this.#worker = worker;
  }

  async #beCancelled(): Promise<void> {
    this.#saw("cancelled");
    this.#stop.abort();
    await new Promise(setImmediate);
    if (this.#chance(0.5)) throw new Error("Aborted.");
  }

  async #settleEarly(): Promise<void> {
    for (const call of await this.#store.listToolCalls(RUN)) {
      if (call.status !== "in_doubt" || this.#chance(0.3)) continue;
      this.#saw("settled early");
      await unlessTooLate(this.#settle(call));
    }
  }

  /** Runs or resumes, perhaps until a crash. The store shows how it failed. */
  async #advance(isFirst: boolean): Promise<void> {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const runner = this.#runner();
    const work = isFirst ? runner.run("Go", { runId: RUN, signal }) : runner.resume(RUN, { signal });
    await work.catch(() => undefined);
  }

  #runner(): Runner<unknown> {
    const worker: Worker = { isFrozen: false };
    this.#worker = worker;
    const store = renewedUnless(this.#store, () => worker.isFrozen);
    let left = this.#chance(0.6) ? Math.floor(this.#random() * 40) : -1;
    const options: RunnerOptions = {
      store,
      clock: this.#clock,
      random: () => 0,
      maxParallelToolCalls: this.#limit,
      probe: () => {
        if (left-- !== 0) return;
        this.#saw("killed");
        throw new Error("The process crashed.");
      },
    };
    if (!this.#isCode) {
      const turns = this.#asked.map((whats) => acting(...whats));
      return runnerOf(store, { act: this.#tool }, turns, options).runner;
    }
    const code = Step.run("code", (_input: Json, ctx) =>
      Promise.all(this.#asked.flat().map((what) => ctx.call(this.#tool, { what }).catch(() => "failed"))),
    );
    return new Runner(code, options);
  }

  /** A person, who can see what happened outside. */
  async #decide(wait: WaitRecord): Promise<void> {
    this.#saw("asked");
    const calls = await this.#store.listToolCalls(RUN);
    const call = must(calls.find(({ toolCallId }) => toolCallId === wait.toolCallId));
    if (wait.kind === "escalation" && this.#chance(0.3)) return this.#store.answer(wait.waitId, "No idea.");
    if (!asksPermission(wait.kind)) return this.#settle(call);
    if (this.#chance(0.3)) return this.#store.deny(wait.waitId, "No.");
    if ("earlier" in (wait.subject as object)) {
      this.#saw("consented");
      const what = whatOf(call);
      this.#consents.set(what, (this.#consents.get(what) ?? 0) + 1);
    }
    return this.#store.approve(wait.waitId);
  }

  #settle({ toolCallId, idempotencyKey }: ToolCallRecord): Promise<void> {
    if (this.#happened(idempotencyKey))
      return this.#store.settle(toolCallId, { as: "succeeded", result: "by hand" });
    return this.#store.settle(toolCallId, this.#chance(0.5) ? { as: "retry" } : { as: "failed", why: "No." });
  }

  async #problems(): Promise<string[]> {
    const calls = await this.#store.listToolCalls(RUN);
    const { problems } = await this.#store.verify(RUN);
    return [
      ...calls.flatMap((call) => this.#problemsOf(call)),
      ...this.#repeats(),
      ...problems.map((problem) => `does not verify: ${JSON.stringify(problem)}`),
    ];
  }

  #problemsOf({ toolCallId, idempotencyKey, receipt, status }: ToolCallRecord): string[] {
    const times = this.#effects.filter(({ key }) => key === idempotencyKey).length;
    const is = (condition: boolean, problem: string) => (condition ? [`${toolCallId} ${problem}`] : []);
    return [
      ...is(times > 1, `happened ${times} times`),
      ...is(receipt === null, `is ${status} in a finished run`),
      ...is(receipt?.status === "succeeded" && times === 0, "succeeded and did not happen"),
      ...is(receipt?.status === "cancelled" && times > 0, "was cancelled and happened"),
      ...is(
        receipt?.status === "failed" && !receipt.uncertain && times > 0,
        "failed for certain and happened",
      ),
    ];
  }

  /** Effects that were wanted once and happened more often, under other keys, than people allowed. */
  #repeats(): string[] {
    if (this.#areEqual && this.#dedupe === "call") return [];
    return [...new Set(this.#effects.map(({ what }) => what))].flatMap((what) => {
      const times = this.#effects.filter((effect) => effect.what === what).length;
      const allowed = 1 + (this.#consents.get(what) ?? 0);
      return times > allowed ? [`"${what}" happened ${times} times, but ${allowed} were allowed`] : [];
    });
  }

  #happened(idempotencyKey: string): boolean {
    return this.#effects.some(({ key }) => key === idempotencyKey);
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  #pick<const T>(choices: readonly T[]): T {
    return must(choices[Math.floor(this.#random() * choices.length)]);
  }

  #times<T>(least: number, most: number, make: (n: number) => T): T[] {
    const length = least + Math.floor(this.#random() * (most - least + 1));
    return Array.from({ length }, (_, n) => make(n));
  }
}

function whatOf({ request }: ToolCallRecord): string {
  return (request as { readonly what: string }).what;
}

/** A late receipt may arrive before a person's decision. */
async function unlessTooLate(decision: Promise<void>): Promise<void> {
  await decision.catch((error: unknown) => {
    if (!(error instanceof AlreadySettledError)) throw error;
  });
}

/** The store of a worker whose lease is not renewed while it is frozen. */
function renewedUnless(store: Store, isFrozen: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "renewLease" && isFrozen()) return () => Promise.reject(new Error("Frozen."));
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

it(
  "no effect happens twice without consent, and the ledger is correct, whatever fails and whichever worker dies",
  PATIENCE,
  async () => {
    const seen = new Map<Sight, number>(SIGHTS.map((sight) => [sight, 0]));
    const problems: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const clock = jumpingClock();
      const store = await openStore(":memory:", { now: () => clock.now() });
      const fuzz = new Fuzz(seed, clock, store, (sight) => seen.set(sight, (seen.get(sight) ?? 0) + 1));
      problems.push(...(await fuzz.run()).map((problem) => `seed ${seed}: ${problem}`));
      await store.close();
    }
    expect(problems).toEqual([]);
    // A world in which nothing went wrong would prove nothing.
    expect([...seen].filter(([, times]) => times === 0)).toEqual([]);
  },
);

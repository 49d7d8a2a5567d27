// Shared by the tests of forecasts: tools of every kind, people who decide, and workers that fail or vanish at any
// point.

import { z } from "zod";
import { asksPermission } from "../../../../src/core/wait.ts";
import {
  type Agent,
  askHuman,
  NotApplied,
  openStore,
  type ResumeForecast,
  type ResumeOptions,
  Runner,
  type RunnerOptions,
  type RunOptions,
  type StepNode,
  type Store,
  type Tool,
  type ToolDefinition,
  tool,
} from "../../../../src/index.ts";
import type {
  CrashPoint,
  CrashPointSite,
  CrashProbe,
  ScriptedResponse,
  ScriptedTurn,
} from "../../../../src/testing/index.ts";
import { IS_FULL_TEST } from "../../../full-test.ts";
import { jumpingClock } from "../../call/call-fixture.ts";
import { storeOf } from "../../fuzz-world.ts";
import { must, scriptedAgent } from "../../run-fixture.ts";
import { loudly, said, words } from "../../session-fixture.ts";
import { check, type Sight, stateOf } from "./forecast-fixture.ts";

const LEASE_MS = 30_000;
/** Far more than any run needs. */
const MOST_RESUMES = 20;

/** A root in which no job can write: the files are not checked here, and writing them takes longer than the runs. */
export const NOWHERE = "/dev/null";

const INPUT = z.object({ what: z.string() });
type Input = z.infer<typeof INPUT>;
type Rules = Partial<Omit<ToolDefinition<Input, unknown>, "execute" | "inputSchema" | "name">>;

const KINDS = {
  look: { effect: "read_only" },
  keyed: { recovery: "keyed" },
  found: { recovery: "reconcile", reconcile: () => ({ status: "done", result: "found" }) },
  absent: { recovery: "reconcile", reconcile: () => ({ status: "absent" }) },
  unknown: { recovery: "reconcile", reconcile: () => ({ status: "unknown" }) },
  blind: {},
  reported: { inDoubt: "tell" },
  once: { recovery: "keyed", dedupe: "effect" },
  blind_once: { dedupe: "effect" },
  allowed: { recovery: "keyed", approval: true },
  blind_allowed: { approval: true },
  banned: {},
  /** Throws NotApplied the first time. */
  shy: {},
  /** Fails the first time, and may have happened. */
  broken: {},
  /** Fails the first time, which is harmless. */
  frail: { effect: "read_only" },
  /** Fails with the same error until a person has answered. */
  weary: { effect: "read_only" },
  /** Dispatches a session event. */
  says: { recovery: "keyed" },
} as const satisfies { readonly [name: string]: Rules };

export type Kind = keyof typeof KINDS;

/** Counts the calls of models, tools and code: a forecast makes none. */
export class World {
  touched = 0;
  readonly #failed = new Set<string>();
  #isRested = false;

  touch(): void {
    this.touched++;
  }

  tool(name: Kind): Tool {
    const { reconcile, ...rules }: Rules = KINDS[name];
    return tool({
      name,
      description: "Acts.",
      inputSchema: INPUT,
      effect: "external",
      dedupe: "call",
      ...rules,
      ...(reconcile === undefined
        ? {}
        : {
            reconcile: (input: Input, call: never) => {
              this.touch();
              return reconcile(input, call);
            },
          }),
      execute: ({ what }, { session }) => {
        this.touch();
        if (name === "says") session.dispatch(said(what));
        const isFirst = !this.#failed.has(name);
        if (isFirst) this.#failed.add(name);
        if (name === "shy" && isFirst) throw new NotApplied("Busy.");
        if (name === "weary" && !this.#isRested) throw new Error("It is tired.");
        if ((name === "broken" || name === "frail") && isFirst) throw new Error("It broke.");
        return `${name} ${what}`;
      },
    });
  }

  /** An agent with these answers and the tools that they call; its model calls are counted. */
  agent(answers: readonly ScriptedResponse[], more: Parameters<typeof scriptedAgent>[1] = {}): Agent<string> {
    const asked = new Set(answers.flatMap(({ toolCalls = [] }) => toolCalls.map(({ name }) => name)));
    const tools = [...asked].map((name) => [name, name === "ask_human" ? askHuman : this.tool(name as Kind)]);
    const answer = ({ turn }: ScriptedTurn) => {
      this.touch();
      return must(answers[turn - 1]);
    };
    return scriptedAgent(answer, { tools: Object.fromEntries(tools), ...more }).agent as Agent<string>;
  }

  /** A person who answers every wait; calls in doubt are settled in alternating ways. */
  async decide(store: Store, runId: string): Promise<void> {
    const open = (await store.listWaits(runId)).filter(({ status }) => status === "open");
    for (const [i, { waitId, kind, toolCallId, subject }] of open.entries()) {
      if (asksPermission(kind))
        await (subject.tool === "blind_allowed" ? store.deny(waitId, "No.") : store.approve(waitId));
      else if (kind === "escalation") {
        this.#isRested = true;
        await store.settle(must(toolCallId), { as: "retry" });
      } else if (kind === "question") await store.answer(waitId, "yes");
      else if (kind === "budget") await store.answer(waitId, Number(subject.limit) + 100_000);
      else
        await store.settle(
          must(toolCallId),
          i % 2 === 0 ? { as: "retry" } : { as: "succeeded", result: "by hand" },
        );
    }
  }
}

export type Scenario = {
  readonly target: (world: World) => Agent | StepNode;
  readonly options?: RunnerOptions;
  readonly start?: RunOptions | ((now: number) => RunOptions);
  /** The target of the worker after the interruption, if it differs. */
  readonly other?: (world: World) => Agent | StepNode;
  /** The options of the first resume after the interruption. */
  readonly resume?: ResumeOptions;
  /** The options of later resumes: a refused resume is not repeated with the same options. */
  readonly afterwards?: ResumeOptions;
};

export type Interruption = "it fails" | "its worker vanishes";

/** A store and its clock, shared by many runs since opening one takes longer than a run. */
export class Stage {
  readonly clock: JumpingClock;
  readonly store: Store;
  #runs = 0;

  private constructor(clock: JumpingClock, store: Store) {
    this.clock = clock;
    this.store = store;
  }

  static async open(): Promise<Stage> {
    const clock = jumpingClock();
    return new Stage(clock, await openStore(":memory:", { now: () => clock.now() }));
  }

  story(scenario: Scenario): Story {
    return new Story(this, scenario, `r-${++this.#runs}`);
  }
}

type JumpingClock = ReturnType<typeof jumpingClock>;

/** One run in its own world. */
export class Story {
  readonly world = new World();
  readonly clock: JumpingClock;
  readonly store: Store;
  readonly runId: string;
  readonly #scenario: Scenario;
  /** Made once: the next process gets the same. */
  readonly #target: Agent | StepNode;
  #points = 0;
  #isDead = false;
  #interruption: string | null = null;

  constructor({ clock, store }: Pick<Stage, "clock" | "store">, scenario: Scenario, runId = "r-1") {
    this.clock = clock;
    this.store = store;
    this.runId = runId;
    this.#scenario = scenario;
    this.#target = scenario.target(this.world);
  }

  get interruption(): string | null {
    return this.#interruption;
  }

  /** Runs until it ends, or is interrupted at its n-th point. Returns how many points it reached. */
  async until(nth: number | null, way: Interruption = "it fails"): Promise<number> {
    const probe = (point: CrashPoint, { stepPath, turnIndex }: CrashPointSite) => {
      // A failure there equals one right before it; a death there may have sent the request.
      if (way === "it fails" && point.endsWith(":noted")) return;
      if (++this.#points !== nth) return;
      this.#interruption = `${way} at point ${nth}, ${point} of ${stepPath}#${turnIndex}`;
      this.#isDead = way === "its worker vanishes";
      throw new Error("The process crashed.");
    };
    const runner = await this.start(probe);
    for (let state = ""; this.#interruption === null; ) {
      await this.world.decide(this.store, this.runId);
      const reached = await stateOf(this.store, this.runId);
      // It has succeeded, or always ends in the same state.
      if (reached === state) break;
      state = reached;
      await runner.resume(this.runId, this.#scenario.afterwards ?? {}).catch(() => undefined);
    }
    await this.clock.advance(LEASE_MS + 1);
    return this.#points;
  }

  /** Runs as far as it can without outside help. */
  async start(probe: CrashProbe = () => undefined): Promise<Runner> {
    const { start: given = {}, options } = this.#scenario;
    const start = typeof given === "function" ? given(this.clock.now()) : given;
    const store = storeOf(this.store, () => this.#isDead);
    const runner = new Runner(this.#target, { ...this.#options(options), store, probe });
    await runner.run("Go", { ...start, runId: this.runId }).catch(() => undefined);
    return runner;
  }

  #options(more: RunnerOptions = {}): RunnerOptions {
    return {
      clock: this.clock,
      leaseMs: LEASE_MS,
      random: () => 0,
      slices: [words],
      checkpointTrigger: loudly,
      ...more,
    };
  }

  forecast(): Promise<ResumeForecast> {
    const options = { ...this.#options(this.#scenario.options), store: this.store };
    return new Runner(this.#target, options).forecast(this.runId);
  }

  check(
    resume: ResumeOptions,
    saw: (sight: Sight) => void,
    other?: Scenario["other"],
    more: RunnerOptions = {},
  ) {
    const target = other?.(this.world) ?? this.#target;
    return check(
      {
        store: this.store,
        runId: this.runId,
        runner: (onEvent) =>
          new Runner(target, {
            ...this.#options(this.#scenario.options),
            ...more,
            store: this.store,
            onEvent,
          }),
        touched: () => this.world.touched,
        saw,
      },
      resume,
    );
  }

  /**
   * Resumes until the run has succeeded or reaches a known state, with a forecast before each resume. Returns the
   * problems of those forecasts.
   */
  async resumeUntilDone(saw: (sight: Sight) => void, known: Set<string>): Promise<string[]> {
    const { resume, other, afterwards } = this.#scenario;
    const problems: string[] = [];
    let isUnanswered = false;
    for (let n = 0; n < MOST_RESUMES; n++) {
      const state = `${await stateOf(this.store, this.runId)} ${n === 0}`;
      if (known.has(state)) return problems;
      known.add(state);
      const options = n === 0 ? (resume ?? {}) : (afterwards ?? {});
      const checked = await this.check(options, saw, n === 0 || afterwards === undefined ? other : undefined);
      problems.push(
        ...checked.problems.map((problem) => `${this.#interruption}, resume ${n + 1}: ${problem}`),
      );
      if (checked.status === "succeeded") return problems;
      if (checked.forecast.refusal?.isQuestion === false && afterwards === undefined) return problems;
      // It waits: once it is resumed without an answer, then with one.
      isUnanswered = checked.status === "waiting" && !isUnanswered;
      if (!isUnanswered) await this.world.decide(this.store, this.runId);
    }
    return [...problems, `${this.#interruption}: does not end`];
  }
}

/** One in this many interruption points is tested; `npm run test:full` takes all of them. */
const ONE_IN = IS_FULL_TEST ? 1 : 3;

/** Interrupts a run at every point in both ways, and returns where a forecast was wrong. */
export async function everyInterruption(scenario: Scenario, saw: (sight: Sight) => void): Promise<string[]> {
  const stage = await Stage.open();
  const problems: string[] = [];
  const known = new Set<string>();
  const ways = ["it fails", "its worker vanishes"] as const;
  for (const [i, way] of ways.entries()) {
    const points = await stage.story(scenario).until(null, way);
    // Other points for each way.
    for (let nth = 1 + ((i + 1) % Math.min(ONE_IN, ways.length)); nth <= points; nth += ONE_IN) {
      const story = stage.story(scenario);
      await story.until(nth, way);
      if (story.interruption === null) problems.push(`point ${nth} was not reached`);
      problems.push(...(await story.resumeUntilDone(saw, known)));
    }
  }
  await stage.store.close({ graceMs: 0 });
  return problems;
}

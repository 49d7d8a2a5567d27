// Workers that fail or die at any point, with checkpoints that cannot always be written and deployments in between,
// in a pipeline of agents and code: one run does the whole request, every effect happens once, and its session is
// complete.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import {
  type CheckpointStore,
  CheckpointTrigger,
  DatabaseCheckpointStore,
  DurableMainLoop,
  FileCheckpointStore,
  openStore,
  Pipeline,
  Step,
  type StepNode,
  type Store,
} from "../../../src/index.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { jumpingClock } from "../call/call-fixture.ts";
import {
  Dice,
  did,
  FuzzWorld,
  log,
  planOf,
  progressPrompt,
  storeOf,
  WORLD_SIGHTS,
  type WorkPlan,
  wantedBy,
  workOn,
} from "../fuzz-world.ts";
import { must, scriptedAgent } from "../run-fixture.ts";

/** A seed that fails is printed with its trace. To replay it alone, write `[seed]` here. */
const SEEDS: readonly number[] = Array.from({ length: IS_FULL_TEST ? 30 : 12 }, (_, i) => i + 1);

const LEASE_MS = 30_000;
/** From then on nothing happens to a worker any more, so the request must be completed. */
const CALM_AFTER = 14;
const MOST_STARTS = CALM_AFTER + 12;

const SIGHTS = [
  ...WORLD_SIGHTS,
  "a deploy",
  "a full disk",
  "by turn",
  "from a milestone",
  "deduplicated",
] as const;
type Sight = (typeof SIGHTS)[number];
type JumpingClock = ReturnType<typeof jumpingClock>;

/** One request of one worker in a world generated from a seed. */
class Fuzz {
  readonly trace: string[] = [];
  readonly #dice: Dice;
  readonly #clock: JumpingClock;
  readonly #store: Store;
  readonly #directory: string | null;
  readonly #saw: (sight: Sight) => void;
  readonly #world: FuzzWorld;
  readonly #plans: { readonly first: WorkPlan; readonly last: WorkPlan };
  readonly #runIds = new Set<string>();
  #version = 1;

  constructor(seed: number, clock: JumpingClock, store: Store, folder: string, saw: (sight: Sight) => void) {
    this.#dice = new Dice(seed);
    this.#clock = clock;
    this.#store = store;
    this.#directory = this.#dice.chance(0.6) ? join(folder, `worker-${seed}`) : null;
    this.#saw = saw;
    this.#world = new FuzzWorld(this.#dice, saw);
    this.#plans = { first: planOf(this.#dice, ["a", "b"]), last: planOf(this.#dice, ["c", "d"]) };
  }

  /** The problems found, one sentence each. */
  async run(): Promise<string[]> {
    for (let n = 0; n < MOST_STARTS; n++) {
      const outcome = await this.#start(n >= CALM_AFTER);
      if (outcome === "succeeded") return this.#problems();
      if (outcome.startsWith("Unexpected")) return [outcome];
      await this.#clock.advance(LEASE_MS + 1);
      for (const runId of this.#runIds)
        if ((await this.#store.getRun(runId)) !== null) await this.#world.decide(this.#store, runId);
    }
    return ["does not end"];
  }

  async #start(isCalm: boolean): Promise<string> {
    if (this.#dice.chance(isCalm ? 0 : 0.25)) {
      this.#version++;
      this.#saw("a deploy");
    }
    const life = this.#world.begin(isCalm ? -1 : this.#dice.upTo(60), (_point, { runId }) => {
      this.#runIds.add(runId);
    });
    const store = storeOf(this.#store, () => life.isDead);
    const loop = new DurableMainLoop(this.#pipeline(), {
      store,
      checkpoints: this.#checkpoints(store),
      clock: this.#clock,
      random: () => 0,
      leaseMs: LEASE_MS,
      maxParallelToolCalls: this.#dice.pick([1, 2, 8]),
      // A call whose retries are used up may have happened without being recorded; a person's decision is not tested
      // here.
      maxRetriesPerToolCall: MOST_STARTS,
      checkpointTrigger: new CheckpointTrigger({ eventTypes: ["Done"] }),
      warn: () => undefined,
      probe: life.probe,
    });
    const outcome = await loop.execute("The request").then(
      ({ status }) => status,
      (error: unknown) => (life.hasFailed ? String(error) : `Unexpected: ${String(error)}`),
    );
    this.trace.push(`v${this.#version}: ${outcome}`);
    return outcome;
  }

  #checkpoints(store: Store): CheckpointStore {
    if (this.#directory === null) return new DatabaseCheckpointStore(store, "worker");
    const checkpoints = new FileCheckpointStore(this.#directory);
    const persist = checkpoints.persistCheckpoint.bind(checkpoints);
    checkpoints.persistCheckpoint = async (checkpoint) => {
      if (this.#dice.chance(0.3)) {
        this.#saw("a full disk");
        throw new Error("The disk is full.");
      }
      await persist(checkpoint);
    };
    return checkpoints;
  }

  /** An agent, code, and an agent that asks again for the code's effect. */
  #pipeline(): StepNode {
    const { first, last } = this.#plans;
    const code = Step.run("code", async (_input: unknown, ctx) => {
      for (const [kind, item] of CODE_CALLS) await ctx.call(this.#world.tool(kind, 0), { item });
      ctx.session.dispatch({ type: "Did", what: "code itself" });
      return "Continue";
    });
    return Pipeline.of("p", this.#agentStep("first", first, []), code, this.#agentStep("last", last, SHARED));
  }

  #agentStep(name: string, plan: WorkPlan, also: readonly (readonly [string, string])[]): StepNode {
    const { agent } = scriptedAgent(
      (turn) => {
        const answer = workOn(plan, turn);
        const calls = also.map(([tool, item]) => ({ name: tool, input: { item } }));
        return answer.toolCalls === undefined ? answer : { toolCalls: [...calls, ...answer.toolCalls] };
      },
      {
        name,
        instructions: progressPrompt,
        modelId: `m-${this.#version}`,
        tools: this.#world.tools(this.#version),
        slices: [did, log],
      },
    );
    return Step.granular(name, agent);
  }

  async #problems(): Promise<string[]> {
    const [runId, ...others] = this.#runIds;
    const calls = await this.#store.listToolCalls(must(runId));
    if (calls.some(({ status }) => status === "deduplicated")) this.#saw("deduplicated");
    for (const { resumedFrom } of await this.#store.listAttempts(must(runId)))
      if (resumedFrom !== null) this.#saw(resumedFrom === "turn" ? "by turn" : "from a milestone");
    const byCode = CODE_CALLS.map(([kind, item]) => `${kind} ${item}`);
    const { first, last } = this.#plans;
    const expected = {
      effects: [...wantedBy(first), ...byCode, ...wantedBy(last)],
      recorded: [...wantedBy(first), ...byCode, "code itself", ...wantedBy(last)],
      done: ["a", "b", "c", "d"],
    };
    return [
      ...others.map((other) => `started another run, ${other}`),
      ...(await this.#world.problems(this.#store, must(runId), expected)),
    ];
  }
}

const CODE_CALLS = [
  ["keyed", "code"],
  ["blind", "code"],
  ["keyedOnce", "shared"],
] as const;
const SHARED = [["keyedOnce", "shared"]] as const;

it(
  "one run does the whole request, every effect happens once and the session is complete, whatever happens to its workers",
  PATIENCE,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "pawl-fuzz-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const seen = new Map<Sight, number>(SIGHTS.map((sight) => [sight, 0]));
    const problems: string[] = [];
    for (const seed of SEEDS) {
      const clock = jumpingClock();
      const store = await openStore(":memory:", { now: () => clock.now() });
      const fuzz = new Fuzz(seed, clock, store, folder, (sight) =>
        seen.set(sight, must(seen.get(sight)) + 1),
      );
      const found = await fuzz.run();
      if (found.length > 0) problems.push([`seed ${seed}:`, ...found, ...fuzz.trace].join("\n  "));
      await store.close();
    }
    expect(problems.join("\n")).toBe("");
    // A world in which nothing went wrong would prove nothing.
    expect([...seen].filter(([, times]) => times === 0)).toEqual([]);
  },
);

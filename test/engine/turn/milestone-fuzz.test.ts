// Runs that are interrupted at any point and resumed by turn, from a milestone or from the beginning, by the same
// version or the next one: in the end every wanted effect happened once, and the session is that of one undisturbed
// worker.

import { expect, it } from "vitest";
import {
  CheckpointTrigger,
  openStore,
  ResumeError,
  type ResumeOptions,
  Runner,
  type SavedCheckpoint,
  type Store,
} from "../../../src/index.ts";
import { sampled } from "../../full-test.ts";
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
const SEEDS: readonly number[] = [
  // These seeds found calls that were cancelled before their turn was abandoned.
  172,
  192,
  363,
  376,
  443,
  600,
  681,
  ...sampled(
    Array.from({ length: 35 }, (_, i) => i + 1),
    3,
  ),
];

const RUN = "r-1";
const LEASE_MS = 30_000;
const ITEMS = ["a", "b", "c"];
/** From then on nothing happens to a worker any more, so the run must end. */
const CALM_AFTER = 14;
const MOST_STARTS = CALM_AFTER + 12;

const SIGHTS = [
  ...WORLD_SIGHTS,
  "another version",
  "a version refused",
  "by turn",
  "from the last milestone",
  "from the beginning",
  "from a stored checkpoint",
  "deduplicated",
] as const;
type Sight = (typeof SIGHTS)[number];
type JumpingClock = ReturnType<typeof jumpingClock>;

/** One run in a world generated from a seed. */
class Fuzz {
  readonly trace: string[] = [];
  readonly #dice: Dice;
  readonly #clock: JumpingClock;
  readonly #store: Store;
  readonly #saw: (sight: Sight) => void;
  readonly #world: FuzzWorld;
  readonly #plan: WorkPlan;
  readonly #kept: SavedCheckpoint[] = [];
  readonly #problems: string[] = [];
  #version = 1;
  /** The version of the current lineage. */
  #pinned: number | null = null;
  #hasFinished = false;

  constructor(seed: number, clock: JumpingClock, store: Store, saw: (sight: Sight) => void) {
    this.#dice = new Dice(seed);
    this.#clock = clock;
    this.#store = store;
    this.#saw = saw;
    this.#world = new FuzzWorld(this.#dice, saw);
    this.#plan = planOf(this.#dice, ITEMS);
  }

  /** The problems found, one sentence each. */
  async run(): Promise<string[]> {
    for (let n = 0; n < MOST_STARTS; n++) {
      const status = await this.#start(n >= CALM_AFTER);
      if (status === "succeeded") return [...this.#problems, ...(await this.#end())];
      if ((await this.#store.getRun(RUN)) === null) continue;
      await this.#clock.advance(LEASE_MS + 1);
      await this.#world.decide(this.#store, RUN);
    }
    return [...this.#problems, "does not end"];
  }

  async #start(isCalm: boolean): Promise<string> {
    const isNew = (await this.#store.getRun(RUN)) === null;
    if (!isNew && this.#dice.chance(isCalm ? 0 : 0.3)) {
      this.#version++;
      this.#saw("another version");
    }
    const from = this.#from(isCalm);
    const life = this.#world.begin(isCalm ? -1 : this.#dice.upTo(40), (point) => {
      if (point === "lineage:begun" || (point === "turn:opened" && this.#pinned === null))
        this.#pinned = this.#version;
      if (point === "step:finished") this.#hasFinished = true;
    });
    const wasRefusable = !this.#hasFinished && this.#pinned !== null && this.#pinned !== this.#version;
    const runner = this.#runner(
      storeOf(this.#store, () => life.isDead),
      life.probe,
    );
    const work = isNew ? runner.run("Go", { runId: RUN }) : runner.resume(RUN, { from });
    const outcome = await work.then(
      ({ status }) => status,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    const isByTurn = !isNew && from === "turn";
    this.trace.push(`v${this.#version} ${isNew ? "new" : nameOf(from)}: ${String(outcome)}`);
    if (outcome instanceof ResumeError) {
      this.#saw("a version refused");
      if (!isByTurn || !wasRefusable) this.#problems.push(`was refused: ${outcome.message}`);
    } else if (isByTurn && wasRefusable && !life.hasFailed)
      this.#problems.push("resumed by turn as another version");
    else if (outcome instanceof Error && !life.hasFailed) this.#problems.push(`failed: ${String(outcome)}`);
    return String(outcome);
  }

  #from(isCalm: boolean): NonNullable<ResumeOptions["from"]> {
    if (isCalm) return this.#pinned === this.#version ? "turn" : "milestone";
    const kept = this.#kept.length === 0 ? "milestone" : this.#dice.pick(this.#kept);
    const from = this.#dice.pick(["turn", "turn", "milestone", "milestone", "beginning", kept] as const);
    if (typeof from !== "string") this.#saw("from a stored checkpoint");
    else if (from === "turn") this.#saw("by turn");
    else this.#saw(from === "milestone" ? "from the last milestone" : "from the beginning");
    return from;
  }

  #runner(store: Store, probe: ReturnType<FuzzWorld["begin"]>["probe"]): Runner<unknown> {
    const { agent } = scriptedAgent((turn) => workOn(this.#plan, turn), {
      instructions: progressPrompt,
      modelId: `m-${this.#version}`,
      tools: this.#world.tools(this.#version),
      slices: [did, log],
    });
    return new Runner(agent, {
      store,
      clock: this.#clock,
      random: () => 0,
      leaseMs: LEASE_MS,
      maxParallelToolCalls: this.#dice.pick([1, 2, 8]),
      // A call whose retries are used up may have happened without being recorded; a person's decision is not tested
      // here.
      maxRetriesPerToolCall: MOST_STARTS,
      checkpointTrigger: new CheckpointTrigger({ eventTypes: ["Done"] }),
      onCheckpoint: (checkpoint) => void this.#kept.push(checkpoint),
      probe,
    });
  }

  async #end(): Promise<string[]> {
    const calls = await this.#store.listToolCalls(RUN);
    if (calls.some(({ status }) => status === "deduplicated")) this.#saw("deduplicated");
    const wanted = wantedBy(this.#plan);
    return this.#world.problems(this.#store, RUN, { effects: wanted, recorded: wanted, done: ITEMS });
  }
}

function nameOf(from: NonNullable<ResumeOptions["from"]>): string {
  return typeof from === "string" ? from : `checkpoint ${Number(from.cursor.checkpoint)}`;
}

it(
  "every effect happens once and the session is complete, wherever the work is resumed and by whichever version",
  PATIENCE,
  async () => {
    const seen = new Map<Sight, number>(SIGHTS.map((sight) => [sight, 0]));
    const problems: string[] = [];
    for (const seed of SEEDS) {
      const clock = jumpingClock();
      const store = await openStore(":memory:", { now: () => clock.now() });
      const fuzz = new Fuzz(seed, clock, store, (sight) => seen.set(sight, must(seen.get(sight)) + 1));
      const found = await fuzz.run();
      if (found.length > 0) problems.push([`seed ${seed}:`, ...found, ...fuzz.trace].join("\n  "));
      await store.close();
    }
    expect(problems.join("\n")).toBe("");
    // A world in which nothing went wrong would prove nothing.
    expect([...seen].filter(([, times]) => times === 0)).toEqual([]);
  },
);

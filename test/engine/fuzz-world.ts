// Shared by the fuzz tests of milestones and workers: a world that counts effects, tools of every kind that act on
// it, workers that fail or die at any point, and a person who looks outside before deciding.

import { z } from "zod";
import { asksPermission } from "../../src/core/wait.ts";
import {
  append,
  defineSlice,
  dynamic,
  NotApplied,
  promptTemplate,
  type Store,
  type Tool,
  type ToolCallContext,
  type ToolCallRecord,
  tool,
} from "../../src/index.ts";
import type { CrashProbe, ScriptedResponse, ScriptedTurn } from "../../src/testing/index.ts";
import { randomOf } from "../store/sqlite/random-workers.ts";
import { asking } from "./call/call-fixture.ts";
import { must } from "./run-fixture.ts";

/** Pseudo-random choices, the same for the same seed. */
export class Dice {
  readonly #below: (below: number) => number;

  constructor(seed: number) {
    this.#below = randomOf(seed);
  }

  chance(probability: number): boolean {
    return this.#below(10_000) < probability * 10_000;
  }

  upTo(most: number): number {
    return this.#below(most + 1);
  }

  pick<const T>(choices: readonly T[]): T {
    return must(choices[this.#below(choices.length)]);
  }

  times<T>(least: number, most: number, make: (n: number) => T): T[] {
    return Array.from({ length: least + this.upTo(most - least) }, (_, n) => make(n));
  }
}

type KindRules = {
  readonly recovery: "keyed" | "reconcile" | "opaque";
  readonly dedupe: "call" | "effect";
  readonly approval?: boolean;
};

const KINDS = {
  keyed: { recovery: "keyed", dedupe: "call" },
  found: { recovery: "reconcile", dedupe: "call" },
  blind: { recovery: "opaque", dedupe: "call" },
  allowed: { recovery: "keyed", dedupe: "call", approval: true },
  keyedOnce: { recovery: "keyed", dedupe: "effect" },
  foundOnce: { recovery: "reconcile", dedupe: "effect" },
  blindOnce: { recovery: "opaque", dedupe: "effect" },
  /** Dedupes by effect in every other version. It is requested once per item, so both versions mean the same. */
  moody: { recovery: "keyed", dedupe: "call" },
} as const satisfies { readonly [kind: string]: KindRules };

export type Kind = keyof typeof KINDS;
const ALL_KINDS = Object.keys(KINDS) as readonly Kind[];

type Did = { readonly type: "Did"; readonly what: string };
type Done = { readonly type: "Done"; readonly item: string };

export const did = defineSlice({
  name: "did",
  schema: z.string(),
  reducers: { Did: append(({ what }: Did) => what) },
});

const done = defineSlice({
  name: "done",
  schema: z.string(),
  reducers: { Done: append(({ item }: Done) => item) },
});

/** Never rolls back, so it has every event of every lineage. */
export const log = defineSlice({
  name: "log",
  kind: "log",
  schema: z.string(),
  reducers: { Did: append(({ what }: Did) => what), Done: append(({ item }: Done) => `done ${item}`) },
});

/** Shows which items are done, and nothing else of the work. */
export const progressPrompt = promptTemplate({
  namespace: "t",
  key: "progress",
  version: 1,
  sections: [
    dynamic({
      key: "done",
      title: "Done",
      slices: [done],
      render: (session) => `Done: ${session.query(done).all().join(" ")}.`,
    }),
  ],
});

/** The items of an agent, in order, and what it asks for in the turns of each. */
export type WorkPlan = ReadonlyMap<string, readonly (readonly Kind[])[]>;

export function planOf(dice: Dice, items: readonly string[]): WorkPlan {
  const turns = () => {
    let isMoody = false;
    return dice.times(1, 2, () =>
      dice.times(1, 3, () => {
        const kind = dice.pick(isMoody ? ALL_KINDS.filter((each) => each !== "moody") : ALL_KINDS);
        isMoody ||= kind === "moody";
        return kind;
      }),
    );
  };
  return new Map(items.map((item) => [item, turns()]));
}

/** Works on the first item that its prompt does not show as done, from the turn that its history has reached. */
export function workOn(plan: WorkPlan, { options: { prompt } }: ScriptedTurn): ScriptedResponse {
  const system = prompt[0]?.role === "system" ? prompt[0].content : "";
  const ready = (/^Done: (.*)\.$/m.exec(system)?.[1] ?? "").split(" ");
  const item = [...plan.keys()].find((each) => !ready.includes(each));
  if (item === undefined) return { text: "All is done." };
  let turns = 0;
  for (const message of prompt) {
    if (message.role !== "assistant") continue;
    const isEnd = message.content.some((part) => part.type === "tool-call" && part.toolName === "finish");
    turns = isEnd ? 0 : turns + 1;
  }
  const kinds = must(plan.get(item))[turns];
  return kinds === undefined
    ? asking(["finish", { item }])
    : asking(...kinds.map((kind) => [kind, { item }] as const));
}

/** The effects that a plan wants, each once, in the order in which its items record them in the session. */
export function wantedBy(plan: WorkPlan): string[] {
  return [...plan].flatMap(([item, turns]) =>
    turns
      .flat()
      .filter((kind, i, all) => KINDS[kind].dedupe === "call" || all.indexOf(kind) === i)
      .map((kind) => `${kind} ${item}`),
  );
}

export const WORLD_SIGHTS = [
  "failed",
  "died",
  "refused once",
  "found done",
  "found absent",
  "allowed",
] as const;
export type WorldSight = (typeof WORLD_SIGHTS)[number];

/** One worker's lifetime. A dead worker does nothing any more, in the store or outside. */
export type Life = { readonly probe: CrashProbe; isDead: boolean; hasFailed: boolean };

/** The outside world, where the effects happen. */
export class FuzzWorld {
  readonly #dice: Dice;
  readonly #saw: (sight: WorldSight) => void;
  readonly #effects: { readonly key: string; readonly what: string }[] = [];
  readonly #refused = new Set<string>();
  /** Effects that a person settled as done: their tools recorded nothing in the session. */
  readonly #byHand: string[] = [];
  #life: Life | null = null;

  constructor(dice: Dice, saw: (sight: WorldSight) => void) {
    this.#dice = dice;
    this.#saw = saw;
  }

  /** The next worker, and how many points it reaches before it fails or dies. */
  begin(points: number, observe: CrashProbe = () => undefined): Life {
    let left = points;
    const isDeath = this.#dice.chance(0.5);
    const life: Life = {
      isDead: false,
      hasFailed: false,
      probe: (point, site) => {
        observe(point, site);
        if (left-- !== 0) return;
        this.#saw(isDeath ? "died" : "failed");
        life.isDead = isDeath;
        life.hasFailed = true;
        throw new Error("The process crashed.");
      },
    };
    this.#life = life;
    return life;
  }

  tools(version: number): { readonly [name: string]: Tool } {
    const finish = tool({
      name: "finish",
      description: "Ends an item.",
      inputSchema: z.object({ item: z.string() }),
      effect: "local",
      recovery: "repeat",
      dedupe: "call",
      execute: ({ item }, { session }) => {
        session.dispatch({ type: "Done", item });
        return "finished";
      },
    });
    return { finish, ...Object.fromEntries(ALL_KINDS.map((kind) => [kind, this.tool(kind, version)])) };
  }

  tool(kind: Kind, version: number): Tool {
    const { recovery, dedupe, approval = false }: KindRules = KINDS[kind];
    return tool({
      name: kind,
      description: "Acts.",
      inputSchema: z.object({ item: z.string() }),
      effect: "external",
      recovery,
      approval,
      dedupe: kind === "moody" && version % 2 === 1 ? "effect" : dedupe,
      landsWithinMs: 0,
      reconcile: ({ item }, call) => {
        if (!this.#happened(call.idempotencyKey)) return { status: "absent" } as const;
        return { status: "done", result: this.#record(`${kind} ${item}`, call) } as const;
      },
      execute: ({ item }, call) => this.#act(`${kind} ${item}`, recovery, call),
    });
  }

  #act(what: string, recovery: KindRules["recovery"], call: ToolCallContext): string {
    if (this.#life?.isDead === true) throw new Error("A dead worker does nothing.");
    const key = call.idempotencyKey;
    if (!this.#refused.has(key) && this.#dice.chance(0.05)) {
      this.#saw("refused once");
      this.#refused.add(key);
      throw new NotApplied("Busy.");
    }
    // The other side of a keyed tool drops a key that it has already seen.
    if (recovery !== "keyed" || !this.#happened(key)) this.#effects.push({ key, what });
    return this.#record(what, call);
  }

  #record(what: string, { session }: ToolCallContext): string {
    session.dispatch({ type: "Did", what });
    return `did ${what}`;
  }

  #happened(key: string): boolean {
    return this.#effects.some((effect) => effect.key === key);
  }

  /** A person answers every open wait: allows approvals, and looks up outside whether a call happened. */
  async decide(store: Store, runId: string): Promise<void> {
    const open = (await store.listWaits(runId)).filter(({ status }) => status === "open");
    if (open.length === 0) return;
    const calls = await store.listToolCalls(runId);
    for (const { waitId, kind, toolCallId } of open) {
      if (asksPermission(kind)) {
        this.#saw("allowed");
        await store.approve(waitId);
      } else await this.#settle(store, must(calls.find((call) => call.toolCallId === toolCallId)));
    }
  }

  async #settle(store: Store, { toolCallId, idempotencyKey }: ToolCallRecord): Promise<void> {
    const effect = this.#effects.find(({ key }) => key === idempotencyKey);
    this.#saw(effect === undefined ? "found absent" : "found done");
    if (effect === undefined) return store.settle(toolCallId, { as: "retry" });
    await store.settle(toolCallId, { as: "succeeded", result: "by hand" });
    this.#byHand.push(effect.what);
  }

  /** Everything that is wrong in the end: with the effects outside, the session, or the store's own verification. */
  async problems(
    store: Store,
    runId: string,
    expected: {
      readonly effects: readonly string[];
      readonly recorded: readonly string[];
      readonly done: readonly string[];
    },
  ): Promise<string[]> {
    const { problems } = await store.verify(runId);
    const session = new Map((await store.readSession(runId)).map(({ name, values }) => [name, values]));
    const [recorded, logged] = [did, log].map(({ name }) => (session.get(name) ?? []).map(String));
    const byTool = (all: readonly string[]) => all.filter((what) => !this.#byHand.includes(what));
    const recordedByTools = without(expected.recorded, this.#byHand);
    return [
      ...problems.map((problem) => `does not verify: ${JSON.stringify(problem)}`),
      ...unlike("effects", sorted(this.#effects.map(({ what }) => what)), sorted(expected.effects)),
      ...unlike("recorded", sorted(must(recorded)), sorted(recordedByTools)),
      // Chance decides which of several equal calls a person settles, and so records nothing; the others keep their
      // order.
      ...unlike("recorded in this order", byTool(must(recorded)), byTool(expected.recorded)),
      ...unlike("done", (session.get(done.name) ?? []).map(String), expected.done),
      ...unlike(
        "logged",
        sorted(must(logged)),
        sorted([...recordedByTools, ...expected.done.map((item) => `done ${item}`)]),
      ),
    ];
  }
}

/** The store as seen by a worker: it takes nothing from a worker that is dead. */
export function storeOf(store: Store, isDead: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown =>
        isDead() ? Promise.reject(new Error("A dead worker writes nothing.")) : value.apply(target, args);
    },
  });
}

function unlike(what: string, actual: readonly string[], wanted: readonly string[]): string[] {
  return actual.join() === wanted.join()
    ? []
    : [`${what} [${actual.join()}], and should have [${wanted.join()}]`];
}

function sorted(all: readonly string[]): string[] {
  return all.toSorted();
}

function without(all: readonly string[], some: readonly string[]): string[] {
  const left = [...all];
  for (const each of some) {
    const at = left.indexOf(each);
    if (at !== -1) left.splice(at, 1);
  }
  return left;
}

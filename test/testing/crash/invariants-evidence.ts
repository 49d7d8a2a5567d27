// Evidence to check the invariants against: from a real run, and then with one thing changed in it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ModelCallError } from "../../../src/core/errors.ts";
import type { Json } from "../../../src/core/json.ts";
import { defineAgent } from "../../../src/engine/definition/agent.ts";
import { Pipeline, Step } from "../../../src/engine/definition/step.ts";
import { tool } from "../../../src/engine/definition/tool.ts";
import { crashDatabase } from "../../../src/testing/crash/databases/index.ts";
import type { Evidence, RunAccount } from "../../../src/testing/crash/evidence.ts";
import { runSchedule } from "../../../src/testing/crash/run-schedule.ts";
import { modelStandIn, type Scenario } from "../../../src/testing/crash/scenario.ts";
import { parseSchedule, UNDISTURBED } from "../../../src/testing/crash/schedule.ts";
import type { Effect, WitnessLine } from "../../../src/testing/crash/witness.ts";
import { scriptedPort } from "../scripted-port.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";
import { callTaxi, charge, lookUp, STAND_INS, ship } from "./scenarios/errand-tools.ts";

const read = tool({
  name: "read",
  description: "Reads a page.",
  inputSchema: z.object({ page: z.number() }),
  effect: "read_only",
  execute: ({ page }) => `Line of page ${page}. `.repeat(20),
});

/** Wanted once in a run, whichever call asks for it. */
const notify = { ...charge, name: "notify", dedupe: "effect" } as const;

function asks(...names: readonly string[]) {
  return {
    toolCalls: names.map((name) =>
      name === "read" ? { name, input: { page: 1 } } : { name, input: { order: "a", how: "works" } },
    ),
  };
}

/**
 * Tools of all recovery classes in one turn, one of them with a person's approval; a result that is stored as a blob; a
 * model that fails before it answers; and a code step that calls a tool and writes an artifact.
 */
export function everything(): Scenario {
  const answer = modelStandIn(
    scriptedPort([asks("look_up", "charge", "ship", "call_taxi", "read"), asks("charge"), { text: "Done." }]),
  );
  const worker = defineAgent({
    name: "worker",
    model: scriptedPort([]),
    tools: { look_up: lookUp, charge, ship, call_taxi: { ...callTaxi, approval: true }, read },
  });
  return {
    name: "everything",
    pipeline: Pipeline.of(
      "everything",
      Step.run("prepare", async (input: string, ctx) => {
        await ctx.call(charge, { order: "before" });
        await ctx.call(notify, { order: "before" });
        await ctx.artifact("note.md", input);
        return input;
      }),
      Step.granular("work", worker, { blobThresholdBytes: 100 }),
    ),
    input: "Go.",
    model: (request, place, outside) => {
      if (place.turnIndex === 1 && place.attempt === 1)
        throw new ModelCallError("Too many requests.", {
          kind: "rate_limited",
          status: 429,
          retryAfterMs: 1_000,
          retryable: true,
        });
      return answer(request, place, outside);
    },
    tools: { ...STAND_INS, notify: STAND_INS.charge },
  };
}

/** The evidence of the undisturbed run, and of each of these schedules, in order. */
export async function evidenceOf(
  scenario: Scenario,
  ...schedules: readonly string[]
): Promise<readonly Evidence[]> {
  const folder = mkdtempSync(join(EXPLORER_FOLDER.folder ?? tmpdir(), "pawl-invariants-"));
  try {
    const explorerFolder = { folder, database: await crashDatabase(undefined, folder) };
    const undisturbed = await runSchedule(explorerFolder, scenario, UNDISTURBED, null);
    const all = [undisturbed];
    for (const schedule of schedules)
      all.push(await runSchedule(explorerFolder, scenario, parseSchedule(schedule), undisturbed));
    return all;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deeply mutable, except for JSON values. */
type Mutable<T> = Json extends T ? T : T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

/** The parts of the evidence that can be falsified: all but the scenario, and the undisturbed run. */
export type Draft = Mutable<Omit<Evidence, "scenario" | "undisturbed">> & {
  /** The one run, at the end. */
  readonly account: Mutable<RunAccount>;
};

/** A copy of the evidence with a change. */
export function falsified(evidence: Evidence, change: (draft: Draft) => void): Evidence {
  const { scenario, undisturbed, ...rest } = evidence;
  const copy = structuredClone(rest);
  // It is a copy, so its readonly fields may be changed.
  const draft = copy as unknown as Omit<Draft, "account">;
  change({ ...draft, account: one(draft.accounts) });
  return { ...copy, scenario, undisturbed };
}

/** The first match; throws if there is none. */
export function one<T>(things: readonly T[], matches: (thing: T) => boolean = () => true): T {
  const thing = things.find(matches);
  if (thing === undefined) throw new Error("There is none.");
  return thing;
}

/** Removes the first match. */
export function takeOut<T>(things: T[], matches: (thing: T) => boolean): T {
  const [taken] = things.splice(things.indexOf(one(things, matches)), 1);
  return taken as T;
}

export type Falsification = readonly [
  invariant: string,
  how: string,
  change: (draft: Draft) => void,
  message: RegExp,
];

/** Makes it look as if the first process had only been paused. */
export function pauseInstead(draft: Draft): void {
  const at = { phase: "before", call: "store.commitTurn", nth: 2 } as const;
  Object.assign(draft.schedule, { kind: "pause", at, wake: null });
}

type AttemptNumbers = { readonly turnIndex?: number; readonly attempt?: number };

export function isSameAttempt(a: AttemptNumbers, b: AttemptNumbers): boolean {
  return a.turnIndex === b.turnIndex && a.attempt === b.attempt;
}

export function isEffectOf(tool: string) {
  return (line: WitnessLine): line is Effect => line.kind === "effect" && line.tool === tool;
}

export function effectsOf<L extends WitnessLine | Draft["witness"][number]>(
  lines: readonly L[],
  tool: string,
) {
  return lines.filter((line): line is Extract<L, { kind: "effect" }> => isEffectOf(tool)(line));
}

export function blobOf({ calls }: Draft["account"]): string {
  return one(calls, ({ receipt }) => (receipt?.blob ?? null) !== null).receipt?.blob?.blobId ?? "";
}

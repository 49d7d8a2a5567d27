// Evidence to hold the invariants against: real, from a real run, and then with one thing changed in it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ModelCallError } from "../../../src/core/errors.ts";
import type { Json } from "../../../src/core/json.ts";
import { defineAgent } from "../../../src/engine/definition/agent.ts";
import { Pipeline, Step } from "../../../src/engine/definition/step.ts";
import { tool } from "../../../src/engine/definition/tool.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Evidence, RunAccount } from "../../../src/testing/crash/evidence.ts";
import { perform } from "../../../src/testing/crash/perform.ts";
import { modelStandIn, type Scenario } from "../../../src/testing/crash/scenario.ts";
import { parseSchedule, UNDISTURBED } from "../../../src/testing/crash/schedule.ts";
import { scriptedPort } from "../scripted-port.ts";
import { LABORATORY } from "./laboratory.ts";
import { callTaxi, charge, lookUp, OTHER_SIDES, ship } from "./scenarios/errand-tools.ts";

const read = tool({
  name: "read",
  description: "Reads a page.",
  inputSchema: z.object({ page: z.number() }),
  effect: "read_only",
  execute: ({ page }) => `Line of page ${page}. `.repeat(20),
});

/** Once in a run, whoever asks. */
const tell = { ...charge, name: "tell", dedupe: "effect" } as const;

function asks(...names: readonly string[]) {
  return {
    toolCalls: names.map((name) =>
      name === "read" ? { name, input: { page: 1 } } : { name, input: { order: "a", how: "works" } },
    ),
  };
}

/**
 * Tools of all recovery classes in one turn, one of them with a person's approval; a result that is kept as a blob; a model
 * that fails before it answers; and code that calls a tool and makes a file.
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
        await ctx.call(tell, { order: "before" });
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
    tools: { ...OTHER_SIDES, tell: OTHER_SIDES.charge },
  };
}

/** What there is to judge after each of these schedules, in order. */
export async function evidenceOf(
  scenario: Scenario,
  ...schedules: readonly string[]
): Promise<readonly Evidence[]> {
  const folder = mkdtempSync(join(LABORATORY.folder ?? tmpdir(), "pawl-invariants-"));
  try {
    const laboratory = { folder, template: join(folder, "empty.db") };
    await (await openStore(`file:${laboratory.template}`)).close();
    const undisturbed = await perform(laboratory, scenario, UNDISTURBED, null);
    const all = [undisturbed];
    for (const schedule of schedules)
      all.push(await perform(laboratory, scenario, parseSchedule(schedule), undisturbed));
    return all;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As far down as it is ours: JSON of any kind is left as it is. */
type Mutable<T> = Json extends T ? T : T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

/** What of the evidence can be falsified: all but what was explored, and what it is compared with. */
export type Draft = Mutable<Omit<Evidence, "scenario" | "undisturbed">> & {
  /** The one run, in the end. */
  readonly account: Mutable<RunAccount>;
};

/** The same evidence with something changed. */
export function falsified(evidence: Evidence, change: (draft: Draft) => void): Evidence {
  const { scenario, undisturbed, ...rest } = evidence;
  const copy = structuredClone(rest);
  // A copy is nobody else's: what is only read elsewhere may be changed in it.
  const draft = copy as unknown as Omit<Draft, "account">;
  change({ ...draft, account: one(draft.accounts) });
  return { ...copy, scenario, undisturbed };
}

/** The first, where there has to be one. */
export function one<T>(things: readonly T[], matches: (thing: T) => boolean = () => true): T {
  const thing = things.find(matches);
  if (thing === undefined) throw new Error("There is none.");
  return thing;
}

/** Takes the first such thing out. */
export function takeOut<T>(things: T[], matches: (thing: T) => boolean): T {
  const [taken] = things.splice(things.indexOf(one(things, matches)), 1);
  return taken as T;
}

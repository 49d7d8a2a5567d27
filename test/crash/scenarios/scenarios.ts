// The agents and pipelines that the crash tests run. Every process makes its own, from a name and a variant.

import { z } from "zod";
import { agent, type Json, Pipeline, Step, type StepNode, type Tool, tool } from "../../../src/index.ts";
import type { Script, ScriptedResponse, ScriptedTurn } from "../../../src/testing/index.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { labelOf, resultsIn } from "../harness/prompt.ts";
import { enterOutside, recordWitness } from "../harness/witness.ts";
import { bookings, bookingsByCode } from "./booking-scenarios.ts";
import { chores } from "./chores-scenario.ts";
import { correspondence } from "./correspondence-scenario.ts";
import { mailing } from "./mailing-scenario.ts";
import { ordering } from "./ordering-scenario.ts";
import { planned } from "./planned-scenario.ts";
import { pause, recordEffect, type Setting, toolWork, waitForParent } from "./tool-work.ts";

export type ScenarioName = keyof typeof SCENARIOS;

export const SCENARIOS = {
  errands,
  marathon,
  report,
  story,
  receipts,
  reading,
  bookings,
  bookingsByCode,
  chores,
  correspondence,
  mailing,
  ordering,
  planned,
} as const satisfies { readonly [name: string]: (setting: Setting) => StepNode };

/** The number of turns of `errands`: all but the last one call both tools. */
const ERRAND_TURNS = 5;

/** One agent that makes the same two calls in each turn: `pay` (keyed) and `look` (repeatable). */
function errands(setting: Setting): StepNode {
  return errandStep("errands", setting, ERRAND_TURNS);
}

export const MARATHON_TURNS = 30;
export const ALL_TOOLS = ["pay", "look", "ship"] as const;

/** Thirty turns with three calls each, and pauses everywhere: for kills at random times. */
function marathon(setting: Setting): StepNode {
  return errandStep("marathon", setting, MARATHON_TURNS, ALL_TOOLS);
}

/** By default code, an agent, code: the kinds and names of the steps are part of the variant. */
function report(setting: Setting): StepNode {
  const shape = setting.variant.shape ?? [
    ["code", "gather"],
    ["agent", "errands"],
    ["code", "render"],
  ];
  const steps = shape.map(([kind, name]): StepNode => {
    switch (kind) {
      case "code":
        return codeStep(name, setting);
      case "agent":
        return errandStep(name, setting, 3);
      case "loop":
        return Step.loop(name, codeStep("inside", setting), { until: () => true, maxIterations: 1 });
    }
  });
  const last = steps.at(-1);
  if (last === undefined) throw new Error("A report has at least one step.");
  return Pipeline.of("report", ...steps.slice(0, -1), last);
}

function codeStep(name: string, { folder }: Setting): StepNode {
  return Step.run(name, (input: string, { context }) => {
    recordWitness(folder, { kind: "code", name, detail: input });
    context[name] = Number(context[name] ?? 0) + 1;
    return `${input}, ${name}`;
  });
}

/** Two agents, one of them in a loop of three iterations; every iteration adds to the context. */
function story(setting: Setting): StepNode {
  const { folder, variant } = setting;
  const note = Step.run(variant.noteName ?? "note", (input: string, { context }) => {
    recordWitness(folder, { kind: "code", name: "note", detail: input });
    context.notes = [...notesOf(context), input];
    return `${notesOf(context).length}`;
  });
  const pass = Pipeline.of("pass", errandStep(variant.draftName ?? "draft", setting, 2, ALL_TOOLS), note);
  const polish = Step.loop("polish", pass, {
    until: (output: string, context) => {
      recordWitness(folder, { kind: "code", name: "until", detail: output });
      return notesOf(context).length === 3;
    },
    maxIterations: 3,
  });
  return Pipeline.of(
    "story",
    errandStep("outline", setting, 2, ALL_TOOLS),
    polish,
    codeStep("publish", setting),
  );
}

function notesOf(context: { readonly [key: string]: unknown }): string[] {
  return (context.notes ?? []) as string[];
}

/** Code that makes four calls at once, two of them alike. */
function receipts(setting: Setting): StepNode {
  const { pay } = errandTools(setting);
  const orders = ["same", "same", "third", "fourth"];
  return Step.run("settle", async (_: string, context) => {
    const asked = setting.variant.reversed === true ? orders.toReversed() : orders;
    const results = await Promise.all(asked.map((order) => context.call(pay, { order })));
    return results.map(String).sort().join("; ");
  });
}

/**
 * An agent that reads two documents in its first turn, one in its second, and then reports their length. Its model is the
 * only one that is called through the AI SDK, as in a user's program.
 */
function reading(setting: Setting): StepNode {
  const { folder, variant } = setting;
  const read = tool({
    description: "Read a document.",
    inputSchema: z.object({ order: z.string() }),
    recovery: variant.lookRecovery ?? "repeat",
    execute: async ({ order }, call) => {
      await toolWork(setting, "read", order, call, () => recordEffect(folder, "read", order, call));
      return documentOf(order);
    },
  });
  const script: Script = ({ turn, options }) => {
    const [label, results] = [labelOf(options), resultsIn(options)];
    recordWitness(folder, { kind: "asked", label, turn });
    recordWitness(folder, { kind: "saw", turn, results });
    const short = { name: "read", input: { order: "<<short>>" } };
    if (turn === 1) return { toolCalls: [{ name: "read", input: { order: label } }, short] };
    if (turn === 2) return { toolCalls: [short] };
    return { text: `Read ${results.join("").length} characters.` };
  };
  const reader = agent({ name: "reader", model: scriptedModel(script), tools: { read } });
  return Step.granular("reading", reader, variant.step);
}

/** The result of `read`: a name in angle brackets as it is, else a long text; as an object if the name contains "json". */
export function documentOf(name: string): Json {
  if (name.startsWith("<<")) return name;
  return name.includes("json") ? { name, text: longText(name) } : longText(name);
}

/** More than 50 000 bytes, not all of them ASCII, and the same each time. */
function longText(subject: string): string {
  return `${subject}: ${"größer als erlaubt, ".repeat(2_500)}end`;
}

function errandStep(
  name: string,
  setting: Setting,
  turns: number,
  called: readonly ToolName[] = ["pay", "look"],
): StepNode {
  const { variant } = setting;
  const { pay, look, ship } = errandTools(setting);
  const more = tool({ description: "Nothing.", inputSchema: z.object({}), execute: () => null });
  const tools = {
    undefined: called.includes("ship") ? { pay, look, ship } : { pay, look },
    "one more": { pay, look, more },
    "one less": { pay },
    "other order": { look, pay },
  }[variant.tools ?? "undefined"];
  const runner = agent<unknown>({
    name: "errand-runner",
    model: scriptedPort((turn) => errandAnswer(setting, turns, called, turn), {
      modelId: variant.modelId ?? "errand-model",
      provider: variant.provider ?? "scripted",
    }),
    instructions: variant.instructions ?? "Run the errands.",
    tools,
    settings: { temperature: 0, maxOutputTokens: 200, seed: 7, ...variant.settings },
    ...(variant.outputSchema === true ? { output: z.object({ paid: z.array(z.string()) }) } : {}),
  });
  const { completion } = variant;
  return Step.granular(name, runner, {
    ...variant.step,
    ...(completion === undefined ? {} : { completion }),
  });
}

/** The answer depends on the conversation alone, and the last one contains all results. */
async function errandAnswer(
  setting: Setting,
  turns: number,
  called: readonly ToolName[],
  { turn, options }: ScriptedTurn,
): Promise<ScriptedResponse> {
  const { folder, variant, wait } = setting;
  const label = labelOf(options);
  recordWitness(folder, { kind: "asked", label, turn });
  await pause(setting);
  if (wait?.at === "model" && wait.turn === turn) await waitForParent(setting, options.abortSignal);
  const usage = variant.usage === undefined ? {} : { usage: variant.usage };
  if (turn === turns) return { text: `Done with ${label}: ${resultsIn(options).join("; ")}.`, ...usage };
  // Every parcel has the same arguments: only turn, step and iteration distinguish the calls.
  const orderOf = (name: ToolName) => (name === "ship" ? "parcel" : `${label}/${turn}`);
  return { toolCalls: called.map((name) => ({ name, input: { order: orderOf(name) } })), ...usage };
}

type ToolName = (typeof ALL_TOOLS)[number];

function errandTools(setting: Setting): { readonly [name in ToolName]: Tool } {
  const { folder, variant } = setting;
  const order = z.string();
  const idempotencyKey = z.string();
  const pay = tool({
    name: "pay",
    ...(variant.payNamespace === undefined ? {} : { namespace: variant.payNamespace }),
    description: variant.payDescription ?? "Pay for an order.",
    inputSchema:
      variant.payTakesCurrency === true
        ? z.object({ order, idempotencyKey, currency: z.string().optional() })
        : z.object({ order, idempotencyKey }),
    recovery: variant.payRecovery ?? "keyed",
    requiresIdempotencyKey: true,
    execute: async (input, call) => {
      await toolWork(setting, "pay", input.order, call, () =>
        enterOutside(folder, input.idempotencyKey, input.order),
      );
      return `paid ${input.order} under ${input.idempotencyKey.slice(0, 8)}`;
    },
  });
  const look = tool({
    name: "look",
    description: "Look at an order.",
    inputSchema: z.object({ order }),
    recovery: variant.lookRecovery ?? "repeat",
    execute: async (input, call) => {
      await toolWork(setting, "look", input.order, call, () =>
        recordEffect(folder, "look", input.order, call),
      );
      return { looked: input.order };
    },
  });
  const ship = tool({
    name: "ship",
    description: "Ship an order.",
    inputSchema: z.object({ order }),
    recovery: "keyed",
    execute: async (input, call) => {
      await toolWork(setting, "ship", input.order, call, () =>
        enterOutside(folder, call.idempotencyKey, `shipped ${input.order}`),
      );
      return `shipped ${input.order}`;
    },
  });
  return { pay, look, ship };
}

import { ownProperty } from "../../core/own-property.ts";
import { BETWEEN_EXCHANGES } from "../../core/turn/exchange-decision.ts";
import type { StepRecord } from "../../store/store.ts";
import type { AgentSetup } from "../agent-setup.ts";
import { numberIn, textIn } from "../event-facts.ts";
import { timeOfDay } from "../figures.ts";
import { code, inline, jsonFence, sentence } from "../markdown.ts";
import type { Incident } from "../run-incidents.ts";

// The texts about steps: their inputs and outputs, and where a lineage is abandoned.

const WHOLE = "all of it is in the store";

const KINDS: { readonly [kind: string]: string } = {
  "turn-loop": "an agent, turn by turn",
  conversation: "a conversation, exchange by exchange",
  run: "code",
  loop: "a loop",
  pipeline: "a pipeline",
  human: "a question to a person",
};

export function begunStep(
  { path, kind, phase, input }: StepRecord,
  setup: AgentSetup | null,
): readonly string[] {
  const part = phase === "" ? "" : `, phase ${code(phase)}`;
  const known = ownProperty(KINDS, kind);
  return [
    `### Step ${code(path)}`,
    `${known === undefined ? `A step of kind ${code(kind)}` : `This is ${known}`}${part}. Its input:`,
    jsonFence(input, WHOLE),
    ...(setup === null ? [] : setup.lineage === 0 ? setupText(setup) : [CHANGED_SETUP]),
  ];
}

const CHANGED_SETUP =
  "Its first prompt is not shown here; the current one is shown where its last lineage begins.";

export function resumedStep({ path }: StepRecord): readonly string[] {
  return [`### Step ${code(path)}, entered again`];
}

export function skippedStep({ path }: StepRecord): readonly string[] {
  return [`### Step ${code(path)}, skipped`];
}

export function finishedStep({ path, output }: StepRecord, at: number): readonly string[] {
  return [`**Step ${code(path)} is done** at ${timeOfDay(at)}. Its output:`, jsonFence(output, WHOLE)];
}

export function decidedLoop({ facts, step }: Incident): readonly string[] {
  const name = step === null ? "The loop" : `Loop ${code(step.path)}`;
  const ends = facts.done === true ? "it is done" : "it continues";
  return [`${name}, after iteration ${numberIn(facts, "iteration") ?? "?"}: ${ends}.`];
}

/** The model does not see the earlier history from here on. */
export function begunLineage({ facts, step }: Incident, setup: AgentSetup | null): readonly string[] {
  const checkpoint = numberIn(facts, "from");
  const openTurn = numberIn(facts, "openTurn");
  const from = checkpoint === null ? "the beginning" : `checkpoint ${checkpoint}`;
  const left =
    openTurn === null ? "" : ` Turn ${openTurn}, which was open, is abandoned and was never committed.`;
  return [
    `**A new lineage begins${step === null ? "" : ` in step ${code(step.path)}`}**: the session is as it was at ${from}, the history is empty, and turns continue with number ${numberIn(facts, "turn") ?? "?"}. The calls made so far keep their receipts.${left}`,
    ...(setup === null || setup.lineage !== numberIn(facts, "lineage") ? [] : setupText(setup)),
  ];
}

export function acceptedDivergence({ event, facts }: Incident): readonly string[] {
  const why = textIn(facts, "why") ?? "";
  if (why === BETWEEN_EXCHANGES)
    return [
      `**The conversation continues with a changed agent** from ${timeOfDay(event.at)} on: its prompt, model, tools or settings have changed between two exchanges.`,
    ];
  return [
    `**A person let the step continue** at ${timeOfDay(event.at)}, although its prompt, model, tools or settings have changed: ${sentence(why)}`,
  ];
}

/** The model, its tools and its system prompt. */
function setupText({ model, provider, prompt, tools }: AgentSetup): readonly string[] {
  const known = tools.length === 0 ? "It has no tools." : `Its tools: ${tools.map(code).join(", ")}.`;
  const asked = `The model is ${code(model)} of ${inline(provider)}. ${known}`;
  if (prompt === "") return [`${asked} It has no system prompt.`];
  return [
    `${asked} The system prompt${typeof prompt === "string" ? "" : ", as a template"}:`,
    jsonFence(prompt, WHOLE),
  ];
}

import { ownProperty } from "../../core/own-property.ts";
import type { StepRecord } from "../../store/store.ts";
import { numberIn, textIn } from "../event-facts.ts";
import { timeOfDay } from "../figures.ts";
import { code, inline, jsonFence, sentence } from "../markdown.ts";
import type { Incident } from "../run-story.ts";
import type { StepGround } from "../step-ground.ts";

// What a transcript says of steps: what they begin with, what they come to, and where a history is left.

const WHOLE = "all of it is in the store";

const KINDS: { readonly [kind: string]: string } = {
  "turn-loop": "an agent, turn by turn",
  run: "code",
  loop: "a loop",
  pipeline: "a pipeline",
  human: "a question to a person",
};

export function begunStep(
  { path, kind, phase, input }: StepRecord,
  ground: StepGround | null,
): readonly string[] {
  const part = phase === "" ? "" : `, phase ${code(phase)}`;
  const known = ownProperty(KINDS, kind);
  return [
    `### Step ${code(path)}`,
    `${known === undefined ? `A step of kind ${code(kind)}` : `This is ${known}`}${part}. Its input:`,
    jsonFence(input, WHOLE),
    ...(ground === null ? [] : ground.lineage === 0 ? groundText(ground) : [CHANGED_GROUND]),
  ];
}

const CHANGED_GROUND =
  "The prompt that it began with is not shown here; the one it has now stands where its last line of history begins.";

export function resumedStep({ path }: StepRecord): readonly string[] {
  return [`### Step ${code(path)}, entered again`];
}

export function skippedStep({ path }: StepRecord): readonly string[] {
  return [`### Step ${code(path)}, skipped`];
}

export function finishedStep({ path, output }: StepRecord, at: number): readonly string[] {
  return [`**Step ${code(path)} is done** at ${timeOfDay(at)}. It gives:`, jsonFence(output, WHOLE)];
}

export function decidedLoop({ facts, step }: Incident): readonly string[] {
  const name = step === null ? "The loop" : `Loop ${code(step.path)}`;
  const ends = facts.done === true ? "it is done" : "it goes on";
  return [`${name}, after iteration ${numberIn(facts, "iteration") ?? "?"}: ${ends}.`];
}

/** What came before it is not what the model sees from here on. */
export function begunLineage({ facts, step }: Incident, ground: StepGround | null): readonly string[] {
  const checkpoint = numberIn(facts, "from");
  const openTurn = numberIn(facts, "openTurn");
  const from = checkpoint === null ? "the beginning" : `checkpoint ${checkpoint}`;
  const left = openTurn === null ? "" : ` Turn ${openTurn}, which was open, is left and was never committed.`;
  return [
    `**A new line of history begins${step === null ? "" : ` in step ${code(step.path)}`}**: the session is as it was at ${from}, the history is empty, and turns are numbered on from ${numberIn(facts, "turn") ?? "?"}. The calls made so far keep their receipts.${left}`,
    ...(ground === null || ground.lineage !== numberIn(facts, "lineage") ? [] : groundText(ground)),
  ];
}

export function acceptedDivergence({ event, facts }: Incident): readonly string[] {
  return [
    `**Somebody let the step go on** at ${timeOfDay(event.at)}, although its prompt, model, tools or settings are not what they were: ${sentence(textIn(facts, "why") ?? "")}`,
  ];
}

/** The model, its tools, and what it was told to be. */
function groundText({ model, provider, prompt, tools }: StepGround): readonly string[] {
  const known = tools.length === 0 ? "It has no tools." : `Its tools: ${tools.map(code).join(", ")}.`;
  const asked = `The model is ${code(model)} of ${inline(provider)}. ${known}`;
  if (prompt === "") return [`${asked} It has no system prompt.`];
  return [
    `${asked} The system prompt${typeof prompt === "string" ? "" : ", as a template"}:`,
    jsonFence(prompt, WHOLE),
  ];
}

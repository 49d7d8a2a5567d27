import { isJsonObject, type Json } from "../core/json.ts";
import type { StepPath } from "../core/step-path.ts";
import type { StoreReader } from "../store/store.ts";
import type { RunAccount } from "./run-account.ts";

/** What an agent was given to work with, as its fingerprint has it. */
export type StepGround = {
  /** The line of history that it is of, the last one; 0 where there is only one. */
  readonly lineage: number;
  readonly model: string;
  readonly provider: string;
  /** A text, or a template with what it is bound to. */
  readonly prompt: Json;
  readonly tools: readonly string[];
};

/** By step path, of each step that has asked a model. */
export async function readGrounds(
  reader: StoreReader,
  { steps, modelCalls, lineages }: RunAccount,
): Promise<ReadonlyMap<StepPath, StepGround>> {
  const asking = new Set(modelCalls.map(({ stepPath }) => stepPath));
  const lineageOf = new Map(lineages.map(({ stepPath, lineage }) => [stepPath, lineage]));
  const grounds = new Map<StepPath, StepGround>();
  for (const { path, stepKey } of steps) {
    if (!asking.has(path)) continue;
    const { fingerprint } = await reader.readConversation(stepKey, 0);
    const document = fingerprint?.document ?? null;
    if (isJsonObject(document)) grounds.set(path, groundIn(document, lineageOf.get(path) ?? 0));
  }
  return grounds;
}

function groundIn(document: { readonly [name: string]: Json }, lineage: number): StepGround {
  const { model = "", provider = "", prompt = "", tools = {} } = document;
  return {
    lineage,
    model: typeof model === "string" ? model : "",
    provider: typeof provider === "string" ? provider : "",
    prompt,
    tools: isJsonObject(tools) ? Object.keys(tools) : [],
  };
}

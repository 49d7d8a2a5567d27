import { isJsonObject, type Json } from "../core/json.ts";
import type { StepRecord, StoreReader } from "../store/store.ts";
import type { RunOutline } from "./run-outline.ts";

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

/** Of a step that has asked a model; null for any other. */
export async function readGround(
  reader: StoreReader,
  { run: { runId }, lineages }: RunOutline,
  { path: stepPath, stepKey }: StepRecord,
): Promise<StepGround | null> {
  const first = { after: { stepPath, turnIndex: 0, attempt: 0 }, limit: 1 };
  const [asked] = await reader.listModelCalls(runId, first);
  if (asked?.stepPath !== stepPath) return null;
  const { fingerprint } = await reader.readConversation(stepKey, 0);
  const document = fingerprint?.document ?? null;
  const last = lineages.findLast((line) => line.stepPath === stepPath);
  return isJsonObject(document) ? groundIn(document, last?.lineage ?? 0) : null;
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

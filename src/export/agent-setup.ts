import { isJsonObject, type Json } from "../core/json.ts";
import type { StepRecord, StoreReader } from "../store/store.ts";
import type { RunOutline } from "./run-outline.ts";

/** The model, prompt and tools of an agent, from its fingerprint. */
export type AgentSetup = {
  /** The last lineage of the step, to which it belongs; 0 if there is only one. */
  readonly lineage: number;
  readonly model: string;
  readonly provider: string;
  /** A text, or a template with its bound parameters. */
  readonly prompt: Json;
  readonly tools: readonly string[];
};

/** The setup of a step that has called a model; null for any other. */
export async function readAgentSetup(
  reader: StoreReader,
  { run: { runId }, lineages }: RunOutline,
  { path: stepPath, stepKey }: StepRecord,
): Promise<AgentSetup | null> {
  const first = { after: { stepPath, turnIndex: 0, attempt: 0 }, limit: 1 };
  const [asked] = await reader.listModelCalls(runId, first);
  if (asked?.stepPath !== stepPath) return null;
  const { fingerprint } = await reader.readConversation(runId, stepKey, 0);
  const document = fingerprint?.document ?? null;
  const last = lineages.findLast(
    // A summary begins a lineage without another agent.
    (line) => line.stepPath === stepPath && line.summary === null,
  );
  return isJsonObject(document) ? setupIn(document, last?.lineage ?? 0) : null;
}

function setupIn(document: { readonly [name: string]: Json }, lineage: number): AgentSetup {
  const { model = "", provider = "", prompt = "", tools = {} } = document;
  return {
    lineage,
    model: typeof model === "string" ? model : "",
    provider: typeof provider === "string" ? provider : "",
    prompt,
    tools: isJsonObject(tools) ? Object.keys(tools) : [],
  };
}

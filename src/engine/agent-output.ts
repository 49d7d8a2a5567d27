import { z } from "zod";
import type { Json } from "../core/json.ts";
import { textOf, toolCallsOf } from "../core/message.ts";
import type { StoredResponse } from "../store/store.ts";
import type { PreparedAgent } from "./agent.ts";

/** What a response says, read by the agent's output schema. A problem is a sentence for the model to act on. */
export type AgentAnswer = { readonly output: Json; readonly problem: string | null };

export async function answerOf({ agent }: PreparedAgent, response: StoredResponse): Promise<AgentAnswer> {
  const text = textOf(response.content);
  if (agent.output === null) return { output: text, problem: null };
  if (toolCallsOf(response.content).length > 0) return { output: null, problem: null };
  const value = parseAnswer(text);
  if (value === undefined)
    return {
      output: null,
      problem: "Your answer is not valid JSON. Answer again with nothing but the JSON.",
    };
  const parsed = await agent.output.safeParseAsync(value);
  if (parsed.success) return { output: value, problem: null };
  return {
    output: null,
    problem: `Your answer does not fit the schema: ${z.prettifyError(parsed.error)}\nAnswer again.`,
  };
}

/** Models like to put their JSON in a fence, whatever they were told. */
function parseAnswer(text: string): Json | undefined {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1];
  try {
    return JSON.parse(fenced ?? text) as Json;
  } catch {
    return undefined;
  }
}

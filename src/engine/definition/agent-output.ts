import { assertKeptByJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { isDeeper, type Json, MAX_PAYLOAD_DEPTH, throughJson } from "../../core/json.ts";
import { sizeOf } from "../../core/json-schema-check.ts";
import { textOf, toolCallsOf } from "../../core/message.ts";
import { MAX_ANSWER_VALUES } from "../../core/turn/answer-limits.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { PreparedAgent } from "./agent.ts";

/**
 * A response, parsed by the agent's output schema. `misfit` is what is wrong with it ("is not valid JSON"), and `problem` a
 * sentence about that for the model to act on.
 */
export type AgentAnswer = {
  readonly output: Json;
  readonly misfit: string | null;
  readonly problem: string | null;
};

export async function answerOf(
  { agent }: Pick<PreparedAgent, "agent">,
  response: Pick<StoredResponse, "content">,
): Promise<AgentAnswer> {
  const text = textOf(response.content);
  if (agent.output === null) return fitting(text);
  if (toolCallsOf(response.content).length > 0) return fitting(null);
  const value = parseAnswer(text);
  if (value === undefined) return misfit("is not valid JSON", ". Answer again with nothing but the JSON.");
  if (isDeeper(value, MAX_PAYLOAD_DEPTH))
    return misfit(`is nested deeper than ${MAX_PAYLOAD_DEPTH} levels`, ". Answer again with flatter JSON.");
  if (sizeOf(value, MAX_ANSWER_VALUES) === null)
    return misfit(`has more than ${MAX_ANSWER_VALUES} values`, ". Answer again with less.");
  const checked = await agent.output.parse(value);
  if (checked.ok) return fitting(storable(agent.name, checked.value));
  return misfit(`does not fit the schema: ${checked.error}`, "\nAnswer again.");
}

function fitting(output: Json): AgentAnswer {
  return { output, misfit: null, problem: null };
}

function misfit(what: string, request: string): AgentAnswer {
  return { output: null, misfit: what, problem: `Your answer ${what}${request}` };
}

/**
 * The answer after the schema's defaults and transforms, as JSON: a date becomes a string. A value that JSON would drop or
 * change (a Map, a function, NaN) is refused with its path: the agent's type promises it.
 */
function storable(agent: string, data: unknown): Json {
  try {
    const json = throughJson(data, MAX_PAYLOAD_DEPTH);
    assertKeptByJson(data);
    return json;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
    throw new ConfigurationError(
      `The output schema of agent ${agent} turns an answer into something that is not JSON (${why}): change its transforms.`,
      {},
      { cause: error },
    );
  }
}

/** Models often put their JSON in a code fence, even when instructed not to. */
function parseAnswer(text: string): Json | undefined {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(text)?.[1];
  try {
    return JSON.parse(fenced ?? text) as Json;
  } catch {
    return undefined;
  }
}

import { ModelCallError } from "../../core/errors.ts";
import { isDeeper, type Json, MAX_PAYLOAD_DEPTH, upToDepth } from "../../core/json.ts";
import { type AssistantPart, toolCallsOf } from "../../core/message.ts";
import { excessIn } from "../../core/turn/answer-limits.ts";
import { type Usage, usageOf } from "../../core/usage/usage.ts";
import type { ModelResponse } from "./model-port.ts";

/**
 * A port's response, made safe for the engine: implausible usage figures become null, and content is nested no deeper than
 * can be stored and sent again. A call with deeper arguments becomes invalid, with a sentence for the model.
 */
export function readResponse(response: ModelResponse): ModelResponse {
  const { content, invalidCalls } = response;
  const usage = usageOf(response.usage, { hasContent: content.length > 0 });
  const excess = excessIn(content);
  if (excess !== null) throw excessive(excess, usage);
  if (!content.some(isTooDeep)) return { ...response, usage };
  const deep = toolCallsOf(content).filter(({ input }) => hasTooDeepArguments(input));
  const problems = deep.map(({ toolCallId, toolName }) => [toolCallId, tooDeepArguments(toolName)] as const);
  return {
    ...response,
    usage,
    content: content.map((part) => (isTooDeep(part) ? shallow(part) : part)),
    invalidCalls: { ...Object.fromEntries(problems), ...invalidCalls },
  };
}

/** A response over the limits is discarded, but its usage is charged. */
function excessive(excess: string, usage: Usage | null): ModelCallError {
  return new ModelCallError(
    `The model ${excess}. The response was discarded: have the agent do less per turn.`,
    {
      kind: "no_answer",
      status: null,
      retryAfterMs: null,
      retryable: true,
      ...(usage === null ? {} : { usage }),
    },
  );
}

export function hasTooDeepArguments(input: unknown): boolean {
  return isDeeper(input, MAX_PAYLOAD_DEPTH);
}

/** A sentence for the model, which can call again with other arguments. */
export function tooDeepArguments(tool: string): string {
  return `The arguments of "${tool}" are nested deeper than ${MAX_PAYLOAD_DEPTH} levels. Call it again with flatter ones.`;
}

function isTooDeep(part: AssistantPart): boolean {
  return isDeeper(part, PART_DEPTH);
}

/** A payload, plus one level for the part around it. */
const PART_DEPTH = MAX_PAYLOAD_DEPTH + 1;

function shallow(part: AssistantPart): AssistantPart {
  const fields = Object.entries<Json>(part).map(([name, value]) => {
    return [name, upToDepth(value, MAX_PAYLOAD_DEPTH)] as const;
  });
  return { ...Object.fromEntries(fields), type: part.type };
}

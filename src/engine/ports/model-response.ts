import { ModelCallError } from "../../core/errors.ts";
import { isDeeper, type Json, MAX_PAYLOAD_DEPTH, upToDepth } from "../../core/json.ts";
import { type AssistantPart, toolCallsOf } from "../../core/message.ts";
import { excessIn } from "../../core/turn/answer-limits.ts";
import { type Usage, usageOf } from "../../core/usage/usage.ts";
import type { ModelResponse } from "./model-port.ts";

/**
 * What a port has answered, as the engine takes it: with figures that can be true or none, and nested no deeper than can be
 * stored and sent again. A call whose arguments are deeper is not valid, and the model is shown why.
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

/** An answer that cannot be taken is none; but it is paid for. */
function excessive(excess: string, usage: Usage | null): ModelCallError {
  return new ModelCallError(
    `The model ${excess}. Nothing of it was taken: have the agent do less at a time.`,
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

/** For the model, which can do something about it. */
export function tooDeepArguments(tool: string): string {
  return `The arguments of "${tool}" are nested deeper than ${MAX_PAYLOAD_DEPTH} levels. Call it again with flatter ones.`;
}

function isTooDeep(part: AssistantPart): boolean {
  return isDeeper(part, PART_DEPTH);
}

/** The part, and what it holds. */
const PART_DEPTH = MAX_PAYLOAD_DEPTH + 1;

function shallow(part: AssistantPart): AssistantPart {
  const fields = Object.entries<Json>(part).map(([name, value]) => {
    return [name, upToDepth(value, MAX_PAYLOAD_DEPTH)] as const;
  });
  return { ...Object.fromEntries(fields), type: part.type };
}

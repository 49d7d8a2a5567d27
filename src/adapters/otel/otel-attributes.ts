import type { Attributes, SpanKind } from "@opentelemetry/api";
import type { Usage } from "../../core/usage/usage.ts";
import type { SpanFacts, SpanStart, TracedRun } from "../../engine/ports/telemetry-port.ts";
import { openTelemetry } from "./otel-package.ts";

const { SpanKind: kinds } = openTelemetry;

export type SpanDescription = {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
};

/** The span of one worker's lease of a run. */
export function describeRun({ runId, pipeline, resumed }: TracedRun): SpanDescription {
  return {
    name: `pawl.run ${pipeline}`,
    kind: kinds.INTERNAL,
    attributes: {
      "gen_ai.conversation.id": runId,
      "pawl.run_id": runId,
      "pawl.pipeline": pipeline,
      "pawl.resumed": resumed,
    },
  };
}

/** Named by the semantic conventions for generative AI; a code step, which they do not have, gets a name of Pawl's. */
export function describeSpan(runId: string, start: SpanStart): SpanDescription {
  const ids = { "gen_ai.conversation.id": runId, "pawl.run_id": runId, "pawl.step_id": start.stepId };
  switch (start.kind) {
    case "agent":
      return {
        name: `invoke_agent ${start.agent}`,
        kind: kinds.INTERNAL,
        attributes: {
          ...ids,
          ...modelAttributes("invoke_agent", start),
          "gen_ai.agent.name": start.agent,
        },
      };
    case "step":
      return { name: `pawl.step ${start.step}`, kind: kinds.INTERNAL, attributes: ids };
    case "chat":
      return {
        name: `chat ${start.model}`,
        kind: kinds.CLIENT,
        attributes: {
          ...ids,
          ...modelAttributes("chat", start),
          ...settingsAttributes(start.settings),
          "pawl.turn": start.turn,
          "pawl.attempt": start.attempt,
        },
      };
    case "tool":
      return {
        name: `execute_tool ${start.tool}`,
        kind: kinds.INTERNAL,
        attributes: toolAttributes(ids, start),
      };
  }
}

/** Also the attributes of a model call's metrics. */
export function modelAttributes(
  operation: "invoke_agent" | "chat",
  { provider, model }: { readonly provider: string; readonly model: string },
): Attributes {
  return {
    "gen_ai.operation.name": operation,
    "gen_ai.provider.name": providerName(provider),
    "gen_ai.request.model": model,
  };
}

function settingsAttributes(settings: Extract<SpanStart, { kind: "chat" }>["settings"]): Attributes {
  const { maxOutputTokens, temperature, topP, seed, stopSequences } = settings;
  return known({
    "gen_ai.request.max_tokens": finite(maxOutputTokens),
    "gen_ai.request.temperature": finite(temperature),
    "gen_ai.request.top_p": finite(topP),
    "gen_ai.request.seed": finite(seed),
    "gen_ai.request.stop_sequences": stopSequences === undefined ? undefined : [...stopSequences],
  });
}

/**
 * Without the idempotency key: it is a hash of the arguments, so that short ones could be guessed from it. It can be looked
 * up in the ledger by the id of the call.
 */
function toolAttributes(ids: Attributes, start: Extract<SpanStart, { kind: "tool" }>): Attributes {
  return {
    ...ids,
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": start.tool,
    "gen_ai.tool.type": "function",
    "gen_ai.tool.description": start.description,
    "gen_ai.tool.call.id": start.toolCallId,
    "pawl.tool_call_id": start.toolCallId,
    "pawl.turn": start.turn,
    "pawl.attempt": start.attempt,
    "pawl.tool.namespace": start.namespace,
    "pawl.tool.effect": start.effect,
  };
}

/** The facts of a span, without content. */
export function factAttributes({ usage, finishReason, responseId, status }: SpanFacts): Attributes {
  return known({
    ...(usage === undefined ? {} : usageAttributes(usage)),
    "gen_ai.response.finish_reasons": finishReason === undefined ? undefined : [finishReason],
    "gen_ai.response.id": responseId,
    "pawl.tool.status": status,
  });
}

function usageAttributes(usage: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": finite(usage.inputTokens),
    "gen_ai.usage.output_tokens": finite(usage.outputTokens),
    "gen_ai.usage.cache_read.input_tokens": finite(usage.cachedInputTokens),
    "gen_ai.usage.reasoning.output_tokens": finite(usage.reasoningTokens),
  };
}

/** A custom port may return NaN or Infinity, which exporters handle differently. */
export function finite(figure: number | undefined): number | undefined {
  return Number.isFinite(figure) ? figure : undefined;
}

function known(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** The AI SDK's provider names and those of the conventions. The first matching prefix counts. */
const PROVIDER_NAMES: readonly (readonly [prefix: string, name: string])[] = [
  ["openai", "openai"],
  ["anthropic", "anthropic"],
  ["google.vertex", "gcp.vertex_ai"],
  ["vertex", "gcp.vertex_ai"],
  ["google", "gcp.gemini"],
  ["amazon-bedrock", "aws.bedrock"],
  ["bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["azure-openai", "azure.ai.openai"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
  ["groq", "groq"],
  ["deepseek", "deepseek"],
  ["cohere", "cohere"],
  ["perplexity", "perplexity"],
];

/** `openai.responses` is `openai`; an unknown provider keeps its whole name. */
function providerName(provider: string): string {
  const named = PROVIDER_NAMES.find(([prefix]) => `${provider}.`.startsWith(`${prefix}.`));
  return named?.[1] ?? provider;
}

import type { Context, SpanContext } from "@opentelemetry/api";
import { openTelemetry } from "./otel-package.ts";

const { isSpanContextValid, propagation, trace } = openTelemetry;

/** The ids that are propagated with a span. A missing one is removed from the baggage: it would be that of an outer run. */
export type PropagatedIds = {
  readonly runId: string;
  readonly stepId?: string;
  readonly toolCallId?: string;
};

const BAGGAGE_NAMES = {
  runId: "pawl.run_id",
  stepId: "pawl.step_id",
  toolCallId: "pawl.tool_call_id",
} as const satisfies Record<keyof PropagatedIds, string>;

/** The W3C standard guarantees no longer baggage, and one id of a deep pipeline may exceed it. */
const MOST_BAGGAGE_CHARACTERS = 4096;

export function traceParentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Null if the text is not a valid traceparent, such as one of a later version. */
export function parseTraceParent(text: string): SpanContext | null {
  const [, traceId = "", spanId = "", flags = ""] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) ?? [];
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : null;
}

/** The context with the ids as baggage, for instrumented code inside. */
export function withIds(context: Context, ids: PropagatedIds): Context {
  let baggage = propagation.getBaggage(context) ?? propagation.createBaggage();
  for (const [field, name] of fields()) {
    const value = ids[field];
    baggage = value === undefined ? baggage.removeEntry(name) : baggage.setEntry(name, { value });
  }
  return propagation.setBaggage(context, baggage);
}

/**
 * Written here, since `propagation.inject` writes nothing if no propagator is registered. Of the baggage it has only Pawl's
 * own ids: other entries of the caller are not for every server that a tool talks to.
 */
export function headersOf(context: Context, ids: PropagatedIds): { readonly [name: string]: string } {
  const span = trace.getSpanContext(context);
  if (span === undefined || !isSpanContextValid(span)) return {};
  const state = span.traceState?.serialize() ?? "";
  return {
    traceparent: traceParentOf(span),
    ...(state === "" ? {} : { tracestate: state }),
    baggage: baggageOf(ids),
  };
}

function baggageOf(ids: PropagatedIds): string {
  return fields()
    .flatMap(([field, name]) => {
      const value = ids[field];
      return value === undefined ? [] : [`${name}=${encodeURIComponent(value.toWellFormed())}`];
    })
    .filter((entry) => entry.length <= MOST_BAGGAGE_CHARACTERS)
    .join(",");
}

function fields(): readonly (readonly [keyof PropagatedIds, string])[] {
  return Object.entries(BAGGAGE_NAMES) as [keyof PropagatedIds, string][];
}

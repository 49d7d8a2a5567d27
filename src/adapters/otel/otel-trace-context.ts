import type { Context, SpanContext } from "@opentelemetry/api";
import { openTelemetry } from "./otel-package.ts";

const { isSpanContextValid, propagation, trace } = openTelemetry;

/** The ids that travel with a span. What is not there is taken out: it would be that of a run around this one. */
export type TravellingIds = {
  readonly runId: string;
  readonly stepId?: string;
  readonly toolCallId?: string;
};

const BAGGAGE_NAMES = {
  runId: "pawl.run_id",
  stepId: "pawl.step_id",
  toolCallId: "pawl.tool_call_id",
} as const satisfies Record<keyof TravellingIds, string>;

/** Longer ones are not to be relied on, by the rules of the W3C, and one id of a deep pipeline may be. */
const MOST_BAGGAGE_CHARACTERS = 4096;

export function traceParentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Null where the text is none, as one of a later version may be. */
export function parseTraceParent(text: string): SpanContext | null {
  const [, traceId = "", spanId = "", flags = ""] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) ?? [];
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : null;
}

/** The context with the ids as baggage, for whatever is instrumented inside. */
export function withIds(context: Context, ids: TravellingIds): Context {
  let baggage = propagation.getBaggage(context) ?? propagation.createBaggage();
  for (const [field, name] of fields()) {
    const value = ids[field];
    baggage = value === undefined ? baggage.removeEntry(name) : baggage.setEntry(name, { value });
  }
  return propagation.setBaggage(context, baggage);
}

/**
 * Written here, since `propagation.inject` writes nothing where no propagator is registered. Of the baggage only Pawl's own
 * ids: what else the caller carries is not for every server that a tool talks to.
 */
export function headersOf(context: Context, ids: TravellingIds): { readonly [name: string]: string } {
  const span = trace.getSpanContext(context);
  if (span === undefined || !isSpanContextValid(span)) return {};
  const state = span.traceState?.serialize() ?? "";
  return {
    traceparent: traceParentOf(span),
    ...(state === "" ? {} : { tracestate: state }),
    baggage: baggageOf(ids),
  };
}

function baggageOf(ids: TravellingIds): string {
  return fields()
    .flatMap(([field, name]) => {
      const value = ids[field];
      return value === undefined ? [] : [`${name}=${encodeURIComponent(value.toWellFormed())}`];
    })
    .filter((entry) => entry.length <= MOST_BAGGAGE_CHARACTERS)
    .join(",");
}

function fields(): readonly (readonly [keyof TravellingIds, string])[] {
  return Object.entries(BAGGAGE_NAMES) as [keyof TravellingIds, string][];
}

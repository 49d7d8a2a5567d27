import type { Context, Link, Span, Tracer } from "@opentelemetry/api";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import {
  NO_SPAN,
  type OpenSpan,
  type RunTelemetry,
  type SpanFacts,
  type SpanStart,
  type TracedRun,
} from "../../engine/ports/telemetry-port.ts";
import { describeRun, describeSpan, factAttributes } from "./otel-attributes.ts";
import { inputContent, outputContent } from "./otel-content.ts";
import { reportedError, type SpanError, stopOf, thrownError } from "./otel-error.ts";
import { type Instruments, type MeasuredCall, RunMetrics } from "./otel-metrics.ts";
import { openTelemetry } from "./otel-package.ts";
import {
  headersOf,
  type PropagatedIds,
  parseTraceParent,
  traceParentOf,
  withIds,
} from "./otel-trace-context.ts";

const { context: contexts, createContextKey, isSpanContextValid, SpanStatusCode, trace } = openTelemetry;

export type TracingOptions = {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  /** True if messages, arguments and results go into the spans. */
  readonly content: boolean;
};

/** The innermost span of Pawl's that a context is in; spans of other code may be in between. */
const OWN_SPAN = createContextKey("pawl.span");

/** An error message may hold a whole page. */
const MOST_MESSAGE_CHARACTERS = 2_000;

/**
 * The trace of one worker's lease of a run. Parents are found by step id, so they are right even without a context
 * manager, and if calls that run concurrently begin and end inside one another.
 */
export class OtelRun implements RunTelemetry {
  readonly traceParent: string | null;
  readonly #runId: string;
  readonly #options: TracingOptions;
  readonly #span: Span;
  readonly #context: Context;
  readonly #metrics: RunMetrics;
  /** The contexts of the agents and steps that are running, by step id. */
  readonly #steps = new Map<string, Context>();

  constructor(run: TracedRun, options: TracingOptions) {
    const { runId, pipeline } = run;
    const { name, kind, attributes } = describeRun(run);
    const { parent, links } = ancestryOf(run.earlier);
    this.#runId = runId;
    this.#options = options;
    this.#span = options.tracer.startSpan(name, { kind, attributes, links: [...links] }, parent);
    this.#context = inside(this.#span, parent, { runId });
    this.#metrics = new RunMetrics(options.instruments, pipeline, this.#context);
    const own = this.#span.spanContext();
    // If no SDK is registered, the span is not a real one: it repeats its parent, or is not valid.
    const isTraced = isSpanContextValid(own) && own.spanId !== trace.getSpanContext(parent)?.spanId;
    this.traceParent = isTraced ? traceParentOf(own) : null;
  }

  during<T>(work: () => Promise<T>): Promise<T> {
    return this.traceParent === null ? work() : contexts.with(this.#context, work);
  }

  async within<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
    const call = start.kind === "chat" ? this.#metrics.beginCall(start) : null;
    if (this.traceParent === null) return measured(start, call, work);
    const parent = this.#parentOf(start);
    const { name, kind, attributes } = describeSpan(this.#runId, start);
    const span = this.#options.tracer.startSpan(name, { kind, attributes }, parent);
    const ids = idsOf(this.#runId, start);
    const context = inside(span, parent, ids);
    const recorder = new SpanRecorder(span, start, this.#options);
    const isStep = start.kind === "agent" || start.kind === "step";
    if (isStep) this.#steps.set(start.stepId, context);
    try {
      const open = { headers: headersOf(context, ids), record: (facts: SpanFacts) => recorder.record(facts) };
      return await contexts.with(context, () => measured(start, call, work, open));
    } catch (error) {
      conclude(span, error);
      throw error;
    } finally {
      if (isStep) this.#steps.delete(start.stepId);
      span.end();
    }
  }

  onEvent(event: RunEvent): void {
    if (event.type === "run.finished") this.#span.setAttribute("pawl.status", event.result.status);
    this.#metrics.onEvent(event);
  }

  end(error: unknown): void {
    try {
      if (error !== null) conclude(this.#span, error);
    } finally {
      this.#span.end();
    }
  }

  /** Spans that user code started in between stay in between. */
  #parentOf(start: SpanStart): Context {
    const isStep = start.kind === "agent" || start.kind === "step";
    const above = (isStep ? undefined : this.#steps.get(start.stepId)) ?? this.#context;
    const active = contexts.active();
    return active.getValue(OWN_SPAN) === above.getValue(OWN_SPAN) ? active : above;
  }
}

/** Writes the reported facts of a span to its attributes. */
class SpanRecorder {
  readonly #span: Span;
  readonly #start: SpanStart;
  readonly #hasContent: boolean;

  constructor(span: Span, start: SpanStart, { content }: Pick<TracingOptions, "content">) {
    this.#span = span;
    this.#start = start;
    // The content of a span that is not recorded is lost, and takes time to write.
    this.#hasContent = content && span.isRecording();
    if (this.#hasContent) span.setAttributes(inputContent(start));
  }

  record(facts: SpanFacts): void {
    this.#span.setAttributes(factAttributes(facts));
    const error = reportedError(this.#start, facts);
    if (error !== null) markFailed(this.#span, error);
    if (this.#hasContent) this.#span.setAttributes(outputContent(this.#start, facts));
  }
}

/** Does the work, and records the duration and usage of a model call. */
async function measured<T>(
  start: SpanStart,
  call: MeasuredCall | null,
  work: (span: OpenSpan) => Promise<T>,
  span: OpenSpan = NO_SPAN,
): Promise<T> {
  if (call === null) return work(span);
  let reported: SpanFacts = {};
  let thrown: SpanError | null = null;
  const listen = (facts: SpanFacts) => {
    reported = { ...reported, ...facts };
    span.record(facts);
  };
  try {
    return await work({ headers: span.headers, record: listen });
  } catch (error) {
    thrown = thrownError(error);
    throw error;
  } finally {
    call.end(reported.usage, (thrown ?? reportedError(start, reported))?.type ?? null);
  }
}

/**
 * One run is one trace: each later worker's span is a child of the first worker's. It is linked to the previous worker's
 * span and to the caller's.
 */
function ancestryOf(earlier: readonly string[]): {
  readonly parent: Context;
  readonly links: readonly Link[];
} {
  const active = contexts.active();
  const workers = earlier.flatMap((text) => parseTraceParent(text) ?? []);
  const [first] = workers;
  const last = workers.at(-1);
  if (first === undefined || last === undefined) return { parent: active, links: [] };
  const caller = trace.getSpanContext(active);
  const linked = caller === undefined || !isSpanContextValid(caller) ? [last] : [last, caller];
  return { parent: trace.setSpanContext(active, first), links: linked.map((context) => ({ context })) };
}

function inside(span: Span, parent: Context, ids: PropagatedIds): Context {
  return withIds(trace.setSpan(parent, span).setValue(OWN_SPAN, span), ids);
}

function idsOf(runId: string, start: SpanStart): PropagatedIds {
  const { stepId } = start;
  return start.kind === "tool" ? { runId, stepId, toolCallId: start.toolCallId } : { runId, stepId };
}

function conclude(span: Span, error: unknown): void {
  const stop = stopOf(error);
  if (stop === null) markFailed(span, thrownError(error));
  else span.setAttribute("pawl.stopped_by", stop);
}

function markFailed(span: Span, { type, message }: SpanError): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, message: message.slice(0, MOST_MESSAGE_CHARACTERS) });
}

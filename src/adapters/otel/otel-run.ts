import type { Context, Link, Span, Tracer } from "@opentelemetry/api";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import {
  NOT_TRACED,
  type OpenSpan,
  type RunTelemetry,
  type SpanFacts,
  type SpanStart,
  type TracedRun,
} from "../../engine/ports/telemetry-port.ts";
import { describeRun, describeSpan, factAttributes } from "./otel-attributes.ts";
import { inputContent, outputContent } from "./otel-content.ts";
import { type Instruments, type MeasuredCall, RunFigures } from "./otel-figures.ts";
import { openTelemetry } from "./otel-package.ts";
import { type Problem, stopOf, thrownProblem, toldProblem } from "./otel-problem.ts";
import {
  headersOf,
  parseTraceParent,
  type TravellingIds,
  traceParentOf,
  withIds,
} from "./otel-trace-context.ts";

const { context: contexts, createContextKey, isSpanContextValid, SpanStatusCode, trace } = openTelemetry;

export type TracingOptions = {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  /** Whether what is said goes into the spans. */
  readonly content: boolean;
};

/** The span of Pawl's that a context is in, whatever spans of others are in between. */
const OWN_SPAN = createContextKey("pawl.span");

/** Messages of errors may hold whole pages. */
const MOST_MESSAGE_CHARACTERS = 2_000;

/**
 * One worker's time with a run. Who is whose parent is known from the ids of the steps, so that it is right without a
 * context manager too, and where calls that run at once begin and end inside one another.
 */
export class OtelRun implements RunTelemetry {
  readonly traceParent: string | null;
  readonly #runId: string;
  readonly #options: TracingOptions;
  readonly #span: Span;
  readonly #context: Context;
  readonly #figures: RunFigures;
  /** The contexts of the agents and steps that are under way, by the id of the step. */
  readonly #steps = new Map<string, Context>();

  constructor(run: TracedRun, options: TracingOptions) {
    const { runId, pipeline } = run;
    const { name, kind, attributes } = describeRun(run);
    const { parent, links } = ancestryOf(run.earlier);
    this.#runId = runId;
    this.#options = options;
    this.#span = options.tracer.startSpan(name, { kind, attributes, links: [...links] }, parent);
    this.#context = inside(this.#span, parent, { runId });
    this.#figures = new RunFigures(options.instruments, pipeline, this.#context);
    const own = this.#span.spanContext();
    // Where no SDK is registered the span is none of its own: it repeats the one above it, or is not valid.
    const isTraced = isSpanContextValid(own) && own.spanId !== trace.getSpanContext(parent)?.spanId;
    this.traceParent = isTraced ? traceParentOf(own) : null;
  }

  during<T>(work: () => Promise<T>): Promise<T> {
    return this.traceParent === null ? work() : contexts.with(this.#context, work);
  }

  async within<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T> {
    const call = start.kind === "chat" ? this.#figures.beginCall(start) : null;
    if (this.traceParent === null) return measured(start, call, work);
    const parent = this.#parentOf(start);
    const { name, kind, attributes } = describeSpan(this.#runId, start);
    const span = this.#options.tracer.startSpan(name, { kind, attributes }, parent);
    const ids = idsOf(this.#runId, start);
    const context = inside(span, parent, ids);
    const told = new ToldSpan(span, start, this.#options.content);
    const isStep = start.kind === "agent" || start.kind === "step";
    if (isStep) this.#steps.set(start.stepId, context);
    try {
      const open = { headers: headersOf(context, ids), tell: (facts: SpanFacts) => told.tell(facts) };
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
    this.#figures.onEvent(event);
  }

  end(error: unknown): void {
    try {
      if (error !== null) conclude(this.#span, error);
    } finally {
      this.#span.end();
    }
  }

  /** Spans that user code has begun in between are kept in between. */
  #parentOf(start: SpanStart): Context {
    const isStep = start.kind === "agent" || start.kind === "step";
    const above = (isStep ? undefined : this.#steps.get(start.stepId)) ?? this.#context;
    const active = contexts.active();
    return active.getValue(OWN_SPAN) === above.getValue(OWN_SPAN) ? active : above;
  }
}

/** What is told of a span becomes attributes of it. */
class ToldSpan {
  readonly #span: Span;
  readonly #start: SpanStart;
  readonly #content: boolean;

  constructor(span: Span, start: SpanStart, content: boolean) {
    this.#span = span;
    this.#start = start;
    // Nobody sees what a span holds that is not recorded, and it takes time to write it.
    this.#content = content && span.isRecording();
    if (this.#content) span.setAttributes(inputContent(start));
  }

  tell(facts: SpanFacts): void {
    this.#span.setAttributes(factAttributes(facts));
    const problem = toldProblem(this.#start, facts);
    if (problem !== null) markFailed(this.#span, problem);
    if (this.#content) this.#span.setAttributes(outputContent(this.#start, facts));
  }
}

/** Does the work, and tells how long a model call in it took and what it used. */
async function measured<T>(
  start: SpanStart,
  call: MeasuredCall | null,
  work: (span: OpenSpan) => Promise<T>,
  span: OpenSpan = NOT_TRACED,
): Promise<T> {
  if (call === null) return work(span);
  let said: SpanFacts = {};
  let problem: Problem | null = null;
  const listen = (facts: SpanFacts) => {
    said = { ...said, ...facts };
    span.tell(facts);
  };
  try {
    return await work({ headers: span.headers, tell: listen });
  } catch (error) {
    problem = thrownProblem(error);
    throw error;
  } finally {
    call.end(said.usage, (problem ?? toldProblem(start, said))?.type ?? null);
  }
}

/**
 * One run is one trace: whoever goes on with it is a child of the worker that began it. The worker right before, and
 * whoever called, are linked to.
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

function inside(span: Span, parent: Context, ids: TravellingIds): Context {
  return withIds(trace.setSpan(parent, span).setValue(OWN_SPAN, span), ids);
}

function idsOf(runId: string, start: SpanStart): TravellingIds {
  const { stepId } = start;
  return start.kind === "tool" ? { runId, stepId, toolCallId: start.toolCallId } : { runId, stepId };
}

function conclude(span: Span, error: unknown): void {
  const stop = stopOf(error);
  if (stop === null) markFailed(span, thrownProblem(error));
  else span.setAttribute("pawl.stopped_by", stop);
}

function markFailed(span: Span, { type, message }: Problem): void {
  span.setAttribute("error.type", type);
  span.setStatus({ code: SpanStatusCode.ERROR, message: message.slice(0, MOST_MESSAGE_CHARACTERS) });
}

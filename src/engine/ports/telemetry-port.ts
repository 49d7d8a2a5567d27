import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { Json } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import type { Usage } from "../../core/usage/usage.ts";
import type { ModelSettings } from "./model-port.ts";
import type { RunEvent } from "./run-events.ts";

/** Where traces and figures of runs go. What it throws is its own affair: it is told, and never asked. */
export interface Telemetry {
  /** A worker begins with a run. */
  begin(run: TracedRun): RunTelemetry;
}

export type TracedRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly resumed: boolean;
  /** The `traceParent` of each worker that had the run before, the first one first. */
  readonly earlier: readonly string[];
};

/** One worker's time with one run, as it is traced. */
export interface RunTelemetry {
  /** The W3C `traceparent` of its span, which is kept with the attempt; null where nothing is traced. */
  readonly traceParent: string | null;
  /** Does the whole of the work inside the worker's span. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Does the work inside a span of its own, and hands its result or error on as it is. */
  within<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Told of everything that happens, without secrets. */
  onEvent(event: RunEvent): void;
  /** The worker's time is over; `error` is why, where it did not end well, else null. */
  end(error: unknown): void;
}

/** What begins. `stepId` and `toolCallId` are the ids of the store. */
export type SpanStart =
  | {
      readonly kind: "agent";
      readonly agent: string;
      readonly step: string;
      readonly stepId: string;
      readonly provider: string;
      readonly model: string;
    }
  /** A step of code. */
  | { readonly kind: "step"; readonly step: string; readonly stepId: string }
  | {
      readonly kind: "chat";
      readonly step: string;
      readonly stepId: string;
      readonly turn: number;
      /** The try, from 1 up over all workers. */
      readonly attempt: number;
      readonly provider: string;
      readonly model: string;
      readonly settings: ModelSettings;
      readonly instructions: string;
      readonly messages: readonly Message[];
    }
  | {
      readonly kind: "tool";
      readonly step: string;
      readonly stepId: string;
      readonly turn: number;
      readonly toolCallId: string;
      readonly attempt: number;
      readonly tool: string;
      readonly namespace: string;
      readonly description: string;
      readonly effect: SideEffectClass;
      readonly idempotencyKey: string;
      /** Without secrets. */
      readonly input: Json;
    };

export interface OpenSpan {
  /** The W3C headers of the span: `traceparent`, and `baggage` with the ids. Empty where nothing is traced. */
  readonly headers: { readonly [name: string]: string };
  /** Adds facts to the span as they become known. */
  record(facts: SpanFacts): void;
}

export type SpanFacts = {
  readonly usage?: Usage;
  readonly finishReason?: string;
  readonly responseId?: string;
  /** What came out, without secrets: the message of a model, the result of a tool. */
  readonly output?: Json;
  /** The status that a tool's try ended with. */
  readonly status?: string;
  /** It went wrong, and nothing was thrown. */
  readonly problem?: string;
};

/** A span of nobody. */
export const NO_SPAN: OpenSpan = { headers: {}, record: () => undefined };

/** Nothing is traced. */
export const NO_RUN_TELEMETRY: RunTelemetry = {
  traceParent: null,
  during: (work) => work(),
  within: (_start, work) => work(NO_SPAN),
  onEvent: () => undefined,
  end: () => undefined,
};

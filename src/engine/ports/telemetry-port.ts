import type { SideEffectClass } from "../../core/call/tool-call-decision.ts";
import type { Json } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import type { Usage } from "../../core/usage/usage.ts";
import type { QueueDepth } from "../../store/store.ts";
import type { ModelSettings } from "./model-port.ts";
import type { RunEvent } from "./run-events.ts";
import type { WorkerNotice } from "./worker-notices.ts";

/** Receives the traces and metrics of runs. Errors that it throws never affect the run. */
export interface Telemetry {
  /** Called when a worker has claimed a run. */
  begin(run: TracedRun): RunTelemetry;
  /** Called when a worker begins to take runs. Without it, workers are not measured. */
  beginWorker?(worker: MeasuredWorker): WorkerTelemetry;
}

/** A worker that is about to be measured. */
export type MeasuredWorker = {
  readonly queues: readonly string[];
  readonly pipelines: readonly string[];
  /** How many runs it works on now. */
  activeRuns(): number;
  /** The runs of the whole store that wait for a worker. Reads the store. */
  countReady(): Promise<readonly QueueDepth[]>;
};

/** The telemetry of a worker. */
export interface WorkerTelemetry {
  onNotice(notice: WorkerNotice): void;
  /** The worker has ended. */
  end(): void;
}

/** The run of an attempt that is about to be traced. */
export type TracedRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly resumed: boolean;
  /** The `traceParent` of each earlier attempt of the run, oldest first. */
  readonly earlier: readonly string[];
};

/** The telemetry of one attempt: one worker's hold of one run. */
export interface RunTelemetry {
  /** The W3C `traceparent` of the attempt's span, which is stored with the attempt; null if nothing is traced. */
  readonly traceParent: string | null;
  /** Runs all work of the attempt inside its span. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Runs the work inside a span of its own, and passes its result or error on unchanged. */
  within<T>(start: SpanStart, work: (span: OpenSpan) => Promise<T>): Promise<T>;
  /** Receives every event of the run, without secrets. */
  onEvent(event: RunEvent): void;
  /** The attempt has ended; `error` is null unless it failed. */
  end(error: unknown): void;
}

/** The start of a span. `stepId` and `toolCallId` are the ids in the store. */
export type SpanStart =
  | {
      readonly kind: "agent";
      readonly agent: string;
      readonly step: string;
      readonly stepId: string;
      readonly provider: string;
      readonly model: string;
    }
  /** A code step. */
  | { readonly kind: "step"; readonly step: string; readonly stepId: string }
  | {
      readonly kind: "chat";
      readonly step: string;
      readonly stepId: string;
      readonly turn: number;
      /** The number of the model attempt, counted from 1 over all workers. */
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

/** A span while its work runs. */
export interface OpenSpan {
  /** The W3C headers of the span: `traceparent`, and `baggage` with the ids. Empty if nothing is traced. */
  readonly headers: { readonly [name: string]: string };
  /** Adds facts to the span as they become known. */
  record(facts: SpanFacts): void;
}

/** What a span records about its work. */
export type SpanFacts = {
  readonly usage?: Usage;
  readonly finishReason?: string;
  readonly responseId?: string;
  /** The message of a model or the result of a tool, without secrets. */
  readonly output?: Json;
  /** The status of the call attempt. */
  readonly status?: string;
  /** The error of work that failed without throwing. */
  readonly problem?: string;
};

/** A span that records nothing. */
export const NO_SPAN: OpenSpan = { headers: {}, record: () => undefined };

/** Telemetry that records nothing. */
export const NO_RUN_TELEMETRY: RunTelemetry = {
  traceParent: null,
  during: (work) => work(),
  within: (_start, work) => work(NO_SPAN),
  onEvent: () => undefined,
  end: () => undefined,
};

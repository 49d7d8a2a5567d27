import type { Attributes, Context, Counter, Histogram, MeterProvider } from "@opentelemetry/api";
import type { Amount, ChargeBasis, Usage } from "../../core/usage/usage.ts";
import type { RunEvent } from "../../engine/ports/run-events.ts";
import type { SpanStart } from "../../engine/ports/telemetry-port.ts";
import { finite, modelAttributes } from "./otel-attributes.ts";
import { openTelemetry } from "./otel-package.ts";

const { ValueType } = openTelemetry;

export type Instruments = {
  readonly turns: Counter;
  readonly tokens: Counter;
  readonly cost: Counter;
  readonly toolCalls: Counter;
  readonly retries: Counter;
  readonly inDoubt: Counter;
  readonly leaseLosses: Counter;
  readonly duration: Histogram;
  readonly tokenUsage: Histogram;
};

/** The bucket boundaries that the conventions recommend for the two histograms. */
const DURATION_BOUNDARIES = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
const TOKEN_BOUNDARIES = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

export function makeInstruments(provider: MeterProvider): Instruments {
  const meter = provider.getMeter("pawl");
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(name, { unit, description, valueType: ValueType.INT });
  return {
    turns: counter("pawl.turns", "{turn}", "Turns that were committed."),
    tokens: counter("pawl.tokens", "{token}", "Tokens that were charged."),
    // In dollars, for people. The store has the exact sum in micro-dollars.
    cost: meter.createCounter("pawl.cost", {
      unit: "USD",
      description: "The cost that was charged for model calls.",
      valueType: ValueType.DOUBLE,
    }),
    toolCalls: counter("pawl.tool_calls", "{call}", "Attempts of tool calls, and deduplicated calls."),
    retries: counter("pawl.retries", "{retry}", "Attempts that are followed by another."),
    inDoubt: counter("pawl.in_doubt", "{call}", "Tool calls whose outcome was unknown."),
    leaseLosses: counter(
      "pawl.lease_losses",
      "{loss}",
      "Times that a worker lost its run to another worker.",
    ),
    duration: meter.createHistogram("gen_ai.client.operation.duration", {
      unit: "s",
      description: "How long a model call took.",
      advice: { explicitBucketBoundaries: DURATION_BOUNDARIES },
    }),
    tokenUsage: meter.createHistogram("gen_ai.client.token.usage", {
      unit: "{token}",
      description: "Tokens that a model call used.",
      advice: { explicitBucketBoundaries: TOKEN_BOUNDARIES },
    }),
  };
}

/** A model call that is being measured. */
export type MeasuredCall = {
  /** Called once at the end, with the usage if the provider reported any and the type of the error if it failed. */
  end(usage: Usage | undefined, errorType: string | null): void;
};

/** The metrics of one worker's lease of a run. */
export class RunMetrics {
  readonly #instruments: Instruments;
  readonly #ofRun: Attributes;
  readonly #context: Context;

  /** The context is that of the run's span, so that metrics can be traced to it. */
  constructor(instruments: Instruments, pipeline: string, context: Context) {
    this.#instruments = instruments;
    this.#ofRun = { "pawl.pipeline": pipeline };
    this.#context = context;
  }

  onEvent(event: RunEvent): void {
    const { turns, toolCalls, retries, inDoubt, leaseLosses } = this.#instruments;
    switch (event.type) {
      case "turn.committed":
        return this.#count(turns);
      case "tool.finished":
        return this.#count(toolCalls, { "gen_ai.tool.name": event.tool, "pawl.tool.status": event.status });
      case "tool.deduplicated":
        return this.#count(toolCalls, { "gen_ai.tool.name": event.tool, "pawl.tool.status": "deduplicated" });
      case "tool.retrying":
        return this.#count(retries, { "gen_ai.operation.name": "execute_tool" });
      case "model.failed":
        if (event.retryInMs !== null)
          this.#count(retries, {
            "gen_ai.operation.name": "chat",
            ...(event.outageSince === null ? {} : { "pawl.outage": true }),
          });
        return;
      case "tool.in_doubt":
        return this.#count(inDoubt);
      case "lease.lost":
        return this.#count(leaseLosses);
      // A call charged without an answer is counted by the next case, also if it was found open after a crash.
      case "usage.settled":
        if (event.basis !== "baseline") this.#charge(event.basis, event.charged);
        return;
      case "usage.baseline":
        this.#charge("baseline", event.charged);
        return this.#count(
          this.#instruments.tokens,
          { "pawl.charge_basis": "baseline" },
          event.charged.tokens,
        );
      case "run.started":
      case "run.finished":
      case "step.started":
      case "step.finished":
      case "step.skipped":
      case "turn.started":
      case "tool.started":
      case "tool.reconciled":
      case "tool.waiting":
      case "checkpoint.saved":
      case "exchange.ended":
      case "lineage.begun":
      case "warning":
        return;
    }
  }

  beginCall(start: Extract<SpanStart, { kind: "chat" }>): MeasuredCall {
    const begun = performance.now();
    const ofCall = modelAttributes("chat", start);
    return {
      end: (usage, errorType) => {
        const seconds = (performance.now() - begun) / 1000;
        const failed = errorType === null ? {} : { "error.type": errorType };
        this.#instruments.duration.record(seconds, { ...ofCall, ...failed }, this.#context);
        this.#use("input", usage?.inputTokens, ofCall);
        this.#use("output", usage?.outputTokens, ofCall);
      },
    };
  }

  #use(type: "input" | "output", used: number | undefined, ofCall: Attributes): void {
    const tokens = finite(used);
    if (tokens === undefined) return;
    const attributes = { ...ofCall, "gen_ai.token.type": type };
    this.#instruments.tokenUsage.record(tokens, attributes, this.#context);
    this.#count(this.#instruments.tokens, { ...attributes, "pawl.charge_basis": "provider" }, tokens);
  }

  #charge(basis: ChargeBasis, { microDollars }: Amount): void {
    if (microDollars === 0) return;
    this.#count(this.#instruments.cost, { "pawl.charge_basis": basis }, microDollars / 1_000_000);
  }

  #count(counter: Counter, attributes: Attributes = {}, by = 1): void {
    counter.add(by, { ...this.#ofRun, ...attributes }, this.#context);
  }
}

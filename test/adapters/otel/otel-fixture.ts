// OpenTelemetry as a user sets it up, with everything that it would export kept in memory.

import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { MeterProvider, type MetricData, MetricReader } from "@opentelemetry/sdk-metrics";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { onTestFinished } from "vitest";
import { must } from "../../engine/run-fixture.ts";

/** Registers an SDK until the test ends. Its spans are those that have ended, in the order in which they began. */
export function tracing({
  sampler,
  processors = [],
  contextManager = true,
}: {
  sampler?: Sampler;
  processors?: SpanProcessor[];
  contextManager?: boolean;
} = {}): { spans: () => ReadableSpan[] } {
  const exporter = new InMemorySpanExporter();
  // Their times have a resolution of milliseconds.
  const begun: string[] = [];
  const order: SpanProcessor = {
    onStart: (span) => void begun.push(span.spanContext().spanId),
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new NodeTracerProvider({
    spanProcessors: [order, ...processors, new SimpleSpanProcessor(exporter)],
    ...(sampler === undefined ? {} : { sampler }),
  });
  provider.register({ propagator: null, ...(contextManager ? {} : { contextManager: null }) });
  onTestFinished(async () => {
    trace.disable();
    context.disable();
    propagation.disable();
    await provider.shutdown();
  });
  const at = (span: ReadableSpan) => begun.indexOf(span.spanContext().spanId);
  return { spans: () => exporter.getFinishedSpans().toSorted((a, b) => at(a) - at(b)) };
}

/** A reader that collects only on demand. */
class OnDemandReader extends MetricReader {
  protected onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** Registers an SDK for metrics until the test ends. */
export function measuring(): { collect: () => Promise<MetricData[]>; sumOf: typeof sumOf } {
  const reader = new OnDemandReader();
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  onTestFinished(async () => {
    metrics.disable();
    await provider.shutdown();
  });
  const collect = async () => {
    const { resourceMetrics } = await reader.collect();
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  };
  return { collect, sumOf };
}

/** The sum of a counter over the points that have these attributes. */
export function sumOf(
  metrics: readonly MetricData[],
  name: string,
  attributes: { readonly [name: string]: unknown } = {},
): number {
  const points = metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
  return points
    .filter((point) => Object.entries(attributes).every(([key, value]) => point.attributes[key] === value))
    .reduce((sum, point) => sum + (typeof point.value === "number" ? point.value : Number.NaN), 0);
}

/** Every span under its parents: `run > agent > chat`. */
export function pathsOf(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const pathOf = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? "");
    return parent === undefined ? span.name : `${pathOf(parent)} > ${span.name}`;
  };
  return spans.map(pathOf);
}

export function spanNamed(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  return must(spans.find((span) => span.name === name));
}

/** Everything that an exporter could write of them. */
export function exported(spans: readonly ReadableSpan[]): string {
  const shown = spans.map((span) => {
    const { name, attributes, status, events, links } = span;
    return { name, attributes, status, events, links, state: span.spanContext().traceState?.serialize() };
  });
  return JSON.stringify(shown);
}

import type {
  Attributes,
  Counter,
  Histogram,
  Meter,
  MeterProvider,
  ObservableGauge,
  ObservableResult,
} from "@opentelemetry/api";
import type { MeasuredWorker, WorkerTelemetry } from "../../engine/ports/telemetry-port.ts";
import type { WorkerNotice } from "../../engine/ports/worker-notices.ts";
import { openTelemetry } from "./otel-package.ts";

const { ValueType } = openTelemetry;

/** From a claim at once to a queue that nobody has served for an hour. */
const LATENCY_BOUNDARIES = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600];

/** The metrics of one worker. The gauges are read when they are collected, and so is the store. */
export class OtelWorker implements WorkerTelemetry {
  readonly #claimed: Counter;
  readonly #ended: Counter;
  readonly #claimLatency: Histogram;
  readonly #takeoverTime: Histogram;
  readonly #stop: () => void;

  constructor(worker: MeasuredWorker, provider: MeterProvider) {
    const meter = provider.getMeter("pawl");
    const runs = { unit: "{run}", valueType: ValueType.INT };
    const times = { unit: "s", advice: { explicitBucketBoundaries: LATENCY_BOUNDARIES } };
    this.#claimed = meter.createCounter("pawl.worker.claimed", {
      ...runs,
      description: "Runs that the worker claimed.",
    });
    this.#ended = meter.createCounter("pawl.worker.ended", {
      ...runs,
      description: "Runs that the worker left, by their status.",
    });
    this.#claimLatency = meter.createHistogram("pawl.worker.claim_latency", {
      ...times,
      description: "How long runs were ready before they were claimed.",
    });
    this.#takeoverTime = meter.createHistogram("pawl.worker.takeover_time", {
      ...times,
      description: "How long the last owner of a run was not heard of when it was taken over.",
    });
    this.#stop = observe(meter, worker);
  }

  onNotice(notice: WorkerNotice): void {
    if (notice.type === "claimed") {
      const ofRun = attributesOf(notice);
      this.#claimed.add(1, ofRun);
      if (notice.afterMs !== null) this.#claimLatency.record(notice.afterMs / 1_000, ofRun);
      if (notice.silentMs !== null) this.#takeoverTime.record(notice.silentMs / 1_000, ofRun);
    }
    if (notice.type === "left")
      this.#ended.add(1, { ...attributesOf(notice), "pawl.status": notice.status ?? "unknown" });
  }

  end(): void {
    this.#stop();
  }
}

function attributesOf({
  queue,
  pipeline,
}: {
  readonly queue: string;
  readonly pipeline: string;
}): Attributes {
  return { "pawl.queue": queue, "pawl.pipeline": pipeline };
}

/** Observes the gauges until the returned function is called. */
function observe(meter: Meter, worker: MeasuredWorker): () => void {
  const active = meter.createObservableGauge("pawl.worker.active_runs", {
    unit: "{run}",
    description: "Runs that the worker works on.",
    valueType: ValueType.INT,
  });
  const depth = meter.createObservableGauge("pawl.queue.depth", {
    unit: "{run}",
    description: "Runs that wait for a worker.",
    valueType: ValueType.INT,
  });
  const oldest = meter.createObservableGauge("pawl.queue.oldest_age", {
    unit: "s",
    description: "How long the first of them has waited.",
  });
  const countActive = (result: ObservableResult) => result.observe(worker.activeRuns());
  active.addCallback(countActive);
  const stopQueues = observeQueues(meter, worker, depth, oldest);
  return () => {
    active.removeCallback(countActive);
    stopQueues();
  };
}

/** A queue that has become empty is observed as such: otherwise its last depth would stand for ever. */
function observeQueues(
  meter: Meter,
  worker: MeasuredWorker,
  depth: ObservableGauge,
  oldest: ObservableGauge,
): () => void {
  const known = new Map<string, Attributes>();
  const see = (place: { readonly queue: string; readonly pipeline: string }) => {
    const name = JSON.stringify([place.queue, place.pipeline]);
    known.set(name, attributesOf(place));
    return name;
  };
  for (const queue of worker.queues) for (const pipeline of worker.pipelines) see({ queue, pipeline });
  const callback: Parameters<Meter["addBatchObservableCallback"]>[0] = async (result) => {
    // A store that cannot be read has no depth now; the worker itself reports that it cannot be read.
    const depths = await worker.countReady().catch(() => null);
    if (depths === null) return;
    const found = new Map(depths.map((each) => [see(each), each]));
    for (const [name, attributes] of known) {
      const { ready = 0, oldestMs = 0 } = found.get(name) ?? {};
      result.observe(depth, ready, attributes);
      result.observe(oldest, oldestMs / 1_000, attributes);
    }
  };
  const gauges = [depth, oldest];
  meter.addBatchObservableCallback(callback, gauges);
  return () => meter.removeBatchObservableCallback(callback, gauges);
}

import type { MetricData } from "@opentelemetry/sdk-metrics";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { Pipeline, Runner, Step, Worker } from "../../../src/index.ts";
import { memoryStore, must } from "../../engine/run-fixture.ts";
import { measuring, sumOf } from "./otel-fixture.ts";

const doubling = Pipeline.of(
  "doubling",
  Step.run("double", (n: number) => n * 2),
);

const PLACE = { "pawl.queue": "default", "pawl.pipeline": "doubling" };

function pointsOf(collected: readonly MetricData[], name: string): unknown[] {
  const metric = must(collected.find(({ descriptor }) => descriptor.name === name));
  return metric.dataPoints.map(({ attributes, value }) => [attributes, value]);
}

describe("the metrics of a worker", () => {
  it("are its queues, what it claims and how long that took, and how its runs ended", async () => {
    const { collect } = measuring();
    const store = await memoryStore();
    await new Runner(doubling, { store }).enqueue(1, { queue: "mail" });
    await new Runner(doubling, { store }).enqueue(2);
    const end = new AbortController();
    const left: unknown[] = [];
    const ended = new Worker({
      store,
      pipelines: { doubling },
      telemetry: otel(),
      onNotice: ({ type }) => type === "left" && left.push(type),
    }).run(end.signal);
    onTestFinished(() => {
      end.abort();
      return ended;
    });
    await vi.waitFor(() => expect(left).toHaveLength(1), { timeout: 5_000 });
    await vi.waitFor(async () => expect(sumOf(await collect(), "pawl.worker.active_runs")).toBe(0));
    const collected = await collect();
    const mail = { ...PLACE, "pawl.queue": "mail" };
    expect(pointsOf(collected, "pawl.queue.depth")).toEqual([
      [PLACE, 0],
      [mail, 1],
    ]);
    expect(pointsOf(collected, "pawl.queue.oldest_age")).toEqual([
      [PLACE, 0],
      [mail, expect.any(Number)],
    ]);
    expect(pointsOf(collected, "pawl.worker.claimed")).toEqual([[PLACE, 1]]);
    expect(pointsOf(collected, "pawl.worker.ended")).toEqual([[{ ...PLACE, "pawl.status": "succeeded" }, 1]]);
    expect(pointsOf(collected, "pawl.worker.claim_latency")).toEqual([
      [PLACE, expect.objectContaining({ count: 1 })],
    ]);
    end.abort();
    await ended;
    const reads = vi.spyOn(store, "countReady");
    await collect();
    expect(reads).not.toHaveBeenCalled();
  });

  it("are the time for which the last owner of a run was silent, if it is taken over", async () => {
    const { collect } = measuring();
    const worker = otel().beginWorker?.({
      queues: ["default"],
      pipelines: ["doubling"],
      activeRuns: () => 3,
      countReady: () => Promise.reject(new Error("No connection.")),
    });
    const claimed = { type: "claimed", runId: "r-1", pipeline: "doubling", queue: "default" } as const;
    worker?.onNotice({ ...claimed, afterMs: null, silentMs: 1_500 });
    worker?.onNotice({ type: "blocked", forMs: 3_000 });
    const collected = await collect();
    expect(pointsOf(collected, "pawl.worker.takeover_time")).toEqual([
      [PLACE, expect.objectContaining({ count: 1, sum: 1.5 })],
    ]);
    expect(sumOf(collected, "pawl.worker.active_runs")).toBe(3);
    expect(collected.map(({ descriptor }) => descriptor.name)).not.toContain("pawl.worker.claim_latency");
    expect(sumOf(collected, "pawl.queue.depth")).toBe(0);
    worker?.end();
  });
});

// Spans of runs that fail, where nothing is recorded, and of an OpenTelemetry that throws.

import { trace } from "@opentelemetry/api";
import { AlwaysOffSampler, SimpleSpanProcessor, type SpanProcessor } from "@opentelemetry/sdk-trace-node";
import { describe, expect, it } from "vitest";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { PausedError, Pipeline, Runner, Step, type Store } from "../../../src/index.ts";
import { crashAt } from "../../engine/call/call-fixture.ts";
import { failureOf, memoryStore, scriptedAgent, sleeplessClock } from "../../engine/run-fixture.ts";
import { pathsOf, spanNamed, tracing } from "./otel-fixture.ts";
import { AGENT, look, REPORT_PATHS, report, traceParents } from "./otel-report.ts";
import { asking, readOnlyTool } from "./otel-tools.ts";

describe("an error", () => {
  const outcomes = (spans: ReturnType<ReturnType<typeof tracing>["spans"]>) =>
    Object.fromEntries(
      spans.map(({ name, status, attributes }) => [
        name,
        status.code === 2
          ? [attributes["error.type"], status.message]
          : (attributes["pawl.stopped_by"] ?? "fine"),
      ]),
    );

  it("is a tool that fails, and not the agent that gets the error", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const fail = readOnlyTool("fail", () => {
      throw new Error("There is no such page.");
    });
    const { agent } = scriptedAgent([asking(["fail", "x"]), { text: "Done." }], { tools: { fail } });
    const runner = new Runner(Step.granular("work", agent), {
      store,
      clock: sleeplessClock(),
      telemetry: otel(),
    });
    await runner.run("Go", { runId: "r-1" });
    expect(outcomes(spans())).toEqual({
      "pawl.run work": "fine",
      "invoke_agent worker": "fine",
      "chat scripted-model": "fine",
      "execute_tool fail": ["failed", "There is no such page."],
    });
    const tries = spans().filter(({ name }) => name === "execute_tool fail");
    expect(tries.map(({ attributes }) => attributes["pawl.attempt"])).toEqual([1, 2, 3]);
  });

  it("is a model that does not answer, and the run that fails because of it", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const { agent } = scriptedAgent(() => {
      throw new Error("The line is dead.");
    });
    const runner = new Runner(Step.granular("work", agent), { store, telemetry: otel() });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    const failure = ["model_call", expect.stringContaining("The line is dead.")];
    expect(outcomes(spans())).toEqual({
      "pawl.run work": failure,
      "invoke_agent worker": failure,
      "chat scripted-model": failure,
    });
  });

  it("is code that throws", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const pipeline = Step.run("break", () => {
      throw new TypeError("It is no number.");
    });
    await failureOf(new Runner(pipeline, { store, telemetry: otel() }).run("Go", { runId: "r-1" }));
    expect(outcomes(spans())).toEqual({
      "pawl.run break": ["step_failed", expect.stringContaining("It is no number.")],
      "pawl.step break": ["TypeError", "It is no number."],
    });
  });

  it("is not a run that waits for a person", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const { agent } = scriptedAgent([asking(["look", "x"])], {
      tools: { look: { ...look, approval: true } },
    });
    const pipeline = Step.granular("work", agent);
    const { status } = await new Runner(pipeline, { store, telemetry: otel() }).run("Go", { runId: "r-1" });
    expect(status).toBe("waiting");
    expect(outcomes(spans())).toEqual({
      "pawl.run work": "fine",
      "invoke_agent worker": "person_needed",
      "chat scripted-model": "fine",
    });
    expect(spanNamed(spans(), "pawl.run work").attributes["pawl.status"]).toBe("waiting");
  });

  it("is not a run that its own code pauses", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const pipeline = Step.run("pause", () => {
      throw new PausedError("Until tomorrow.");
    });
    await failureOf(new Runner(pipeline, { store, telemetry: otel() }).run("Go", { runId: "r-1" }));
    expect(outcomes(spans())).toEqual({ "pawl.run pause": "paused", "pawl.step pause": "paused" });
  });

  it("is not a run that is cancelled", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const cancel = new AbortController();
    const pipeline = Step.run("wait", (_input, ctx) => {
      cancel.abort();
      ctx.signal.throwIfAborted();
      return 1;
    });
    const runner = new Runner(pipeline, { store, telemetry: otel() });
    const { status } = await runner.run("Go", { runId: "r-1", signal: cancel.signal });
    expect(status).toBe("cancelled");
    expect(outcomes(spans())).toEqual({ "pawl.run wait": "fine", "pawl.step wait": "aborted" });
    expect(spanNamed(spans(), "pawl.run wait").attributes["pawl.status"]).toBe("cancelled");
  });
});

describe("where nothing is recorded", () => {
  /** The trace headers that a tool gets in a run and in its resume. */
  async function headersOf(store: Store): Promise<unknown[]> {
    const headers: unknown[] = [];
    const tell = readOnlyTool("tell", (_q, call) => {
      headers.push(call.traceHeaders);
      return "done";
    });
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", (_input, ctx) => ctx.call(tell, { q: "a" })),
      Step.run("b", (_input, ctx) => ctx.call(tell, { q: "b" })),
    );
    const dying = new Runner(pipeline, { store, telemetry: otel(), probe: crashAt("step:finished") });
    await failureOf(dying.run("Go", { runId: "r-1" }));
    const { status } = await new Runner(pipeline, { store, telemetry: otel() }).resume("r-1");
    expect(status).toBe("succeeded");
    return headers;
  }

  it("because no SDK is registered, nothing is stored and no headers are sent", async () => {
    const store = await memoryStore();
    expect(await headersOf(store)).toEqual([{}, {}]);
    expect(await traceParents(store)).toEqual([null, null]);
  });

  it("because none is registered any more, the earlier trace is not used as the worker's own", async () => {
    const store = await memoryStore();
    const { spans } = tracing();
    const dying = new Runner(report(), { store, telemetry: otel(), probe: crashAt("step:finished") });
    await failureOf(dying.run("Go", { runId: "r-1" }));
    expect(spans()).not.toEqual([]);
    trace.disable();
    await new Runner(report(), { store, telemetry: otel() }).resume("r-1");
    expect(await traceParents(store)).toEqual([expect.stringMatching(/-01$/), null]);
  });

  it("because the trace is not sampled, it is propagated as such, through all workers", async () => {
    const store = await memoryStore();
    const { spans } = tracing({ sampler: new AlwaysOffSampler() });
    const headers = await headersOf(store);
    expect(headers).toEqual(
      [1, 2].map(() => expect.objectContaining({ traceparent: expect.stringMatching(/-00$/) })),
    );
    const [first, second] = await traceParents(store);
    expect(second?.split("-")[1]).toBe(first?.split("-")[1]);
    expect(second).not.toBe(first);
    expect(spans()).toEqual([]);
  });
});

describe("OpenTelemetry that throws", () => {
  const ignore = () => Promise.resolve();
  const fail = () => {
    throw new Error("The processor is broken.");
  };

  it.each<[string, SpanProcessor]>([
    ["when a span begins", { onStart: fail, onEnd: () => undefined, forceFlush: ignore, shutdown: ignore }],
    ["when a span ends", { onStart: () => undefined, onEnd: fail, forceFlush: ignore, shutdown: ignore }],
    ["when it exports one", new SimpleSpanProcessor({ export: fail, shutdown: ignore })],
  ])("%s does not affect the run", async (_when, processor) => {
    tracing({ processors: [processor] });
    const store = await memoryStore();
    const { status, usage } = await new Runner(report(), { store, telemetry: otel() }).run("Go", {
      runId: "r-1",
    });
    expect({ status, calls: usage.modelCalls }).toEqual({ status: "succeeded", calls: 2 });
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ status: ended, attempt }) => [ended, attempt])).toEqual([
      ["succeeded", 1],
      ["succeeded", 1],
      ["succeeded", 1],
    ]);
  });

  it("in its tracer, and only inside the run, loses only those spans", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const registered = trace.getTracerProvider();
    const tracerProvider = {
      getTracer: (name: string) => {
        const tracer = registered.getTracer(name);
        const startSpan: typeof tracer.startSpan = (span, ...rest) =>
          span.startsWith("invoke_agent") ? fail() : tracer.startSpan(span, ...rest);
        return { startSpan, startActiveSpan: tracer.startActiveSpan.bind(tracer) };
      },
    };
    const runner = new Runner(report(), { store, telemetry: otel({ tracerProvider }) });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(pathsOf(spans())).toEqual(
      REPORT_PATHS.filter((path) => path !== AGENT).map((path) =>
        path.replace("invoke_agent researcher > ", ""),
      ),
    );
  });
});

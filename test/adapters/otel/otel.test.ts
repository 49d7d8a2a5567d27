// The spans of runs: their parents, their attributes, and that they never affect a run.

import { context, propagation, type Span, trace } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { otel } from "../../../src/adapters/otel/otel.ts";
import { Runner, Step } from "../../../src/index.ts";
import { crashAt } from "../../engine/call/call-fixture.ts";
import { failureOf, memoryStore, must, scriptedAgent } from "../../engine/run-fixture.ts";
import { pathsOf, spanNamed, tracing } from "./otel-fixture.ts";
import { look, REPORT_PATHS, RUN, report, traceParents } from "./otel-report.ts";
import { asking, readOnlyTool } from "./otel-tools.ts";

describe("the spans of a run", () => {
  it.each([
    ["with", true],
    ["without", false],
  ])("are one tree, %s a context manager", async (_with, contextManager) => {
    const { spans } = tracing({ contextManager });
    const store = await memoryStore();
    await new Runner(report(), { store, telemetry: otel() }).run("Go", { runId: "r-1" });
    expect(pathsOf(spans())).toEqual(REPORT_PATHS);
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  it("have the names of the conventions and the ids of the store", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    await new Runner(report(), { store, telemetry: otel() }).run("Go", { runId: "r-1" });
    const ids = { "pawl.run_id": "r-1", "gen_ai.conversation.id": "r-1" };
    const [step] = (await store.listSteps("r-1")).filter(({ path }) => path.endsWith("research"));
    const stepId = `r-1/${must(step).path}`;
    const model = { "gen_ai.provider.name": "scripted", "gen_ai.request.model": "scripted-model" };

    expect(spanNamed(spans(), RUN).attributes).toEqual({
      ...ids,
      "pawl.pipeline": "report",
      "pawl.resumed": false,
      "pawl.status": "succeeded",
    });
    expect(spanNamed(spans(), "invoke_agent researcher").attributes).toEqual({
      ...ids,
      ...model,
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "researcher",
      "pawl.step_id": stepId,
    });
    expect(spanNamed(spans(), "pawl.step gather").attributes).toEqual({
      ...ids,
      "pawl.step_id": "r-1/gather",
    });
    expect(spanNamed(spans(), "chat scripted-model").attributes).toEqual({
      ...ids,
      ...model,
      "gen_ai.operation.name": "chat",
      "gen_ai.request.max_tokens": 100,
      "gen_ai.request.temperature": 0.5,
      "gen_ai.request.top_p": 0.9,
      "gen_ai.request.seed": 7,
      "gen_ai.request.stop_sequences": ["END"],
      "gen_ai.response.finish_reasons": ["tool-calls"],
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
      "gen_ai.usage.cache_read.input_tokens": 0,
      "gen_ai.usage.reasoning.output_tokens": 0,
      "pawl.step_id": stepId,
      "pawl.turn": 1,
      "pawl.attempt": 1,
    });
    const [call] = (await store.listToolCalls("r-1")).filter(({ tool }) => tool === "find");
    expect(spanNamed(spans(), "execute_tool find").attributes).toEqual({
      ...ids,
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "find",
      "gen_ai.tool.type": "function",
      "gen_ai.tool.description": "Does find.",
      "gen_ai.tool.call.id": must(call).toolCallId,
      "pawl.tool_call_id": must(call).toolCallId,
      "pawl.step_id": stepId,
      "pawl.turn": 1,
      "pawl.attempt": 1,
      "pawl.tool.namespace": "local",
      "pawl.tool.effect": "read_only",
      "pawl.tool.status": "succeeded",
    });
  });

  it("are separate for each of two concurrent runs", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const both = Promise.withResolvers<undefined>();
    let inside = 0;
    const meet = readOnlyTool("meet", async () => {
      if (++inside === 2) both.resolve(undefined);
      await both.promise;
      return "met";
    });
    const { agent } = scriptedAgent([asking(["meet", "x"]), { text: "Done." }], { tools: { meet } });
    const runner = new Runner(Step.granular("work", agent), { store, telemetry: otel() });
    await Promise.all(["r-1", "r-2"].map((runId) => runner.run(runId, { runId })));
    for (const runId of ["r-1", "r-2"]) {
      const own = spans().filter(({ attributes }) => attributes["pawl.run_id"] === runId);
      expect(pathsOf(own)).toEqual([
        "pawl.run work",
        "pawl.run work > invoke_agent worker",
        "pawl.run work > invoke_agent worker > chat scripted-model",
        "pawl.run work > invoke_agent worker > execute_tool meet",
        "pawl.run work > invoke_agent worker > chat scripted-model",
      ]);
      expect(new Set(own.map((span) => span.spanContext().traceId)).size).toBe(1);
    }
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(2);
  });

  it("are the children of the caller's span", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const runner = new Runner(report(), { store, telemetry: otel() });
    await trace.getTracer("test").startActiveSpan("request", async (request) => {
      await runner.run("Go", { runId: "r-1" });
      request.end();
    });
    expect(pathsOf(spans())).toEqual(["request", ...REPORT_PATHS.map((path) => `request > ${path}`)]);
  });
});

describe("inside a tool", () => {
  /** The active span inside each of two concurrent calls, in which user code begins its own span. */
  async function activeInside(runner: { run: (inside: (q: string) => Promise<string>) => Promise<unknown> }) {
    const both = Promise.withResolvers<undefined>();
    let inside = 0;
    const seen: Record<string, unknown> = {};
    await runner.run(async (q) => {
      if (++inside === 2) both.resolve(undefined);
      await both.promise;
      return trace.getTracer("test").startActiveSpan(`GET ${q}`, async (span) => {
        seen[q] = propagation.getBaggage(context.active())?.getAllEntries();
        span.end();
        return "got";
      });
    });
    return seen;
  }

  it("spans of other code are its children and carry the ids, also with two concurrent calls", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const seen = await activeInside({
      run: (inside) => {
        const tools = { look: readOnlyTool("look", inside), find: readOnlyTool("find", inside) };
        const script = [asking(["look", "/a"], ["find", "/b"]), { text: "Done." }];
        const { agent } = scriptedAgent(script, { tools });
        return new Runner(Step.granular("work", agent), { store, telemetry: otel() }).run("Go", {
          runId: "r-1",
        });
      },
    });
    const within = "pawl.run work > invoke_agent worker";
    expect(pathsOf(spans())).toEqual(
      expect.arrayContaining([
        `${within} > execute_tool look > GET /a`,
        `${within} > execute_tool find > GET /b`,
      ]),
    );
    const [look, find] = await store.listToolCalls("r-1");
    const stepId = must(look).toolCallId.replace(/#.*/, "");
    const entries = (toolCallId: string) => [
      ["pawl.run_id", { value: "r-1" }],
      ["pawl.step_id", { value: stepId }],
      ["pawl.tool_call_id", { value: toolCallId }],
    ];
    expect(seen).toEqual({ "/a": entries(must(look).toolCallId), "/b": entries(must(find).toolCallId) });
  });

  it("there are the headers of its span, even if no propagator is registered", async () => {
    const { spans } = tracing({ contextManager: false });
    const store = await memoryStore();
    const headers: unknown[] = [];
    const tell = readOnlyTool("tell", (_q, call) => {
      headers.push(call.traceHeaders);
      return "done";
    });
    const pipeline = Step.run("ask & tell", (_input, ctx) => ctx.call(tell, { q: "x" }));
    await new Runner(pipeline, { store, telemetry: otel() }).run("Go", { runId: "r-1" });
    const { traceId, spanId } = spanNamed(spans(), "execute_tool tell").spanContext();
    expect(headers).toEqual([
      {
        traceparent: `00-${traceId}-${spanId}-01`,
        baggage:
          "pawl.run_id=r-1,pawl.step_id=r-1%2Fask%20%26%20tell,pawl.tool_call_id=r-1%2Fask%20%26%20tell%230.1",
      },
    ]);
  });

  it("a nested run is a child of the call, with its own ids", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const baggage: unknown[] = [];
    const inner = new Runner(
      Step.run("inner", () => {
        baggage.push(propagation.getBaggage(context.active())?.getAllEntries());
        return 1;
      }),
      { store, telemetry: otel() },
    );
    const start = readOnlyTool("start", async () => (await inner.run("Go", { runId: "r-2" })).output);
    const outer = Step.run("outer", (_input, ctx) => ctx.call(start, { q: "x" }));
    await new Runner(outer, { store, telemetry: otel() }).run("Go", { runId: "r-1" });
    expect(pathsOf(spans()).at(-1)).toBe(
      "pawl.run outer > pawl.step outer > execute_tool start > pawl.run inner > pawl.step inner",
    );
    expect(baggage).toEqual([
      [
        ["pawl.run_id", { value: "r-2" }],
        ["pawl.step_id", { value: "r-2/inner" }],
      ],
    ]);
  });
});

it("a span that a step's code began stays between the step and its calls", async () => {
  const { spans } = tracing();
  const store = await memoryStore();
  const pipeline = Step.run("gather", (_input, ctx) =>
    trace.getTracer("test").startActiveSpan("batch", async (batch) => {
      const found = await ctx.call(look, { q: "x" });
      batch.end();
      return found;
    }),
  );
  await new Runner(pipeline, { store, telemetry: otel() }).run("Go", { runId: "r-1" });
  expect(pathsOf(spans()).at(-1)).toBe("pawl.run gather > pawl.step gather > batch > execute_tool look");
});

describe("a run with several workers", () => {
  it.each([
    ["with", true],
    ["without", false],
  ])(
    "is one trace, with each worker linked to the previous one, %s a context manager",
    async (_with, contextManager) => {
      const { spans } = tracing({ contextManager });
      const store = await memoryStore();
      const worker = (at?: Parameters<typeof crashAt>[0]) =>
        new Runner(report(), {
          store,
          telemetry: otel(),
          ...(at === undefined ? {} : { probe: crashAt(at) }),
        });
      await failureOf(worker("step:finished").run("Go", { runId: "r-1" }));
      await failureOf(worker("turn:journaled").resume("r-1"));
      await worker().resume("r-1");

      const [began, again, last] = spans().filter(({ name }) => name === RUN);
      const [first, second, third] = [began, again, last].map((span) => span?.spanContext());
      expect(new Set(spans().map((span) => span.spanContext().traceId))).toEqual(new Set([first?.traceId]));
      for (const span of [again, last]) expect(span?.parentSpanContext?.spanId).toBe(first?.spanId);
      expect(again?.links.map((link) => link.context.spanId)).toEqual([first?.spanId]);
      expect(last?.links.map((link) => link.context.spanId)).toEqual([second?.spanId]);
      expect(last?.attributes["pawl.resumed"]).toBe(true);
      expect(await traceParents(store)).toEqual(
        [first, second, third].map((each) => `00-${each?.traceId}-${each?.spanId}-01`),
      );
      // The second worker journaled the first turn: the third only needs the second turn.
      const chats = spans().filter(({ name }) => name === "chat scripted-model");
      expect(chats.map(({ attributes }) => attributes["pawl.turn"])).toEqual([1, 2]);
    },
  );

  it("is linked to the caller that resumes it", async () => {
    const { spans } = tracing();
    const store = await memoryStore();
    const dying = new Runner(report(), { store, telemetry: otel(), probe: crashAt("step:finished") });
    await failureOf(dying.run("Go", { runId: "r-1" }));
    const request = await trace.getTracer("test").startActiveSpan("request", async (span: Span) => {
      await new Runner(report(), { store, telemetry: otel() }).resume("r-1");
      span.end();
      return span.spanContext();
    });
    const [first, second] = spans().filter(({ name }) => name === RUN);
    expect(second?.spanContext().traceId).toBe(first?.spanContext().traceId);
    expect(request.traceId).not.toBe(first?.spanContext().traceId);
    expect(second?.links.map((link) => link.context.spanId)).toEqual([
      first?.spanContext().spanId,
      request.spanId,
    ]);
  });
});

it("accepts what a custom port may return", async () => {
  const { spans } = tracing();
  const earlier = ["x", "00-0-0-0", ""];
  const run = otel({ content: true }).begin({ runId: "r-1", pipeline: "p", resumed: true, earlier });
  const chat = {
    kind: "chat",
    step: "s",
    stepId: "r-1/s",
    turn: 1,
    attempt: 1,
    provider: "openai.responses",
    settings: { maxOutputTokens: Number.POSITIVE_INFINITY },
    messages: [{ role: "user", content: "\ud800" }],
  };
  const facts = { usage: { inputTokens: Number.NaN }, responseId: "resp-1", output: "no parts" };
  const answer = await run.within(chat as never, async (span) => {
    span.record(facts as never);
    return "answer";
  });
  run.end(null);
  expect(answer).toBe("answer");
  const [root, call] = spans();
  expect(root?.parentSpanContext).toBeUndefined();
  expect(root?.links).toEqual([]);
  expect(call?.name).toBe("chat undefined");
  expect(call?.attributes).toMatchObject({
    "gen_ai.provider.name": "openai",
    "gen_ai.response.id": "resp-1",
  });
  expect(call?.attributes).not.toHaveProperty("gen_ai.usage.input_tokens");
  expect(call?.attributes).not.toHaveProperty("gen_ai.request.max_tokens");
});

// Cancellation by a signal: running work ends, nothing new begins, and the run can be resumed.

import { describe, expect, it } from "vitest";
import { agent as defineAgent, type ModelPort, Pipeline, Runner, Step } from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { answer, FakeOpenAiServer, hang, refusal } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { collect, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const CANCELLED = { status: "cancelled", owner: null, error: null, reserved: { tokens: 0 } };

describe("a run that is cancelled", () => {
  it("before it starts runs nothing and can be resumed", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(agent, { store });

    const result = await runner.run("Go", { runId: "r-1", signal: AbortSignal.abort() });

    expect(result).toMatchObject({ runId: "r-1", status: "cancelled", output: null });
    expect(prompts).toEqual([]);
    expect(await store.listSteps("r-1")).toEqual([]);
    expect(await store.getRun("r-1")).toMatchObject(CANCELLED);
    expect((await runner.resume("r-1")).output).toBe("Hello");
  });

  it("while its turn is being opened does not ask the model, and releases the reservation", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    let asked = 0;
    // It ignores its signal.
    const deaf: ModelPort = {
      provider: "own",
      modelId: "deaf",
      respond: async () => {
        asked += 1;
        throw new Error("The model must not be asked.");
      },
    };
    const runner = new Runner(defineAgent({ name: "worker", model: deaf }), {
      store,
      probe: (point) => (point === "turn:opened" ? cancel.abort() : undefined),
    });

    const result = await runner.run("Go", { runId: "r-1", signal: cancel.signal });

    expect(result.status).toBe("cancelled");
    expect(asked).toBe(0);
    expect(await store.getRun("r-1")).toMatchObject({ ...CANCELLED, charged: { tokens: 0 } });
  });

  it("during a model call closes the connection, and asks again when resumed", async () => {
    const server = await FakeOpenAiServer.start();
    try {
      const store = await memoryStore();
      server.next(hang, answer("Hello"));
      const cancel = new AbortController();
      const worker = defineAgent({ name: "worker", model: openAiModel(server.baseUrl) });
      const runner = new Runner(worker, { store });
      const run = runner.run("Go", { runId: "r-1", signal: cancel.signal });
      await server.received(1);
      cancel.abort();

      expect((await run).status).toBe("cancelled");
      expect(await store.getRun("r-1")).toMatchObject(CANCELLED);
      expect((await runner.resume("r-1")).output).toBe("Hello");
      expect(server.requests).toHaveLength(2);
      expect((await store.listSteps("r-1")).map((step) => step.status)).toEqual(["succeeded"]);
    } finally {
      await server.close();
    }
  });

  it("during a call of a model that ignores the signal is abandoned after the grace period", async () => {
    const store = await memoryStore();
    const clock = fakeClock();
    const asked = Promise.withResolvers<void>();
    const deaf: ModelPort = {
      provider: "own",
      modelId: "deaf",
      respond: () => {
        asked.resolve();
        return new Promise(() => undefined);
      },
    };
    const cancel = new AbortController();
    const runner = new Runner(defineAgent({ name: "worker", model: deaf }), { store, clock });
    const run = runner.run("Go", { runId: "r-1", signal: cancel.signal });
    await asked.promise;
    cancel.abort();
    await clock.advance(1_000);

    expect((await run).status).toBe("cancelled");
    const [call] = await store.listModelCalls("r-1");
    expect(call?.charge).toMatchObject({ basis: "baseline", amount: call?.reserved });
    expect(await store.getRun("r-1")).toMatchObject(CANCELLED);
  });

  it("in the pause before a model retry does not ask again", async () => {
    const server = await FakeOpenAiServer.start();
    try {
      const store = await memoryStore();
      server.next(refusal(429, "slow down", { "retry-after": "30" }), answer("Hello"));
      const clock = fakeClock();
      const asleep = Promise.withResolvers<void>();
      const sleep = (ms: number, signal?: AbortSignal) => {
        asleep.resolve();
        return clock.sleep(ms, signal);
      };
      const cancel = new AbortController();
      const worker = defineAgent({ name: "worker", model: openAiModel(server.baseUrl) });
      const runner = new Runner(worker, { store, clock: { ...clock, sleep } });
      const run = runner.run("Go", { runId: "r-1", signal: cancel.signal });
      await asleep.promise;
      cancel.abort();

      expect((await run).status).toBe("cancelled");
      expect(server.requests).toHaveLength(1);
      expect(await store.getRun("r-1")).toMatchObject({ ...CANCELLED, charged: { tokens: 0 } });
    } finally {
      await server.close();
    }
  });

  it("while a tool runs to its end keeps the receipt, and continues no further", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const { note, done, calls } = noteTool(() => {
      cancel.abort();
      return "done anyway";
    });
    const { agent, prompts } = scriptedAgent([noting("one"), noting("two")], { tools: { note } });
    // A model that ignores the signal would answer if it were asked.
    const respond: ModelPort["respond"] = (request) =>
      agent.model.respond({ ...request, signal: new AbortController().signal });
    const runner = new Runner({ ...agent, model: { ...agent.model, respond } }, { store });

    expect((await runner.run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");

    expect(calls[0]?.signal.aborted).toBe(true);
    expect(done).toEqual(["one"]);
    expect(prompts).toHaveLength(1);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["succeeded"]);
    expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBe(1);
  });

  it.each(["opaque", "keyed"] as const)("while a tool stops on the signal: %s", async (recovery) => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const { note, done } = noteTool(
      (_text, { signal }) => {
        if (done.length > 1) return "done";
        cancel.abort();
        return signal.throwIfAborted();
      },
      { recovery },
    );
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store });
    expect((await runner.run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    // The outcome of the call is unknown, and its recovery class decides.
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["in_doubt"]);
    if (recovery === "keyed") {
      expect((await runner.resume("r-1")).output).toBe("Hello");
      expect(done).toEqual(["one", "one"]);
    } else {
      expect((await runner.resume("r-1")).status).toBe("waiting");
      expect(done).toEqual(["one"]);
    }
  });

  it("with queued tool calls does not start them", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const { note, done } = noteTool(() => cancel.abort());
    const toolCalls = ["a", "b", "c"].map((text) => ({ name: "note", input: { text } }));
    const { agent } = scriptedAgent([{ toolCalls }, { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store, maxParallelToolCalls: 1 });
    expect((await runner.run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    expect(done).toEqual(["a"]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual([
      "succeeded",
      "prepared",
      "prepared",
    ]);
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(done).toEqual(["a", "b", "c"]);
  });

  it("between two steps does not enter the second", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, (_input, ctx) => {
        entered.push(name);
        cancel.abort();
        return ctx.signal.aborted;
      });
    const runner = new Runner(Pipeline.of("p", step("a"), step("b")), { store });
    expect((await runner.run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    expect(entered).toEqual(["a"]);
    expect((await runner.resume("r-1")).output).toBe(false); // with its own signal
    expect(entered).toEqual(["a", "b"]);
  });

  it("inside a code step ends it at its next call, whatever the code catches", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const { note, done } = noteTool();
    let hasContinued = false;
    const step = Step.run("a", async (_input, ctx) => {
      await ctx.call(note, { text: "one" });
      cancel.abort();
      await ctx.call(note, { text: "two" }).catch(() => "swallowed");
      hasContinued = true;
    });
    const runner = new Runner(step, { store });
    expect((await runner.run("Go", { runId: "r-1", signal: cancel.signal })).status).toBe("cancelled");
    expect(hasContinued).toBe(false);
    expect(done).toEqual(["one"]);
    await runner.resume("r-1");
    expect(done).toEqual(["one", "two"]);
  });

  it("inside a code step that ignores the signal abandons it after the grace period, and runs it from its start when resumed", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const entered = Promise.withResolvers<void>();
    let times = 0;
    const deaf = Step.run("deaf", () => {
      times += 1;
      entered.resolve();
      return times === 1 ? new Promise<string>(() => undefined) : "done";
    });
    const clock = fakeClock();
    const runner = new Runner(deaf, { store, clock });

    const run = runner.run("Go", { runId: "r-1", signal: cancel.signal });
    await entered.promise;
    cancel.abort();
    await clock.advance(1_000);

    expect((await run).status).toBe("cancelled");
    expect(await store.getRun("r-1")).toMatchObject(CANCELLED);
    expect((await runner.resume("r-1")).output).toBe("done");
    expect(times).toBe(2);
  });

  it("after its last step has succeeded, and stays so", async () => {
    const store = await memoryStore();
    const cancel = new AbortController();
    const step = Step.run("a", () => {
      cancel.abort();
      return "done";
    });
    const events = await collect(new Runner(step, { store }).stream("Go", { signal: cancel.signal }));
    expect(events.at(-1)).toMatchObject({ result: { status: "succeeded", output: "done" } });
  });
});

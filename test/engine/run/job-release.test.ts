// Releasing a run: running work is finished, nothing else begins, and the next worker resumes without loss.

import { describe, expect, it } from "vitest";
import {
  agent,
  ModelCallError,
  type ModelResponse,
  NotApplied,
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { acting, actTool, drainEventLoop, jumpingClock } from "../call/call-fixture.ts";
import { callsOf, jobRunner, jobSpec, stepsOf } from "../job-fixture.ts";
import { databaseFile, fileStore, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

/** A store, and a signal to release the run. */
async function releasing() {
  const store = await memoryStore();
  const release = new AbortController();
  const options = { runId: "r-1", release: release.signal };
  return { store, release, options };
}

async function expectQueued(store: Store): Promise<void> {
  expect(await store.getRun("r-1")).toMatchObject({ status: "queued", owner: null, error: null });
  expect((await store.listAttempts("r-1")).at(-1)?.endStatus).toBe("queued");
  expect((await store.getRun("r-1"))?.reserved).toEqual({ tokens: 0, microDollars: 0 });
}

describe("a run that is released", () => {
  it("during a tool call commits its turn, and does not ask the model again", async () => {
    const { store, release, options } = await releasing();
    const { note, done } = noteTool(() => release.abort());
    const { agent, prompts } = scriptedAgent([noting("one"), noting("two"), { text: "End." }], {
      tools: { note },
    });
    const runner = jobRunner(agent, store);

    const result = await runner.run("Go", options);

    expect([result.status, result.output]).toEqual(["queued", null]);
    expect([done, prompts.length]).toEqual([["one"], 1]);
    expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBe(1);
    expect(await stepsOf(store)).toEqual(["worker ready"]);
    await expectQueued(store);

    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([done, prompts.length]).toEqual([["one", "two"], 3]);
    expect((await store.getRun("r-1"))?.charged.tokens).toBe(45);
  });

  it("during a tool call runs the other calls of its turn too: a turn is committed whole", async () => {
    const { store, release, options } = await releasing();
    const { act, whats } = actTool(() => release.abort());
    const { agent, prompts } = scriptedAgent([acting("a", "b", "c"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, { maxParallelToolCalls: 1 });
    expect((await runner.run("Go", options)).status).toBe("queued");
    expect(whats).toEqual(["a", "b", "c"]);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([whats.length, prompts.length]).toEqual([3, 2]);
  });

  it("during a model call keeps the answer, and makes the calls in it", async () => {
    const { store, release, options } = await releasing();
    const { note, done } = noteTool();
    const { agent, prompts } = scriptedAgent(
      ({ turn }) => {
        if (turn === 1) release.abort();
        return turn === 1 ? noting("one") : { text: "End." };
      },
      { tools: { note } },
    );
    const runner = jobRunner(agent, store);
    expect((await runner.run("Go", options)).status).toBe("queued");
    expect([done, prompts.length]).toEqual([["one"], 1]);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([done, prompts.length]).toEqual([["one"], 2]);
  });

  it("during the last model call of a step ends the step, and enters no other", async () => {
    const { store, release, options } = await releasing();
    const { agent, prompts } = scriptedAgent(() => {
      release.abort();
      return { text: "Said." };
    });
    const runner = jobRunner(
      Pipeline.of(
        "p",
        Step.granular("talk", agent),
        Step.run("end", (x: string) => x),
      ),
      store,
    );
    expect((await runner.run("Go", options)).status).toBe("queued");
    expect(await stepsOf(store)).toEqual(["talk succeeded"]);
    expect((await runner.resume("r-1")).output).toBe("Said.");
    expect(prompts).toHaveLength(1);
  });

  it("in its last step has succeeded, and stays so", async () => {
    const { store, release, options } = await releasing();
    const step = Step.run("a", () => {
      release.abort();
      return "done";
    });
    expect(await jobRunner(step, store).run("Go", options)).toMatchObject({
      status: "succeeded",
      output: "done",
    });
  });

  it("in a code step finishes the running call, and ends the step at its next one, whatever the code catches", async () => {
    const { store, release, options } = await releasing();
    const { note, done } = noteTool((text) => {
      if (text === "one") release.abort();
      return text;
    });
    const reached: string[] = [];
    const step = Step.run("a", async (_input, ctx) => {
      reached.push("begun");
      await ctx.call(note, { text: "one" });
      reached.push("between");
      await ctx.call(note, { text: "two" }).catch(() => "swallowed");
      reached.push("end");
      return "done";
    });
    const runner = jobRunner(step, store);

    expect((await runner.run("Go", options)).status).toBe("queued");
    expect([done, reached]).toEqual([["one"], ["begun", "between"]]);
    expect(await callsOf(store)).toEqual(["r-1/a#0.1 note succeeded"]);
    expect(await stepsOf(store)).toEqual(["a ready"]);
    await expectQueued(store);

    expect((await runner.resume("r-1")).output).toBe("done");
    expect(done).toEqual(["one", "two"]);
    expect(reached).toEqual(["begun", "between", "begun", "between", "end"]);
  });

  it("in a code step without calls lets it end, and enters no other", async () => {
    const { store, release, options } = await releasing();
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, async () => {
        entered.push(name);
        release.abort();
        await new Promise(setImmediate);
      });
    const runner = jobRunner(Pipeline.of("p", step("a"), step("b")), store);
    expect((await runner.run("Go", options)).status).toBe("queued");
    expect(await stepsOf(store)).toEqual(["a succeeded"]);
    await runner.resume("r-1");
    expect(entered).toEqual(["a", "b"]);
  });

  it("in a loop ends its iteration, and resumes with the next", async () => {
    const { store, release, options } = await releasing();
    const inputs: number[] = [];
    const body = Step.run("x", (n: number) => {
      inputs.push(n);
      if (n === 1) release.abort();
      return n + 1;
    });
    const runner = jobRunner(Step.loop("again", body, { until: (n) => n === 3, maxIterations: 9 }), store);
    expect((await runner.run(0, options)).status).toBe("queued");
    expect(inputs).toEqual([0, 1]);
    expect((await runner.resume("r-1")).output).toBe(3);
    expect(inputs).toEqual([0, 1, 2]);
  });

  it("before it has begun does nothing, and can be resumed", async () => {
    const { store, release, options } = await releasing();
    release.abort();
    let entered = 0;
    const runner = jobRunner(
      Step.run("a", () => {
        entered += 1;
      }),
      store,
    );
    expect((await runner.run("Go", options)).status).toBe("queued");
    expect((await runner.resume("r-1", { release: release.signal })).status).toBe("queued");
    expect(entered).toBe(0);
    await runner.resume("r-1");
    expect(entered).toBe(1);
  });

  it("can be resumed by another process at once, with or without its id", async () => {
    const file = databaseFile();
    const [first, second] = [await fileStore(file), await fileStore(file)];
    const release = new AbortController();
    const { note, done } = noteTool(() => release.abort());
    const { agent } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
    const make = (store: Store) => new Runner(agent, { store });
    const { runId, status } = await make(first).run("Go", { release: release.signal });
    expect(status).toBe("queued");
    expect(await make(second).run("Go")).toMatchObject({ runId, resumed: true, output: "End." });
    expect(done).toEqual(["one"]);
  });

  it("while a cancellation is requested is cancelled", async () => {
    const { store, release, options } = await releasing();
    const { note } = noteTool(async () => {
      await store.requestCancel("r-1");
      release.abort();
    });
    const { agent } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
    expect((await jobRunner(agent, store).run("Go", options)).status).toBe("cancelled");
  });

  it("before it has asked a person asks when it is resumed", async () => {
    const { store, release, options } = await releasing();
    const step = Step.human("check", {
      question: () => {
        release.abort();
        return "Continue?";
      },
    });
    expect((await jobRunner(step, store).run("Go", options)).status).toBe("queued");
    expect((await jobRunner(step, store).resume("r-1")).status).toBe("waiting");
  });

  it("keeps its contract: what it used still counts", async () => {
    const { store, release, options } = await releasing();
    const { note, done } = noteTool(() => release.abort());
    const script = [noting("one"), noting("two"), noting("three")];
    const runner = jobRunner(scriptedAgent(script, { tools: { note } }).agent, store);
    const spec = jobSpec({ budgets: { maxToolCalls: 2 } });
    await runner.run("Go", { ...options, spec });
    await expect(runner.resume("r-1")).rejects.toThrow("maxToolCalls");
    expect(done).toEqual(["one", "two"]);
  });
});

const BUSY = { kind: "server_error", status: 503, retryAfterMs: 50_000, retryable: true } as const;

const ANSWER: ModelResponse = {
  content: [{ type: "text", text: "End." }],
  finishReason: "stop",
  responseId: null,
  usage: null,
  invalidCalls: {},
};

describe("a run that is released during a pause", () => {
  it("before a model retry does not wait for the end of the pause, and does not ask", async () => {
    const { store, release, options } = await releasing();
    const clock = fakeClock();
    let asked = 0;
    const model = {
      provider: "scripted",
      modelId: "busy",
      respond: () => {
        asked += 1;
        if (asked > 1) return Promise.resolve(ANSWER);
        return Promise.reject(new ModelCallError("The provider is busy.", BUSY));
      },
    };
    const pipeline = agent({ name: "worker", instructions: "You work.", model });
    const pausing = Promise.withResolvers<void>();
    const listening: RunnerOptions = {
      clock,
      onEvent: ({ type }) => {
        if (type === "model.failed") pausing.resolve();
      },
    };
    const make = (more: RunnerOptions) => jobRunner(pipeline, store, more);

    const run = make(listening).run("Go", options);
    await pausing.promise;
    await drainEventLoop();
    release.abort();

    expect((await run).status).toBe("queued");
    expect(asked).toBe(1);
    await expectQueued(store);
    expect((await make({}).resume("r-1")).output).toBe("End.");
    expect(asked).toBe(2);
  });

  it("before a tool retry finishes the call, and starts nothing else", async () => {
    const { store, release, options } = await releasing();
    const { act, calls } = actTool((n) => {
      if (n > 1) return "done";
      throw new NotApplied("503");
    });
    const { agent, prompts } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, {
      clock: jumpingClock(),
      onEvent: ({ type }) => {
        if (type === "tool.retrying") release.abort();
      },
    });
    expect((await runner.run("Go", options)).status).toBe("queued");
    expect([calls.map(({ attempt }) => attempt), prompts.length]).toEqual([[1, 2], 1]);
    expect(await callsOf(store)).toEqual(["r-1/worker#1.1 act succeeded"]);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([calls.length, prompts.length]).toEqual([2, 2]);
  });
});

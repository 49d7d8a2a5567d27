// `run` and `resume` with an existing run, with an unknown one, and with invalid input.

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  type Json,
  ModelCallError,
  NotJsonError,
  Pipeline,
  ResumeError,
  RunBusyError,
  RunNotFoundError,
  Runner,
  Step,
  StepFailedError,
  type Store,
} from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import {
  databaseFile,
  failureAs,
  failureOf,
  fileStore,
  memoryStore,
  noteTool,
  noting,
  scriptedAgent,
  sleeplessClock,
} from "../run-fixture.ts";

/** A step that works until the test releases it. */
function held() {
  const gate = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  let entered = 0;
  const step = Step.run("held", () => {
    entered++;
    begun.resolve();
    return gate.promise;
  });
  return { step, begun: begun.promise, end: () => gate.resolve("done"), entered: () => entered };
}

describe("run with the id of a run", () => {
  it("that succeeded returns its result again, and runs nothing", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent, prompts } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store });
    const first = await runner.run("Go", { runId: "r-1" });
    const events = await store.listEvents("r-1");

    const second = await runner.run("Go", { runId: "r-1" });

    expect(second).toEqual({ ...first, resumed: true });
    expect(await runner.resume("r-1")).toEqual(second);
    expect(prompts).toHaveLength(2);
    expect(done).toEqual(["one"]);
    expect(await store.listEvents("r-1")).toEqual(events);
  });

  it("that failed throws its error again, says that it failed earlier, and runs nothing", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent(() => {
      throw new Error("The provider is on fire.");
    });
    const runner = new Runner(agent, { store });
    const first = await failureAs(ModelCallError, runner.run("Go", { runId: "r-1" }));

    const second = await failureAs(ModelCallError, runner.run("Go", { runId: "r-1" }));

    expect(second).not.toBe(first);
    expect(second.message).toMatch(
      /^Run r-1 failed earlier \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\), and was not continued: /,
    );
    expect(second.message.endsWith(`: ${first.message}`)).toBe(true);
    expect([second.details, second.runId]).toEqual([first.details, "r-1"]);
    expect(prompts).toHaveLength(1);
  });

  it("that was cancelled returns its state, and resume continues it", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(agent, { store });
    await runner.run("Go", { runId: "r-1", signal: AbortSignal.abort() });
    expect(await runner.run("Go", { runId: "r-1" })).toMatchObject({ status: "cancelled", output: null });
    expect(await runner.resume("r-1")).toMatchObject({ status: "succeeded", output: "Hello", resumed: true });
  });

  it("and other input, or another pipeline, is refused and does not change the run", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(agent, { store });
    await runner.run({ a: 1, b: 2 }, { runId: "r-1" });
    const before = await store.getRun("r-1");

    const input = await failureAs(ResumeError, runner.run({ a: 1, b: 3 }, { runId: "r-1" }));
    expect(input.irrecoverable).toBe(true);
    expect(input.message).toMatch(/other input.+another run id/);
    const other = new Runner(Pipeline.of("other", Step.granular("worker", agent)), { store });
    const pipeline = await failureAs(ConfigurationError, other.run({ a: 1, b: 2 }, { runId: "r-1" }));
    expect(pipeline.message).toMatch(/belongs to pipeline worker, not other/);

    expect(await store.getRun("r-1")).toEqual(before);
    // The order of keys makes no difference.
    expect((await runner.run({ b: 2, a: 1 }, { runId: "r-1" })).output).toBe("Hello");
  });
});

describe("run without an id", () => {
  it("starts a new run each time, once the last one has ended", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(agent, { store });
    const ids = [await runner.run("Go"), await runner.run("Go")].map(({ runId }) => runId);
    expect(new Set(ids).size).toBe(2);
  });

  it("resumes a run of the same input whose worker was lost, unless `fresh` is set", async () => {
    const clock = fakeClock();
    const store = await memoryStore({ now: () => clock.now() });
    let crash = true;
    const { note, done } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const lose = () => {
      // The lease has expired by every clock but the worker's own timer, which did not fire.
      if (crash) clock.setWall(clock.now() + 60_000);
    };
    const runner = new Runner(agent, {
      store,
      clock,
      probe: (point, { turnIndex }) => void (point === "model:before-request" && turnIndex === 2 && lose()),
    });
    await expect(runner.run("Go", { runId: "lost" })).rejects.toMatchObject({ code: "lease_lost" });
    crash = false;

    expect(await runner.run("Other input")).toMatchObject({ resumed: false });
    expect(await runner.run("Go", { fresh: true })).toMatchObject({ resumed: false });
    expect(await runner.run("Go")).toMatchObject({ runId: "lost", resumed: true, output: "Hello" });
    expect(done).toEqual(["one", "one", "one"]);
  });
});

describe("a run that a living worker has", () => {
  it("is refused to a second worker in the same process, with owner and end of the lease", async () => {
    const store = await memoryStore();
    const { step, begun, end, entered } = held();
    const runner = new Runner(step, { store });
    const first = runner.run("Go", { runId: "r-1" });
    await begun;

    const error = await failureAs(RunBusyError, runner.run("Go", { runId: "r-1" }));
    await failureAs(RunBusyError, runner.resume("r-1"));

    expect(error.details).toMatchObject({ runId: "r-1", owner: expect.stringContaining(`/${process.pid}/`) });
    expect(Date.parse(error.details.until)).toBeGreaterThan(Date.now());
    end();
    expect((await first).output).toBe("done");
    expect(entered()).toBe(1);
  });

  it("is refused to another handle on the same file", async () => {
    const file = databaseFile();
    const { step, begun, end } = held();
    const first = new Runner(step, { store: await fileStore(file) }).run("Go", { runId: "r-1" });
    await begun;
    await failureAs(RunBusyError, new Runner(step, { store: await fileStore(file) }).resume("r-1"));
    end();
    await first;
  });

  it.each(["run", "resume"] as const)("is awaited by `%s` with `wait`, and runs once", async (how) => {
    const store = await memoryStore();
    const { step, begun, end, entered } = held();
    const first = new Runner(step, { store }).run("Go", { runId: "r-1" });
    await begun;
    const waited = Promise.withResolvers<void>();
    const clock = sleeplessClock();
    const sleep = async (ms: number) => {
      waited.resolve();
      await new Promise((resolve) => setTimeout(resolve, Math.min(ms, 1)));
    };
    const second = new Runner(step, { store, clock: { ...clock, sleep } });
    const result =
      how === "run" ? second.run("Go", { runId: "r-1", wait: true }) : second.resume("r-1", { wait: true });
    await waited.promise;
    end();
    expect(await result).toMatchObject({ status: "succeeded", output: "done" });
    expect((await first).output).toBe("done");
    expect(entered()).toBe(1);
  });

  it("is no longer awaited when the waiting call is cancelled", async () => {
    const store = await memoryStore();
    const { step, begun, end } = held();
    const runner = new Runner(step, { store });
    const first = runner.run("Go", { runId: "r-1" });
    await begun;
    const signal = AbortSignal.timeout(20);
    expect(await failureOf(runner.resume("r-1", { wait: true, signal }))).toHaveProperty(
      "name",
      "AbortError",
    );
    end();
    expect((await first).status).toBe("succeeded");
  });
});

describe("resume", () => {
  it("of an unknown run fails with its id", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([]);
    const error = await failureAs(RunNotFoundError, new Runner(agent, { store }).resume("unknown"));
    expect(error.details).toEqual({ runId: "unknown" });
  });

  it("of a run of another pipeline is refused before anything runs", async () => {
    const store = await memoryStore();
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, () => {
        entered.push(name);
        throw new Error("Not yet.");
      });
    await failureAs(StepFailedError, new Runner(step("a"), { store }).run("Go", { runId: "r-1" }));
    const error = await failureAs(ConfigurationError, new Runner(step("b"), { store }).resume("r-1"));
    expect(error.message).toContain("belongs to pipeline a, not b");
    expect((await store.getRun("r-1"))?.error?.code).toBe("step_failed");
    expect(entered).toEqual(["a"]);
  });
});

describe("a run refuses", () => {
  it.each(["../x", "", "x".repeat(200), "a/b", "a b", ".hidden", "a..b", "ü"])("the id %j", async (runId) => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([]);
    const runner = new Runner(agent, { store });
    const error = await failureAs(ConfigurationError, runner.run("Go", { runId }));
    expect(error.message).toContain(JSON.stringify(runId));
    await failureAs(ConfigurationError, runner.resume(runId));
    expect(await store.listRuns()).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ["a Date", { when: [new Date(0)] }, "$.when[0]"],
    ["NaN", { a: { b: Number.NaN } }, "$.a.b"],
    ["a function", [() => 1], "$[0]"],
    ["a BigInt", { "a key": 1n }, '$["a key"]'],
  ])("%s as input: the path is named, and no run is left behind", async (_name, input, path) => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([]);
    const error = await failureAs(NotJsonError, new Runner(agent, { store }).run(input as Json));
    expect(error.details).toEqual({ path });
    expect(error.message).toContain(`The input of the run is not JSON: ${path}`);
    expect(await store.listRuns()).toEqual([]);
  });
});

describe("a runner refuses", () => {
  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])("%d as a limit", (value) => {
    const { agent } = scriptedAgent([]);
    for (const name of ["leaseMs", "modelTimeoutMs", "maxModelAttempts", "maxParallelToolCalls"])
      expect(() => new Runner(agent, { [name]: value })).toThrow(`The runner's ${name} is ${value}`);
  });
});

describe("a hundred runs at once", () => {
  it("on one store do not affect each other", async () => {
    const store: Store = await memoryStore();
    const { note } = noteTool((text) => text);
    const { agent } = scriptedAgent([noting("one"), noting("two"), { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store });
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) => runner.run(`Go ${i}`, { runId: `r-${i}` })),
    );
    expect(results.every(({ output }) => output === "Hello")).toBe(true);
    expect((await store.listRuns({ status: "succeeded" })).length).toBe(100);
    const history = await store.readHistory("r-42", "worker");
    expect([history[1]?.content, history.length]).toEqual(["Go 42", 7]);
  });
});

describe("a runner with invalid options", () => {
  it.for<[what: string, options: object, says: RegExp]>([
    ["nothing for prices", { pricing: null }, /no pricing plan: give one with an id and models/],
    ["prices without a plan", { pricing: { "gpt-5.2": {} } }, /no pricing plan: give one with an id/],
    ["a plan without an id", { pricing: { models: {} } }, /no pricing plan: give one with an id/],
    [
      "a model without a price",
      { pricing: { id: "p", models: { m: null } } },
      /inputPerMillion of m in pricing/,
    ],
    [
      "half a price",
      { pricing: { id: "p", models: { m: { inputPerMillion: 1 } } } },
      /outputPerMillion of m/,
    ],
    [
      "a misspelt price",
      { pricing: { id: "p", models: { m: { input: 1 } } } },
      /has the unknown field input: use inputPerM/,
    ],
    ["slices that are no list", { slices: {} }, /slices is not a list: give an array/],
  ])("is refused with a message that names what to give: %s", ([, options, says]) => {
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const make = () => new Runner(agent, options);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(says);
  });
});

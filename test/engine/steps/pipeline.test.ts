// Steps in order: their input, the names of their instances, and that a finished one is never entered again.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, Pipeline, Runner, Step } from "../../../src/index.ts";
import { failureOf, memoryStore, noteTool, noting, scriptedAgent, toolResults } from "../run-fixture.ts";

const double = (name: string) => Step.run(name, (n: number) => n * 2);

describe("a pipeline", () => {
  it("runs its steps in order, each on the previous output", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const watch = (name: string, output: string) =>
      Step.run(name, (input: string) => {
        seen.push([name, input]);
        return output;
      });
    const pipeline = Pipeline.of("p", watch("a", "from a"), watch("b", "from b"), watch("c", "from c"));

    const result = await new Runner(pipeline, { store }).run("the input", { runId: "r-1" });

    expect(seen).toEqual([
      ["a", "the input"],
      ["b", "from a"],
      ["c", "from b"],
    ]);
    expect(result).toMatchObject({ runId: "r-1", status: "succeeded", output: "from c", resumed: false });
    const steps = await store.listSteps("r-1");
    expect(steps.map(({ path, input, output, status }) => [path, input, output, status])).toEqual([
      ["a", "the input", "from a", "succeeded"],
      ["b", "from a", "from b", "succeeded"],
      ["c", "from b", "from c", "succeeded"],
    ]);
  });

  it("inside others names its steps by their path", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "8" }], { output: z.number() });
    const inner = Pipeline.of("inner", double("x"), Pipeline.of("deep", double("x")));
    const pipeline = Pipeline.of(
      "outer",
      double("x"),
      inner,
      Step.granular("agent", agent),
      Step.loop("again", Pipeline.of("body", double("y")), { until: () => true, maxIterations: 3 }),
    );
    const result = await new Runner(pipeline, { store }).run(1, { runId: "r-1" });
    expect(result.output).toBe(16);
    expect((await store.listSteps("r-1")).map(({ path, name, kind }) => [path, name, kind])).toEqual([
      ["x", "x", "run"],
      ["inner/x", "x", "run"],
      ["inner/deep/x", "x", "run"],
      ["agent", "agent", "turn-loop"],
      ["again", "again", "loop"],
      ["again[1]/body/y", "y", "run"],
    ]);
  });

  it("enters no finished step again on resume, and passes its stored output on", async () => {
    const store = await memoryStore();
    const entered: string[] = [];
    let broken = true;
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", (input: string) => {
        entered.push("a");
        return { text: input };
      }),
      Step.run("b", (input: { text: string }) => {
        entered.push("b");
        if (broken) throw new Error("Not yet.");
        return input.text;
      }),
    );
    const runner = new Runner(pipeline, { store });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    broken = false;

    expect(await runner.resume("r-1")).toMatchObject({ output: "Go", resumed: true });

    expect(entered).toEqual(["a", "b", "b"]);
  });

  it("stores the phase of a step", async () => {
    const store = await memoryStore();
    await new Runner(
      Step.run("a", () => 1, { phase: "render" }),
      { store },
    ).run(null, { runId: "r-1" });
    expect((await store.listSteps("r-1"))[0]?.phase).toBe("render");
  });

  it("passes null for a step that returns nothing", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => undefined),
      Step.run("b", (input) => seen.push(input)),
    );
    await new Runner(pipeline, { store }).run("Go");
    expect(seen).toEqual([null]);
  });

  it("refuses an output that is not JSON, and names its path", async () => {
    const store = await memoryStore();
    // @ts-expect-error The types refuse it, too.
    const step = Step.run("a", () => ({ at: [new Date(0)] }));
    const error = await failureOf(new Runner(step, { store }).run("Go", { runId: "r-1" }));
    expect(error).toMatchObject({ code: "not_json", details: { path: "$.at[0]" } });
    expect(String(error)).toContain("output of step a");
    expect((await store.getRun("r-1"))?.status).toBe("failed");
  });
});

describe("a pipeline is refused", () => {
  it("with two steps of one name", () => {
    expect(() => Pipeline.of("p", double("a"), double("b"), double("a"))).toThrow(/two steps named a/);
    const { agent } = scriptedAgent([], { output: z.number() });
    expect(() => Pipeline.of("p", Step.granular("a", agent), double("a"))).toThrow(ConfigurationError);
  });

  it("without steps", () => {
    expect(() => Pipeline.of("p", ...([] as unknown as [ReturnType<typeof double>]))).toThrow(/no steps/);
  });

  it.each(["", "a/b", "a[1]", "a#1", " a", "..", "a\nb", "x".repeat(101)])("with a step named %j", (name) => {
    expect(() => double(name)).toThrow(ConfigurationError);
    expect(() => Pipeline.of(name, double("a"))).toThrow(ConfigurationError);
    expect(() => scriptedAgent([], { name })).toThrow(ConfigurationError);
  });

  it.each([0, -1, 1.5, Number.NaN])("with %d turns, iterations, tokens or bytes as a limit", (value) => {
    const { agent } = scriptedAgent([]);
    expect(() => Step.granular("a", agent, { maxTurns: value })).toThrow(ConfigurationError);
    expect(() => Step.granular("a", agent, { historyMaxTokens: value })).toThrow(ConfigurationError);
    expect(() => Step.granular("a", agent, { blobThresholdBytes: value })).toThrow(ConfigurationError);
    const loop = { until: () => true, maxIterations: value };
    expect(() => Step.loop("a", double("b"), loop)).toThrow(ConfigurationError);
    expect(() => scriptedAgent([], { settings: { maxOutputTokens: value } })).toThrow(ConfigurationError);
  });
});

describe("a runner", () => {
  it("runs an agent, a step or a pipeline", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    for (const [target, path] of [
      [agent, "worker"],
      [Step.granular("work", agent), "work"],
      [Pipeline.of("p", Step.granular("work", agent)), "work"],
      [Step.loop("l", Step.granular("w", agent), { until: () => true, maxIterations: 1 }), "l[1]/w"],
    ] as const) {
      const { output, runId } = await new Runner(target, { store }).run("Go", { fresh: true });
      expect(output).toBe("Hello");
      expect((await store.readGranularState(runId, path))?.finalOutput).toBe("Hello");
    }
    const step = double("a");
    expect((await new Runner(step, { store }).run(2)).output).toBe(4);
  });

  it("gives an agent its input as text, or otherwise as canonical JSON", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }]);
    await new Runner(agent, { store }).run({ b: 1, a: [true] });
    expect(prompts[0]?.[1]?.content).toMatchObject([{ text: '{"a":[true],"b":1}' }]);
  });

  it("gives a granular step the input of its options if it has one", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }]);
    const step = Step.granular("work", agent, { input: "Its own" });
    await new Runner(Pipeline.of("p", double("a"), step), { store }).run(1);
    expect(prompts[0]?.[1]?.content).toMatchObject([{ text: "Its own" }]);
  });
});

describe("two granular steps in one pipeline", () => {
  it("have separate turns, histories and keys", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const script = [noting("same"), { text: "Hello" }];
    const [first, second] = [
      scriptedAgent(script, { tools: { note } }),
      scriptedAgent(script, { tools: { note } }),
    ];
    const pipeline = Pipeline.of(
      "p",
      Step.granular("first", first.agent),
      Step.granular("second", second.agent),
    );

    const result = await new Runner(pipeline, { store }).run("Go", { runId: "r-1" });

    expect(done).toEqual(["same", "same"]);
    expect(second.prompts[0]).toMatchObject([{ role: "system" }, { content: [{ text: "Hello" }] }]);
    expect(toolResults(second.prompts[1])).toHaveLength(1);
    const turns = (await store.listTurns("r-1")).map(({ stepPath, turnIndex }) => [stepPath, turnIndex]);
    expect(turns).toEqual([
      ["first", 1],
      ["first", 2],
      ["second", 1],
      ["second", 2],
    ]);
    const keys = (await store.listToolCalls("r-1")).map((call) => call.idempotencyKey);
    expect(new Set(keys).size).toBe(2);
    expect(await store.readHistory("r-1", "first")).toHaveLength(5);
    // The result has the state of the last one.
    expect(result.context.granularState?.history[1]).toEqual({ role: "user", content: "Hello" });
    expect(result.usage.modelCalls).toBe(4);
  });
});

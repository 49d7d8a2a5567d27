import { describe, expect, it } from "vitest";
import { type EarlierSteps, type Json, Pipeline, Runner, Step } from "../../../src/index.ts";
import { memoryStore, scriptedAgent } from "../run-fixture.ts";

const say = (name: string, text: Json) => Step.run(name, () => text);

const lookingAt = (...names: readonly string[]) =>
  Step.run("look", async (_: Json, ctx) =>
    Promise.all(names.map(async (name) => (await ctx.outputOf(name))?.output ?? "nothing")),
  );

describe("a step", () => {
  it("sees the outputs of earlier steps, but not its own or later ones", async () => {
    const store = await memoryStore();
    const steps = Pipeline.of(
      "p",
      say("one", 1),
      say("two", null),
      lookingAt("one", "look", "late"),
      say("late", 4),
    );
    const { runId } = await new Runner(steps, { store }).run("Go");
    expect((await store.findStep(runId, "look"))?.output).toEqual([1, "nothing", "nothing"]);
    const two = Pipeline.of(
      "p",
      say("two", null),
      Step.run("look", (_: Json, ctx) => ctx.outputOf("two")),
    );
    expect((await new Runner(two, { store }).run("Go")).output).toEqual({ output: null });
  });

  it("inside a loop sees the outputs of its own iteration first, then those around the loop", async () => {
    const store = await memoryStore();
    let round = 0;
    const body = Pipeline.of(
      "body",
      Step.run("draft", () => `draft ${++round}`),
      lookingAt("draft", "topic"),
    );
    const loop = Step.loop("polish", body, { until: () => round === 2, maxIterations: 3 });
    const { output } = await new Runner(
      Pipeline.of("p", say("topic", "pawls"), say("draft", "first"), loop),
      {
        store,
      },
    ).run("Go");
    expect(output).toEqual(["draft 2", "pawls"]);
  });

  it("can read the run's input at any point", async () => {
    const store = await memoryStore();
    const steps = Pipeline.of(
      "p",
      say("one", 1),
      Step.run("look", (_: Json, ctx) => ctx.runInput()),
    );
    expect((await new Runner(steps, { store }).run({ topic: "pawls" })).output).toEqual({ topic: "pawls" });
  });
});

describe("the input function of an agent's step", () => {
  it("may use earlier outputs, and its result is fingerprinted", async () => {
    const store = await memoryStore();
    let word = "about";
    const start = () => {
      const { agent, prompts } = scriptedAgent(({ turn }) => {
        if (turn === 1 && prompts.length === 1) return { text: "Continue.", toolCalls: [] };
        return { text: "End." };
      });
      const input = async (given: Json, earlier: EarlierSteps) =>
        [word, (await earlier.outputOf("one"))?.output, given, await earlier.runInput()]
          .map((each) => JSON.stringify(each))
          .join(" ");
      const work = Step.granular("work", agent, { input });
      return { runner: new Runner(Pipeline.of("p", say("one", 1), say("two", 2), work), { store }), prompts };
    };
    const { runner, prompts } = start();
    await runner.run("Go", { runId: "r-1" });
    expect(JSON.stringify(prompts[0])).toContain(JSON.stringify('"about" 1 2 "Go"').slice(1, -1));
    word = "without";
    expect(await start().runner.run("Go", { runId: "r-1" })).toMatchObject({ status: "succeeded" });
  });

  it("is refused before the model is asked if it returns no JSON", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "End." }]);
    const step = Step.granular("work", agent, { input: () => undefined as never });
    await expect(new Runner(step, { store }).run("Go")).rejects.toThrow("The input of step work");
    expect(prompts).toEqual([]);
  });

  it("makes a resume fail if it returns something else", async () => {
    const store = await memoryStore();
    let word = "one";
    const start = (fails: boolean) => {
      const { agent } = scriptedAgent(() => {
        if (fails) throw new Error("The provider is down.");
        return { text: "End." };
      });
      return new Runner(Step.granular("work", agent, { input: () => word }), { store });
    };
    await expect(start(true).run("Go", { runId: "r-1" })).rejects.toThrow("provider is down");
    word = "two";
    await expect(start(false).resume("r-1")).rejects.toThrow(/input/);
    word = "one";
    expect(await start(false).resume("r-1")).toMatchObject({ status: "succeeded" });
  });
});

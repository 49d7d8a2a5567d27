import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type EarlierSteps,
  type Json,
  NotJsonError,
  Pipeline,
  Runner,
  Step,
  tool,
} from "../../../src/index.ts";
import { failureAs, memoryStore, scriptedAgent } from "../run-fixture.ts";

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

  it("stores its output without the properties that are undefined, and so does everything that is typed", async () => {
    const store = await memoryStore();
    const seen: unknown[] = [];
    const note = tool({
      name: "note",
      description: "Notes.",
      inputSchema: z.object({ text: z.string(), tag: z.string().optional() }),
      effect: "read_only",
      execute: (input) => ({ ...input, late: undefined }),
    });
    const missing = undefined as unknown as string;
    const { agent, prompts } = scriptedAgent([{ text: "End." }]);
    const steps = Pipeline.of(
      "p",
      Step.run("first", (input: Json) => {
        seen.push(input);
        return { a: missing, list: [{ b: missing, c: 1 }], d: { e: missing } };
      }),
      Step.run("second", async (input, ctx) => {
        seen.push(input);
        return ctx.call(note, { text: "x", tag: missing });
      }),
      Step.granular("last", agent, { input: (given) => ({ given, more: missing }) }),
    );
    const { runId } = await new Runner(steps, { store }).run({ topic: "pawls", note: missing });
    expect(seen).toStrictEqual([{ topic: "pawls" }, { list: [{ c: 1 }], d: {} }]);
    expect((await store.readRunInput(runId)).input).toStrictEqual({ topic: "pawls" });
    expect((await store.findStep(runId, "first"))?.output).toStrictEqual({ list: [{ c: 1 }], d: {} });
    expect((await store.listToolCalls(runId)).map(({ request }) => request)).toStrictEqual([{ text: "x" }]);
    expect(JSON.stringify(prompts[0])).toContain(JSON.stringify('{"given":{"text":"x"}}').slice(1, -1));
  });

  it.each([
    ["a Map", () => new Map([["a", 1]]), "$ is an instance of Map"],
    ["a Set in it", () => ({ seen: new Set([1]) }), "$.seen is an instance of Set"],
    ["a function in it", () => ({ count: () => 1, gone: undefined }), "$.count is a function"],
    ["undefined in a list", () => [1, undefined], "$[1] is undefined"],
  ])("with %s as its output fails, with the path", async (_, code, problem) => {
    const step = Step.run("make", code as () => Json);
    const run = new Runner(step, { store: await memoryStore() }).run("Go");
    expect((await failureAs(NotJsonError, run)).message).toContain(problem);
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

// Tool sources: tools that are known only once a run has opened them.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { makeToolSource, type ToolSource } from "../../../src/engine/definition/tool-source.ts";
import { agent, type Json, Pipeline, Runner, Step, tool } from "../../../src/index.ts";
import { asking } from "../call/call-fixture.ts";
import { memoryStore, recordingModel } from "../run-fixture.ts";

type Usage = { opened: string[]; closed: number; open: number };

/** A source with one tool, whose description a test may change between two openings. */
function shelf(options: { description?: () => string; fails?: () => boolean; name?: string } = {}) {
  const usage: Usage = { opened: [], closed: 0, open: 0 };
  const source: ToolSource = makeToolSource({
    name: options.name ?? null,
    open: async (name) => {
      if (options.fails?.() === true) throw new Error(`${name} is unreachable.`);
      usage.opened.push(name);
      usage.open++;
      const take = tool({
        description: options.description?.() ?? "Takes a thing.",
        inputSchema: z.object({ thing: z.string() }),
        effect: "external",
        recovery: "repeat",
        execute: ({ thing }) => {
          if (usage.open === 0) throw new Error("It is closed.");
          return `${thing} from ${name}`;
        },
      });
      return {
        tools: { [`${name}__take`]: take },
        close: async () => {
          usage.closed++;
          usage.open--;
        },
      };
    },
  });
  return { source, usage };
}

function taker(tools: { [name: string]: ToolSource }, tool = "attic__take") {
  const { model, prompts } = recordingModel([asking([tool, { thing: "chair" }]), { text: "Done." }]);
  return { worker: agent({ name: "worker", model, tools }), prompts };
}

describe("a tool source", () => {
  it("is opened under its key, its tools are called like others, and it is closed with the run", async () => {
    const store = await memoryStore();
    const { source, usage } = shelf();
    const { worker } = taker({ attic: source });
    expect(usage).toEqual({ opened: [], closed: 0, open: 0 });
    const { runId, output } = await new Runner(worker, { store }).run("Go");
    expect(output).toBe("Done.");
    expect(usage).toEqual({ opened: ["attic"], closed: 1, open: 0 });
    expect(await store.listToolCalls(runId)).toMatchObject([
      { tool: "attic__take", receipt: { status: "succeeded", output: { value: "chair from attic" } } },
    ]);
  });

  it("keeps its own name if it has one", async () => {
    const store = await memoryStore();
    const { source, usage } = shelf({ name: "attic" });
    await new Runner(taker({ cellar: source }).worker, { store }).run("Go");
    expect(usage.opened).toEqual(["attic"]);
  });

  it("is opened once for all steps of a run, and again for the next run", async () => {
    const store = await memoryStore();
    const { source, usage } = shelf();
    const { worker } = taker({ attic: source });
    const twice = Pipeline.of("p", Step.granular("one", worker), Step.granular("two", worker));
    await new Runner(twice, { store }).run("Go", { fresh: true });
    expect(usage).toEqual({ opened: ["attic"], closed: 1, open: 0 });
    await new Runner(twice, { store }).run("Go", { fresh: true });
    expect(usage).toEqual({ opened: ["attic", "attic"], closed: 2, open: 0 });
  });

  it("is closed if the run fails, too", async () => {
    const store = await memoryStore();
    const { source, usage } = shelf();
    const { model } = recordingModel([asking(["attic__take", { thing: "chair" }])]);
    const worker = agent({ name: "worker", model, tools: { attic: source } });
    await expect(new Runner(worker, { store }).run("Go")).rejects.toThrow("no answer for turn 2");
    expect(usage).toEqual({ opened: ["attic"], closed: 1, open: 0 });
  });

  it("that cannot be opened fails the run before the model is asked, and a resume opens it again", async () => {
    const store = await memoryStore();
    let fails = true;
    const { source } = shelf({ fails: () => fails });
    const { worker, prompts } = taker({ attic: source });
    const runner = new Runner(worker, { store });
    await expect(runner.run("Go", { runId: "r-1" })).rejects.toThrow("attic is unreachable.");
    expect(prompts).toEqual([]);
    fails = false;
    expect(await runner.resume("r-1")).toMatchObject({ status: "succeeded", output: "Done." });
  });

  it("is fingerprinted: a run does not resume if its source now has other tools", async () => {
    const store = await memoryStore();
    let description = "Takes a thing.";
    const { source } = shelf({ description: () => description });
    const { model, prompts } = recordingModel(({ turn }) => {
      if (turn === 2 && prompts.length === 2) throw new Error("The provider is down.");
      return turn === 1 ? asking(["attic__take", { thing: "chair" }]) : { text: "Done." };
    });
    const runner = new Runner(agent({ name: "worker", model, tools: { attic: source } }), { store });
    await expect(runner.run("Go", { runId: "r-1" })).rejects.toThrow("provider is down");
    description = "Burns the house down.";
    await expect(runner.resume("r-1")).rejects.toThrow(/tools\.local:attic__take/);
    expect(prompts).toHaveLength(2);
    description = "Takes a thing.";
    expect(await runner.resume("r-1")).toMatchObject({ status: "succeeded" });
  });

  it("cannot share a tool name with another source: the run does not start", async () => {
    const store = await memoryStore();
    const { worker } = taker({ attic: shelf().source, cellar: shelf({ name: "attic" }).source });
    await expect(new Runner(worker, { store }).run("Go")).rejects.toThrow(
      "Two sources have a tool attic__take: give one of them another name.",
    );
  });

  it("can be used by code, by its name", async () => {
    const store = await memoryStore();
    const { source, usage } = shelf({ name: "attic" });
    const step = Step.run("fetch", async (_input: Json, ctx) => {
      const { attic__take } = await ctx.tools(source);
      return attic__take === undefined ? null : ctx.call(attic__take, { thing: "lamp" });
    });
    const { runId, output } = await new Runner(step, { store }).run(null);
    expect(output).toBe("lamp from attic");
    expect(usage).toEqual({ opened: ["attic"], closed: 1, open: 0 });
    expect(await store.listToolCalls(runId)).toMatchObject([{ tool: "attic__take", status: "succeeded" }]);
    const nameless = Step.run("fetch", (_input: Json, ctx) => ctx.tools(shelf().source).then(() => null));
    await expect(new Runner(nameless, { store }).run(null)).rejects.toThrow(
      "A tool source that the code of a step opens needs a name: give it one.",
    );
  });

  it("is closed after a forecast", async () => {
    const store = await memoryStore();
    const { source, usage } = shelf();
    const { model } = recordingModel([asking(["attic__take", { thing: "chair" }])]);
    const runner = new Runner(agent({ name: "worker", model, tools: { attic: source } }), { store });
    await expect(runner.run("Go", { runId: "r-1" })).rejects.toThrow("no answer");
    const forecast = await runner.forecast("r-1");
    expect(forecast).toMatchObject({ refusal: null, next: { step: "worker" } });
    expect(usage).toEqual({ opened: ["attic", "attic"], closed: 2, open: 0 });
  });

  it("must provide keyed tools in a step with enforceIdempotency", async () => {
    const store = await memoryStore();
    const source = makeToolSource({
      name: null,
      open: (name) => {
        const pay = tool({
          description: "Pays.",
          inputSchema: z.object({}),
          effect: "external",
          execute: () => 1,
        });
        return Promise.resolve({ tools: { [`${name}__pay`]: pay }, close: () => Promise.resolve() });
      },
    });
    const step = Step.granular("work", taker({ attic: source }).worker, { enforceIdempotency: true });
    await expect(new Runner(step, { store }).run("Go")).rejects.toThrow(
      "Step work enforces idempotency and tool attic__pay takes no key",
    );
  });
});

// Two copies of the package in one process: tools, models and steps throw the errors of one, and the runner is of the other.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import type * as Errors from "../../../src/core/errors.ts";
import { agent, type ModelPort, Runner, Step, type Tool, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { failureOf, memoryStore } from "../run-fixture.ts";

const address = "../../../src/core/errors.ts?second-copy";
const copy = (await import(address)) as typeof Errors;

const NAMED = { runId: "r-1" };

function modelThrowing(error: Error): ModelPort {
  return { provider: "own", modelId: "own", respond: () => Promise.reject(error) };
}

describe("an error of another copy of the package", () => {
  it("of a model that was not called is charged nothing, and the run continues when it is run again", async () => {
    const store = await memoryStore();
    const details = { kind: "not_sent", status: null, retryAfterMs: null, retryable: false } as const;
    let asked = 0;
    const model: ModelPort = {
      ...modelThrowing(new copy.ModelCallError("No key.", details)),
      respond: async () => {
        if (++asked === 1) throw new copy.ModelCallError("No key.", details);
        const content = [{ type: "text", text: "Hello" } as const];
        return { content, finishReason: "stop", usage: null, invalidCalls: {}, responseId: null };
      },
    };
    const runner = new Runner(agent({ name: "clerk", model }), { store });
    const failure = await failureOf(runner.run("Go", NAMED));
    expect(copy.ModelCallError.isInstance(failure) && failure.details.kind).toBe("not_sent");
    expect((await store.listModelCalls("r-1")).map(({ charge }) => charge?.basis)).toEqual(["none"]);
    expect((await runner.run("Go", NAMED)).output).toBe("Hello");
  });

  it.each([
    ["a pause", () => new copy.PausedError("Lunch."), "waiting"],
    ["an abort", () => new copy.PipelineAbortError("Enough."), "cancelled"],
    ["a failure of its own", () => new copy.ConfigurationError("Wrong."), "failed"],
  ])("has the same effect as one of this copy: %s", async (_, thrown, status) => {
    const store = await memoryStore();
    const step = Step.run("work", () => {
      throw thrown();
    });
    await failureOf(new Runner(step, { store }).run("Go", NAMED));
    expect((await store.getRun("r-1"))?.status).toBe(status);
  });

  it("that a tool throws because nothing happened makes the call run again", async () => {
    const store = await memoryStore();
    let attempts = 0;
    const pay: Tool = tool({
      description: "Pays.",
      inputSchema: z.object({}),
      execute: () => {
        if (++attempts === 1) throw new copy.NotApplied("The bank is busy.");
        return "paid";
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: "pay", input: {} }] }, { text: "End." }]);
    await new Runner(agent({ name: "clerk", model, tools: { pay } }), { store, random: () => 0 }).run(
      "Go",
      NAMED,
    );
    expect((await store.listToolCalls("r-1")).map(({ status, attempt }) => [status, attempt])).toEqual([
      ["succeeded", 2],
    ]);
  });
});

// Tools of the AI SDK in code steps.

import { tool as sdkTool } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type CodeStepContext,
  ConfigurationError,
  type Json,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type WiredStep,
} from "../../../src/index.ts";
import { crashAt } from "../../engine/call/call-fixture.ts";
import { failureOf, memoryStore } from "../../engine/run-fixture.ts";

function weatherTool() {
  const asked: string[] = [];
  const weather = sdkTool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => {
      asked.push(city);
      return { city, celsius: 20, at: new Date(0) };
    },
  });
  return { weather, asked };
}

type TextStep = WiredStep<string, string>;

const runnerOf = (step: TextStep, store: Store, options: RunnerOptions = {}) =>
  new Runner(step, { store, ...options });
const run = (step: TextStep, store: Store) => runnerOf(step, store).run("Go", { runId: "r-1" });

describe("ctx.call with a tool of the AI SDK", () => {
  it("has the tool's types, and stores a receipt under the given name", async () => {
    const store = await memoryStore();
    const { weather } = weatherTool();
    const step = Step.run("look", async (_: string, ctx) => {
      const found = await ctx.call(weather, { city: "Rome" }, { name: "get_weather" });
      expectTypeOf(found).toEqualTypeOf<{ city: string; celsius: number; at: string }>();
      // @ts-expect-error A city is a text.
      expect(() => ctx.call(weather, { city: 1 }, { name: "get_weather" })).toBeTypeOf("function");
      return `${found.celsius} at ${found.at}`;
    });
    expect((await run(step, store)).output).toBe("20 at 1970-01-01T00:00:00.000Z");
    const calls = await store.listToolCalls("r-1");
    expect(calls).toMatchObject([{ tool: "get_weather", status: "succeeded", effect: "read_only" }]);
  });

  it("is not called again after a crash: the receipt is reused", async () => {
    const store = await memoryStore();
    const { weather, asked } = weatherTool();
    const step = Step.run("look", async (_: string, ctx) => {
      const rome = await ctx.call(weather, { city: "Rome" }, { name: "send_weather" });
      const oslo = await ctx.call(weather, { city: "Oslo" }, { name: "send_weather" });
      return `${rome.city} ${oslo.city}`;
    });
    await failureOf(
      runnerOf(step, store, { probe: crashAt("tool:receipt-stored") }).run("Go", { runId: "r-1" }),
    );
    expect(asked).toEqual(["Rome"]);
    const { output } = await runnerOf(step, store).resume("r-1");
    expect(output).toBe("Rome Oslo");
    expect(asked).toEqual(["Rome", "Oslo"]);
  });

  it("asks for approval if the tool needs it", async () => {
    const store = await memoryStore();
    const free = sdkTool({ inputSchema: z.object({ cents: z.number() }), execute: ({ cents }) => cents });
    // Deprecated in the SDK, and still in use.
    const pay: typeof free = Object.assign({}, free, { needsApproval: true });
    const step = Step.run(
      "pay",
      async (_: string, ctx) => `${await ctx.call(pay, { cents: 500 }, { name: "pay" })}`,
    );
    const { status, waits } = await run(step, store);
    expect([status, waits.length]).toEqual(["waiting", 1]);
  });

  it("passes the context on, and takes the last value of a generator", async () => {
    const store = await memoryStore();
    const count = sdkTool({
      inputSchema: z.object({ to: z.number() }),
      contextSchema: z.object({ unit: z.string() }),
      async *execute({ to }, { context }) {
        for (let n = 1; n <= to; n++) yield `${n} ${context.unit}`;
      },
    });
    const step = Step.run("count", async (_: string, ctx) => {
      const last = await ctx.call(count, { to: 3 }, { name: "count", context: { unit: "m" } });
      expectTypeOf(last).toEqualTypeOf<string>();
      return last;
    });
    expect((await run(step, store)).output).toBe("3 m");
  });

  it("is refused without a name, without arguments that fit, and for what is no tool", async () => {
    const store = await memoryStore();
    const { weather, asked } = weatherTool();
    const failing = async (code: (input: string, ctx: CodeStepContext) => Promise<Json>) =>
      failureOf(new Runner(Step.run("look", code), { store }).run("Go", { fresh: true }));
    // @ts-expect-error An AI SDK tool has no name of its own.
    const unnamed = await failing((_, ctx) => ctx.call(weather, { city: "Rome" }));
    expect(unnamed).toBeInstanceOf(ConfigurationError);
    expect(String(unnamed)).toContain('call it as ctx.call(tool, input, { name: "…" })');
    const unfit = await failing((_, ctx) => ctx.call(weather, { city: 1 } as never, { name: "get_weather" }));
    expect(String(unfit)).toContain("city: Invalid input: expected string");
    const odd = await failing((_, ctx) => ctx.call("weather" as never, {}));
    expect(String(odd)).toContain("is not a tool");
    expect(asked).toEqual([]);
  });
});

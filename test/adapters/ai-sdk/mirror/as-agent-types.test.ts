import { type Agent, createAgentUIStreamResponse, Output } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { agent, Runner } from "../../../../src/index.ts";
import { scriptedModel } from "../../../../src/testing/index.ts";
import { mirrored } from "./mirrored-agents.ts";

describe("the types of asAgent()", () => {
  it("let an agent alone be called with a prompt and nothing else", async () => {
    const { runner } = await mirrored([{ text: "One." }]);
    const clerk = asAgent(runner);
    const { text } = await clerk.generate({ prompt: "First?" });
    expect(text).toBe("One.");
    expect(await (await clerk.stream({ prompt: "Second?" })).text).toBe("One.");
    const keyed = await clerk.generate({
      messages: [{ role: "user", content: "First?" }],
      options: { key: "q" },
    });
    expect(keyed.text).toBe("One.");
    // @ts-expect-error A call has a prompt or messages.
    await expect(clerk.generate({})).rejects.toThrow("needs one of prompt and messages");
    // @ts-expect-error There is no such option.
    await expect(clerk.generate({ prompt: "Third?", options: { chat: "c" } })).rejects.toThrow("chat");
  });

  it("have the type of the output without options of the call", async () => {
    const { tools, store } = await mirrored([]);
    const city = Output.object({ schema: z.object({ city: z.string() }) });
    const model = scriptedModel([{ text: '{"city":"Bern"}' }]);
    const finder = asAgent(new Runner(agent({ name: "finder", model, output: city, tools }), { store }), {
      tools,
    });
    const { output } = await finder.generate({ prompt: "Where?" });
    expectTypeOf(output).toEqualTypeOf<{ city: string }>();
    expect(output).toEqual({ city: "Bern" });
  });

  it("fit where the SDK takes an agent, with tools and an output or without", async () => {
    const { runner, tools, store } = await mirrored([{ text: "One." }]);
    const city = Output.object({ schema: z.object({ city: z.string() }) });
    const finder = agent({ name: "finder", model: scriptedModel([]), output: city, tools });
    // biome-ignore lint/suspicious/noExplicitAny: the SDK's own functions take agents of any types so.
    // oxlint-disable-next-line typescript/no-explicit-any
    const taken: Agent<any, any, any, any>[] = [
      asAgent(runner),
      asAgent(runner, { tools }),
      asAgent(new Runner(finder, { store }), { tools }),
    ];
    const plain: Agent = asAgent(runner);
    expect([...taken, plain].map(({ id }) => id)).toEqual(["clerk", "clerk", "finder", "clerk"]);
    const response = await createAgentUIStreamResponse({
      agent: asAgent(runner, { tools }),
      uiMessages: [{ id: "m", role: "user", parts: [{ type: "text", text: "First?" }] }],
      options: { runId: "r-1", by: "ann" },
    });
    expect(await response.text()).toContain("One.");
  });
});

import { createAgentUIStreamResponse, experimental_createSteering } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asAgent } from "../../../../src/adapters/ai-sdk/index.ts";
import { agent, conversation, openStore, Pipeline, Runner, Step, tool } from "../../../../src/index.ts";
import { scriptedModel } from "../../../../src/testing/index.ts";
import { LOOK_UP, mirrored } from "./mirrored-agents.ts";

const prompt = "Hi";

describe("what an agent over a run refuses", () => {
  it("names what to use instead", async () => {
    const { runner } = await mirrored([{ text: "Hello." }]);
    const clerk = asAgent(runner);
    const refused = async (more: object, why: string) => {
      await expect(clerk.stream({ prompt, options: {}, ...more })).rejects.toThrow(why);
    };
    await refused({ timeout: 5 }, "cannot have timeout: give the run a deadline");
    await refused({ experimental_sandbox: {} }, "give the sandbox to the tools");
    await refused({ experimental_steering: experimental_createSteering() }, "runner.send(runId, text");
    await refused({ stopWhen: () => true }, 'has no "stopWhen"');
    await refused({ options: { chatId: "1" } }, "did you mean runId?");
    const unset: object = { timeout: undefined, experimental_steering: undefined };
    const { text } = await clerk.generate({ prompt, options: {}, ...unset });
    expect(text).toBe("Hello.");
  });

  it("is a runner of a pipeline, or without a store, and a conversation without a run", async () => {
    const model = scriptedModel([]);
    const clerk = agent({ name: "clerk", model });
    const store = await openStore(":memory:");
    const steps = Pipeline.of("two", Step.granular("a", clerk), Step.granular("b", clerk));
    expect(() => asAgent(new Runner(steps, { store }))).toThrow("is not one agent");
    expect(() => asAgent(new Runner(clerk))).toThrow("a runner without a store");
    const { tools } = await mirrored([]);
    expect(() => asAgent(new Runner(clerk, { store }), { tools })).toThrow("which agent clerk does not have");
    const chat = asAgent(new Runner(conversation(clerk), { store }));
    await expect(chat.generate({ prompt, options: {} })).rejects.toThrow("names no run");
    await store.close();
  });
});

describe("a run that fails", () => {
  const failing = [{ text: "I look.", toolCalls: [LOOK_UP(7)] }];

  it("is thrown by generate as runner.run throws it, and again by the same call", async () => {
    const { runner } = await mirrored(failing, { maxModelAttempts: 1 });
    const clerk = asAgent(runner);
    const call = { prompt, options: { key: "k" } };
    await expect(clerk.generate(call)).rejects.toThrow("The script has no answer for turn 2");
    await expect(clerk.generate(call)).rejects.toThrow("The script has no answer for turn 2");
  });

  it.each([true, false])(
    "is an error in a stream that ends as the SDK's own do, and rejects its text (conversation: %s)",
    async (isConversation) => {
      const { runner } = await mirrored(failing, { maxModelAttempts: 1, isConversation });
      const clerk = asAgent(runner);
      const result = await clerk.stream({ prompt, options: { runId: "run-1" } });
      const seen: string[] = [];
      for await (const part of result.stream) seen.push(part.type);
      expect(seen.slice(-4)).toEqual(["start-step", "error", "finish-step", "finish"]);
      expect(seen).toContain("tool-result");
      const said = isConversation
        ? "ended without an answer (failed)"
        : "The script has no answer for turn 2";
      for (const promise of [result.text, result.output, result.steps, result.usage])
        await expect(promise).rejects.toThrow(said);
      const read: string[] = [];
      const texts = await clerk.stream({ prompt, options: { runId: "run-2" } });
      for await (const delta of texts.textStream) read.push(delta);
      expect(read.join("")).toBe("I look.");
    },
  );

  it("ends the body of a UI stream, which says so", async () => {
    const { runner } = await mirrored(failing, { maxModelAttempts: 1, isConversation: true });
    const response = await createAgentUIStreamResponse({
      agent: asAgent(runner),
      uiMessages: [{ id: "m", role: "user", parts: [{ type: "text", text: prompt }] }],
      options: { runId: "chat-1" },
    });
    const body = await response.text();
    expect(body).toContain('"type":"error"');
    expect(body.trimEnd()).toMatch(/data: \[DONE\]$/);
  });

  it("in the middle of a step is one error, and the SDK asks for no further step", async () => {
    const { store, tools } = await mirrored([]);
    const slow = tool({
      description: "Takes long.",
      inputSchema: z.object({}),
      effect: "read_only",
      execute: (_, { signal }) =>
        new Promise<string>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
    const model = scriptedModel([{ toolCalls: [LOOK_UP(7), { name: "slow", input: {} }] }]);
    const runner = new Runner(agent({ name: "clerk", model, tools: { ...tools, slow } }), { store });
    const result = await asAgent(runner).stream({ prompt, options: { runId: "run-1" } });
    const seen: string[] = [];
    for await (const part of result.stream) {
      seen.push(part.type);
      if (part.type === "tool-call") await store.requestCancel("run-1");
    }
    const rest = seen.filter((type) => type !== "tool-result");
    expect(rest.slice(-4)).toEqual(["tool-call", "error", "finish-step", "finish"]);
    await expect(result.text).rejects.toThrow("was cancelled");
  });
});

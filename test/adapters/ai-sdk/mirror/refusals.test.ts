import { experimental_createSteering } from "ai";
import { describe, expect, it } from "vitest";
import { asAgent, MirroredRunError } from "../../../../src/adapters/ai-sdk/index.ts";
import { agent, conversation, openStore, Pipeline, Runner, Step } from "../../../../src/index.ts";
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

  it("is an error in the stream, and rejects its text", async () => {
    const { runner } = await mirrored(failing, { maxModelAttempts: 1, isConversation: true });
    const result = await asAgent(runner).stream({ prompt, options: { runId: "chat-1" } });
    const seen: string[] = [];
    const read = async () => {
      for await (const part of result.stream) seen.push(part.type);
    };
    await expect(read()).rejects.toThrow("ended without an answer (failed)");
    expect(seen).toContain("error");
    expect(seen).not.toContain("finish");
    await expect(result.text).rejects.toThrow(MirroredRunError);
  });
});

// Answers that were cut off at the limit of output tokens.

import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type AgentOptions,
  AnswerCutOffError,
  agent,
  type Completion,
  Runner,
  type RunnerOptions,
  Step,
  tool,
} from "../../../src/index.ts";
import type { ScriptedResponse } from "../../../src/testing/index.ts";
import { answer, FakeOpenAiServer } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { failureAs, memoryStore, must, type Prompt, recordingModel } from "../run-fixture.ts";

const cut = (text: string): ScriptedResponse => ({ text, finishReason: "length" });
const CUT_OFF =
  "Your answer was cut off: it reached the limit of 4096 output tokens. Answer again, whole and in fewer words.";

/** The user messages in a prompt, after the first one. */
function userTexts(prompt: Prompt | undefined): unknown[] {
  const messages = prompt?.filter((message) => message.role === "user").slice(1) ?? [];
  return messages.map(({ content }) => (content[0] as { text: string }).text);
}

type Options = Partial<Omit<AgentOptions<unknown>, "model">> & { completion?: Completion };

function writerOf(script: readonly ScriptedResponse[], options: Options = {}) {
  const { completion = "auto", ...rest } = options;
  const { model, prompts } = recordingModel(script);
  const step = Step.granular("work", agent<unknown>({ name: "writer", model, ...rest }), { completion });
  const runner = (given: RunnerOptions) => new Runner(step, given);
  return { runner, prompts };
}

async function runOf(script: readonly ScriptedResponse[], options: Options = {}) {
  const { runner, prompts } = writerOf(script, options);
  const store = await memoryStore();
  const { output } = await runner({ store }).run("Go", { runId: "r-1" });
  return { output, userTexts: userTexts(prompts.at(-1)) };
}

describe("a cut-off answer", () => {
  it("is no output: a shorter one is requested and used", async () => {
    expect(await runOf([cut("Once upon a"), { text: "The end." }])).toEqual({
      output: "The end.",
      userTexts: [CUT_OFF],
    });
  });

  it("is the output with acceptCutAnswers", async () => {
    expect(await runOf([cut("Once upon a")], { acceptCutAnswers: true })).toEqual({
      output: "Once upon a",
      userTexts: [],
    });
  });

  it("is requested again if it should be JSON, without an error about the JSON", async () => {
    const output = z.object({ title: z.string() });
    expect(await runOf([cut('{"title": "On'), { text: '{"title":"One"}' }], { output })).toEqual({
      output: { title: "One" },
      userTexts: [CUT_OFF],
    });
  });

  it("counts as whole if its JSON is closed and fits, whatever follows", async () => {
    const output = z.object({ title: z.string() });
    expect(await runOf([cut(`{"title":"One"}${" ".repeat(50)}`)], { output })).toEqual({
      output: { title: "One" },
      userTexts: [],
    });
  });

  it("is continued if the agent has not signalled completion", async () => {
    const script = [cut("Part one"), cut("Part two"), cut("Part three"), { text: "DONE" }];
    expect(await runOf(script, { completion: "signal" })).toEqual({
      output: "DONE",
      userTexts: ["Continue.", "Continue.", "Continue."],
    });
  });

  it("is requested again each time after a complete one in between", async () => {
    const look = tool({ description: "Looks.", inputSchema: z.object({}), execute: () => "seen" });
    const script = [cut("a"), { toolCalls: [{ name: "look", input: {} }] }, cut("b"), { text: "c" }];
    expect(await runOf(script, { tools: { look } })).toEqual({ output: "c", userTexts: [CUT_OFF, CUT_OFF] });
  });
});

describe("an answer that was cut off twice in a row", () => {
  const script = [cut("Once upon a time"), cut("Once upon a"), { text: "The end." }];

  it("fails the run with an error that names the limit and the option, and is not charged again", async () => {
    const store = await memoryStore();
    const { runner, prompts } = writerOf(script);

    const error = await failureAs(AnswerCutOffError, runner({ store }).run("Go", { runId: "r-1" }));

    expect(error.details).toEqual({ step: "work", turn: 2, maxOutputTokens: 4096 });
    expect(error.message).toContain("settings.maxOutputTokens");
    expect(error.message).toContain("acceptCutAnswers");
    await failureAs(AnswerCutOffError, runner({ store }).resume("r-1"));
    expect(prompts).toHaveLength(2);
    expect(must(await store.getRun("r-1"))).toMatchObject({ status: "failed", charged: { tokens: 30 } });
  });

  it("is requested again with a higher limit after a person accepts the divergence", async () => {
    const store = await memoryStore();
    await failureAs(AnswerCutOffError, writerOf(script).runner({ store }).run("Go", { runId: "r-1" }));
    const higher = writerOf([cut("unused"), { text: "The end." }], { settings: { maxOutputTokens: 9_000 } });

    const acceptDivergence = "It needs more room.";
    const result = await higher.runner({ store }).resume("r-1", { redoTurn: true, acceptDivergence });

    expect(result.output).toBe("The end.");
    expect(higher.prompts).toHaveLength(1);
  });

  it("is used if a person accepts acceptCutAnswers, without another model call", async () => {
    const store = await memoryStore();
    await failureAs(AnswerCutOffError, writerOf(script).runner({ store }).run("Go", { runId: "r-1" }));
    const { runner, prompts } = writerOf(script, { acceptCutAnswers: true });

    const result = await runner({ store }).resume("r-1", { acceptDivergence: "Half is enough." });

    expect(result.output).toBe("Once upon a");
    expect(prompts).toHaveLength(0);
  });
});

describe("a call in a cut-off answer", () => {
  it.each([
    ["in the middle of its arguments", '{"text": "Dear A'],
    ["before its arguments", ""],
  ])("%s is not run, and the model gets the reason", async (_, cutArguments) => {
    const server = await FakeOpenAiServer.start();
    onTestFinished(() => server.close());
    const sent: unknown[] = [];
    const send = tool({
      description: "Sends a text, or the usual one.",
      inputSchema: z.object({ text: z.string().default("Hello") }),
      effect: "external",
      execute: ({ text }) => void sent.push(text),
    });
    server.next(
      answer({
        toolCalls: [
          { id: "c-1", name: "send", arguments: { text: "whole" } },
          { id: "c-2", name: "send", arguments: cutArguments },
        ],
        finishReason: "length",
      }),
      answer("All done."),
    );
    const model = openAiModel(server.baseUrl);
    const writer = agent({ name: "writer", model, tools: { send } });

    const { output } = await new Runner(writer, { store: await memoryStore() }).run("Go");

    expect(output).toBe("All done.");
    expect(sent).toEqual(["whole"]);
    expect(server.lastMessages.at(-1)).toEqual({
      role: "tool",
      tool_call_id: "c-2",
      content:
        'The arguments of "send" were cut off: your answer reached the limit of its output tokens. Call it again with shorter arguments, or in several calls.',
    });
  });
});

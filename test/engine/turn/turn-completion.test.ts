// When an agent is done, and which message it gets when it is not.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type CompletedTurn,
  type Completion,
  MaxTurnsExceededError,
  Runner,
  Step,
} from "../../../src/index.ts";
import type { ScriptedResponse } from "../../../src/testing/index.ts";
import { failureAs, memoryStore, noteTool, noting, type Prompt, scriptedAgent } from "../run-fixture.ts";

/** The user messages in a prompt, after the first one. */
function userTexts(prompt: Prompt | undefined): unknown[] {
  const messages = prompt?.filter((message) => message.role === "user").slice(1) ?? [];
  return messages.map(({ content }) => (content[0] as { text: string }).text);
}

async function runOf(
  script: readonly ScriptedResponse[],
  options: { instructions?: string; output?: z.ZodType; completion?: Completion } = {},
) {
  const store = await memoryStore();
  const { note, done } = noteTool();
  const { completion = "auto", ...rest } = options;
  const { agent, prompts } = scriptedAgent(script, { tools: { note }, ...rest });
  const result = await new Runner(Step.granular("work", agent, { completion }), { store }).run("Go");
  const state = result.context.granularState;
  return { output: result.output, turns: state?.turnIndex, state, prompts, done };
}

describe('completion "auto"', () => {
  it("ends at the first answer without calls if nothing else is specified", async () => {
    const { output, turns, done } = await runOf([noting("one"), { text: "NOT DONE yet." }]);
    expect({ output, turns, done }).toEqual({ output: "NOT DONE yet.", turns: 2, done: ["one"] });
  });

  it('ends at the word that the instructions ask for, and sends "Continue." until then', async () => {
    const { output, turns, prompts } = await runOf(
      [{ text: "I begin." }, { text: "This is NOT DONE." }, { text: "DONE." }],
      { instructions: "Work in turns. Say DONE at the end." },
    );
    expect({ output, turns }).toEqual({ output: "DONE.", turns: 3 });
    expect(userTexts(prompts.at(-1))).toEqual(["Continue.", "Continue."]);
  });

  it("ends at the flag of the structured output, whatever the text says", async () => {
    const schema = z.object({ content: z.string(), isComplete: z.boolean() });
    const { output, turns, prompts, state } = await runOf(
      [
        { text: JSON.stringify({ content: "DONE COMPLETE", isComplete: false }) },
        { text: JSON.stringify({ content: "the end", isComplete: true }) },
      ],
      { output: schema, instructions: "Say DONE at the end." },
    );
    expect({ output, turns }).toEqual({ output: { content: "the end", isComplete: true }, turns: 2 });
    expect(userTexts(prompts.at(-1))).toEqual(["Continue."]);
    expect(state?.finalOutput).toEqual(output);
  });

  it.each(["is_complete", "done", "finished"])("recognises the flag %s", async (flag) => {
    const answers = [false, true].map((value) => ({ text: JSON.stringify({ [flag]: value }) }));
    const { turns } = await runOf(answers, { output: z.object({ [flag]: z.boolean() }) });
    expect(turns).toBe(2);
  });

  it("ends at the first answer that fits a schema without a flag", async () => {
    const { output, turns } = await runOf([{ text: '{"n":1}' }], { output: z.object({ n: z.number() }) });
    expect({ output, turns }).toEqual({ output: { n: 1 }, turns: 1 });
  });
});

describe("the other completions", () => {
  it('"signal" requires the word even if the instructions do not ask for it', async () => {
    const { output, turns } = await runOf([{ text: "Hm." }, { text: "COMPLETE" }], { completion: "signal" });
    expect({ output, turns }).toEqual({ output: "COMPLETE", turns: 2 });
  });

  it('"answer" ends at an answer without calls even if the instructions ask for a word', async () => {
    const { output, turns } = await runOf([noting("one"), { text: "Hm." }], {
      completion: "answer",
      instructions: "Say DONE at the end.",
    });
    expect({ output, turns }).toEqual({ output: "Hm.", turns: 2 });
  });

  it("a predicate gets each turn, and its result decides", async () => {
    const seen: CompletedTurn[] = [];
    const { output, turns } = await runOf(
      [{ text: "First." }, { text: "I call.", ...noting("one") }, { text: "Never requested." }],
      {
        completion: (turn) => {
          seen.push(turn);
          return turn.toolCalls.length > 0;
        },
      },
    );
    expect({ output, turns }).toEqual({ output: "I call.", turns: 2 });
    expect(seen).toEqual([
      { turnIndex: 1, text: "First.", output: "First.", toolCalls: [] },
      {
        turnIndex: 2,
        text: "I call.",
        output: "I call.",
        toolCalls: [{ name: "note", input: { text: "one" } }],
      },
    ]);
  });
});

describe("structured output that does not fit", () => {
  const output = z.object({ title: z.string(), pages: z.number().int() });

  it("is sent back to the model with the problem, and the next answer counts", async () => {
    const {
      output: value,
      turns,
      prompts,
    } = await runOf(
      [
        { text: "Here you are!" },
        { text: '{"title":"Pawl","pages":"many"}' },
        { text: '```json\n{"title":"Pawl","pages":3}\n```' },
      ],
      { output },
    );
    expect({ value, turns }).toEqual({ value: { title: "Pawl", pages: 3 }, turns: 3 });
    expect(userTexts(prompts.at(-1))).toEqual([
      expect.stringContaining("not valid JSON"),
      expect.stringMatching(/does not fit the schema[\s\S]+pages/),
    ]);
  });

  it("is not complete, even if the predicate returns true", async () => {
    const { output: value, turns } = await runOf(
      [{ text: "nonsense" }, { text: '{"title":"a","pages":1}' }],
      {
        output,
        completion: () => true,
      },
    );
    expect({ value, turns }).toEqual({ value: { title: "a", pages: 1 }, turns: 2 });
  });

  it("is requested from the provider as a schema", async () => {
    const store = await memoryStore();
    const formats: unknown[] = [];
    const { agent } = scriptedAgent(
      ({ options }) => {
        formats.push(options.responseFormat);
        return { text: '{"title":"a","pages":1}' };
      },
      { output },
    );
    await new Runner(agent, { store }).run("Go");
    expect(formats).toMatchObject([{ type: "json", schema: { required: ["title", "pages"] } }]);
  });

  it("is returned as parsed by the schema: with its defaults, without unknown keys", async () => {
    const { output: value } = await runOf([{ text: '{"title":" a ","pages":1,"extra":true}' }], {
      output: z.object({
        title: z.string().trim(),
        pages: z.number(),
        tags: z.array(z.string()).default([]),
      }),
    });
    expect(value).toEqual({ title: "a", pages: 1, tags: [] });
  });
});

describe("maxTurns", () => {
  it("fails the run with an error that names it, and a higher one resumes", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const script = [noting("one"), noting("two"), { text: "Hello" }];
    const { agent, prompts } = scriptedAgent(script, { tools: { note } });
    const runner = (maxTurns: number) => new Runner(Step.granular("work", agent, { maxTurns }), { store });

    const error = await failureAs(MaxTurnsExceededError, runner(2).run("Go", { runId: "r-1" }));

    expect(error.details).toEqual({ maxTurns: 2, step: "work" });
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", reserved: { tokens: 0 } });
    await failureAs(MaxTurnsExceededError, runner(2).resume("r-1"));
    expect((await runner(3).resume("r-1")).output).toBe("Hello");
    expect(done).toEqual(["one", "two"]);
    expect(prompts).toHaveLength(3);
  });

  it("that is just enough is no error", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(Step.granular("work", agent, { maxTurns: 1 }), { store });
    expect((await runner.run("Go")).output).toBe("Hello");
  });
});

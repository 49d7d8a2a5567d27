// The model's view of a long conversation: head, placeholder, tail, and the same bytes in every process.

import { describe, expect, it } from "vitest";
import { MaxTurnsExceededError, type Message, Runner, Step, type Store } from "../../../src/index.ts";
import type { ScriptedResponse } from "../../../src/testing/index.ts";
import { sampled } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import {
  databaseFile,
  fileStore,
  memoryStore,
  noteTool,
  type Prompt,
  scriptedAgent,
} from "../run-fixture.ts";

const TURNS = 12;
const LIMIT = 450;

/** One call, two, none (so that it has to continue), an invalid one, one with a large result; then again. */
function response(turn: number): ScriptedResponse {
  if (turn > TURNS) return { text: "It is DONE." };
  const note = (text: string) => ({ name: "note", input: { text: `${text} of turn ${turn}` } });
  switch (turn % 5) {
    case 1:
      return { toolCalls: [note("one")] };
    case 2:
      return { text: `Two of turn ${turn}.`, toolCalls: [note("first"), note("second")] };
    case 3:
      return { text: `I think about turn ${turn}. ${"Thinking. ".repeat(10)}` };
    case 4:
      return { toolCalls: [{ name: "nothing", input: { turn } }] };
    default:
      return { toolCalls: [note("large")] };
  }
}

/** An agent that follows the script; the position is counted outside of the conversation. */
function talker(answered: { count: number }, historyMaxTokens = LIMIT) {
  const { note } = noteTool((text) => (text.startsWith("large") ? "blob ".repeat(40) : `${text}: noted`));
  const options = { tools: { note }, instructions: "Work. Say DONE at the end." };
  const { agent, prompts } = scriptedAgent(() => response(++answered.count), options);
  const step = (maxTurns = 50) =>
    Step.granular("talk", agent, { maxTurns, historyMaxTokens, blobThresholdBytes: 100 });
  return { step, prompts };
}

/** The prompts of a run in one process. */
async function talk(limit = LIMIT) {
  const store = await memoryStore();
  const { step, prompts } = talker({ count: 0 }, limit);
  await new Runner(step(), { store }).run("Tell me everything.", { runId: "r-1" });
  return { prompts, stored: await store.readHistory("r-1", "talk"), store };
}

const textOf = (message: Prompt[number] | undefined) =>
  message?.role === "user" && message.content[0]?.type === "text" ? message.content[0].text : null;

const placeholderOf = (prompt: Prompt) =>
  prompt[2]?.role === "system"
    ? /^\.\.\. \[Context Truncated: (\d+) messages omitted\] \.\.\.$/.exec(prompt[2].content)?.[1]
    : undefined;

/** The number of our messages in a prompt: the SDK puts all results of a turn into one. */
const countMessages = (messages: Prompt) =>
  messages.reduce((sum, message) => sum + (message.role === "tool" ? message.content.length : 1), 0);

describe("a history over the limit", () => {
  it("is shown as its head, a placeholder with the exact number, and its tail", async () => {
    const { prompts, stored } = await talk();
    const truncated = prompts.filter((prompt) => placeholderOf(prompt) !== undefined);
    expect(truncated.length).toBeGreaterThan(5);
    expect(truncated.length).toBeLessThan(prompts.length);
    for (const [turn, prompt] of prompts.entries()) {
      expect(prompt[0]).toEqual({ role: "system", content: "Work. Say DONE at the end." });
      expect(textOf(prompt[1])).toBe("Tell me everything.");
      const omitted = Number(placeholderOf(prompt) ?? 0);
      const shown = countMessages(prompt) - (omitted > 0 ? 1 : 0);
      expect(shown + omitted).toBe(lengthAfter(stored, turn));
    }
  });

  it("never shows a call without its result, nor a result without its call", async () => {
    const { prompts } = await talk();
    let pairs = 0;
    for (const prompt of prompts) {
      const open = new Set<string>();
      for (const message of prompt) {
        if (typeof message.content === "string") continue;
        if (message.role !== "tool") expect([...open]).toEqual([]);
        for (const part of message.content) {
          if (part.type === "tool-call") open.add(part.toolCallId);
          if (part.type !== "tool-result") continue;
          expect(open.delete(part.toolCallId)).toBe(true);
          pairs++;
        }
      }
      expect([...open]).toEqual([]);
    }
    expect(pairs).toBeGreaterThan(20);
  });

  it("is stored whole, with the large results as references", async () => {
    const { stored, store } = await talk();
    expect(stored.filter((message) => message.role === "assistant")).toHaveLength(TURNS + 1);
    expect(stored.filter((message) => message.role === "tool")).toHaveLength(TURNS - 2 + 3);
    expect(JSON.stringify(stored)).toContain("one of turn 1:");
    expect(JSON.stringify(stored)).toContain("FL_BLOB_REF");
    expect(JSON.stringify(stored)).not.toContain("Context Truncated");
    const { usage, history } = { usage: await store.readUsage("r-1"), history: stored };
    expect(usage.modelCalls).toBe(TURNS + 1);
    expect((await store.readGranularState("r-1", "talk"))?.history).toEqual(history);
  });

  it("has the same bytes for the same conversation", async () => {
    const [once, again] = [await talk(), await talk()];
    expect(JSON.stringify(again.prompts)).toBe(JSON.stringify(once.prompts));
  });

  it("has the same bytes in a process that reads it from the file", async () => {
    const { prompts: expected } = await talk();
    const file = databaseFile();
    const answered = { count: 0 };
    const seen = await inProcesses(1, LIMIT, answered, () => fileStore(file));
    expect(seen).toEqual(expected.map((prompt) => JSON.stringify(prompt)));
  });

  // One turn per process, and three: a process that continues a stored history must count in the same way.
  it.for(sampled([1, 3]))(
    "has the same bytes at every limit, with %d turns per process",
    PATIENCE,
    async (turns) => {
      for (let limit = 100; limit <= 700; limit += 35) {
        const { prompts: expected } = await talk(limit);
        const store = await memoryStore();
        const seen = await inProcesses(turns, limit, { count: 0 }, async () => store);
        expect(seen).toEqual(expected.map((prompt) => JSON.stringify(prompt)));
      }
    },
  );
});

/** The conversation in several simulated processes, each with this many turns. */
async function inProcesses(
  turns: number,
  limit: number,
  answered: { count: number },
  open: () => Promise<Store>,
): Promise<string[]> {
  const seen: Prompt[] = [];
  for (let last = turns; ; last += turns) {
    const store = await open();
    const { step, prompts } = talker(answered, limit);
    const runner = new Runner(step(last), { store });
    const begun = (await store.getRun("r-1")) !== null;
    const run = begun ? runner.resume("r-1") : runner.run("Tell me everything.", { runId: "r-1" });
    const outcome = await run.catch((error: unknown) => error);
    seen.push(...prompts);
    if (!(outcome instanceof MaxTurnsExceededError)) {
      expect(outcome).toMatchObject({ output: "It is DONE." });
      return seen.map((prompt) => JSON.stringify(prompt));
    }
  }
}

/** The length of the history when turn `turn` (from 0) is requested. */
function lengthAfter(stored: readonly Message[], turn: number): number {
  const answers = stored.flatMap((message, index) => (message.role === "assistant" ? [index] : []));
  return answers[turn] ?? stored.length;
}

describe("a message that is too large on its own", () => {
  it("is kept in the head, however long", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "End." }]);
    const input = "long ".repeat(3_000);
    await new Runner(Step.granular("talk", agent, { historyMaxTokens: 200 }), { store }).run(input);
    expect(textOf(prompts[0]?.[1])).toBe(input);
  });

  it("is kept unchanged, with its arguments, if it is the newest answer", async () => {
    const store = await memoryStore();
    const { note } = noteTool(() => "noted");
    const long = "long ".repeat(3_000);
    const { agent, prompts } = scriptedAgent(
      [{ toolCalls: [{ name: "note", input: { text: long } }] }, { text: "End." }],
      { tools: { note } },
    );
    await new Runner(Step.granular("talk", agent, { historyMaxTokens: 200 }), { store }).run("Go");
    expect(JSON.stringify(prompts[1])).toContain(long);
  });
});

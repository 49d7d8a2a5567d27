// What a model is shown of a result that is larger than its window, or than the view: never so much that it refuses.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { estimateTokens } from "../../src/core/token-estimate.ts";
import { agent, ModelCallError, Runner, Step, type Store } from "../../src/index.ts";
import { answer, FakeOpenAiServer, upTo } from "../adapters/fake-openai-server.ts";
import { openAiModel } from "../adapters/model-request.ts";
import {
  databaseFile,
  failureAs,
  fileStore,
  memoryStore,
  must,
  noteTool,
  noting,
  type Prompt,
  scriptedAgent,
  toolResults,
} from "./run-fixture.ts";

const page = (megabytes: number) => "A word of the page. ".repeat((megabytes * 1_000_000) / 20);
const callOf = (text: string) => ({ name: "note", arguments: { text } });
const texts = (prompt: Prompt | undefined) =>
  toolResults(prompt).map((output) => String((output as { value: unknown }).value));
/** What the built-in estimate makes of all that a prompt holds. */
const tokensOf = (prompt: Prompt | undefined) => estimateTokens(JSON.stringify(prompt));

describe("a result that is larger than the model's window", () => {
  const WINDOW = 128_000;
  let server: FakeOpenAiServer;

  beforeEach(async () => {
    server = await FakeOpenAiServer.start();
    onTestFinished(() => server.close());
  });

  const reader = (content: string, options: { readonly maxResultTokens?: number } = {}) => {
    const { note, done } = noteTool(() => content, { effect: "read_only", recovery: "repeat" });
    const reading = agent({
      name: "reader",
      model: openAiModel(server.baseUrl),
      instructions: "You read.",
      tools: { note },
      ...options,
    });
    return { reading, done };
  };

  it.each([1.2, 5, 30])("of %d MB is shown in part, and the run comes to its end", async (megabytes) => {
    const store = await memoryStore();
    const { reading } = reader(page(megabytes));
    server.next(
      upTo(WINDOW, answer({ toolCalls: [callOf("read")] })),
      upTo(WINDOW, answer("It says a lot.")),
    );
    const result = await new Runner(reading, { store }).run("Read it.", { runId: "r-1" });
    expect(result.output).toBe("It says a lot.");
    expect(JSON.stringify(server.lastMessages)).toContain(
      `of ${megabytes * 1_000_000} characters of this result are not shown. To read the rest, call note again`,
    );
    const [call] = await store.listToolCalls("r-1");
    const blob = await store.readBlob("r-1", must(call?.receipt?.blob).blobId);
    expect(blob?.byteLength).toBe(megabytes * 1_000_000 + 2);
  });

  it("does not end a run for good: it is resumed with less of it, and no tool runs again", async () => {
    const file = databaseFile();
    const first = await fileStore(file);
    const { reading, done } = reader(page(1.2), { maxResultTokens: 100_000 });
    server.next(upTo(20_000, answer({ toolCalls: [callOf("read")] })), upTo(20_000, answer("never")));
    const error = await failureAs(
      ModelCallError,
      new Runner(reading, { store: first }).run("Read it.", { runId: "r-1" }),
    );
    expect(error.message).toContain("maxResultTokens");
    await first.close();

    const second = await fileStore(file);
    server.next(upTo(20_000, answer("It says a lot.")));
    const { reading: smaller } = reader(page(1.2), { maxResultTokens: 10_000 });
    expect(await new Runner(smaller, { store: second }).resume("r-1")).toMatchObject({
      status: "succeeded",
      output: "It says a lot.",
    });
    expect(done).toEqual(["read"]);
  });
});

/** All that a run shows its model, with several processes' worth of stores or with one. */
async function shown(
  results: readonly (readonly unknown[])[],
  options: { readonly historyMaxTokens?: number; readonly maxResultTokens?: number } = {},
  resumed = false,
): Promise<{ readonly prompts: Prompt[]; readonly store: Store }> {
  const { note } = noteTool((text) => {
    const [turn = 0, call = 0] = text.split(".").map(Number);
    return results[turn]?.[call];
  });
  const script = [
    ...results.map((calls, turn) => ({
      toolCalls: calls.map((_, call) => ({ name: "note", input: { text: `${turn}.${call}` } })),
    })),
    { text: "End." },
  ];
  let asked = 0;
  const { agent: worker, prompts } = scriptedAgent(() => must(script[asked++]), { tools: { note } });
  const store = await memoryStore();
  const runner = (maxTurns: number) =>
    new Runner(Step.granular("talk", worker, { ...options, maxTurns }), { store });
  if (!resumed) await runner(20).run("Go", { runId: "r-1" });
  for (let turns = 1; resumed && turns <= script.length; turns++) {
    const one = runner(turns);
    await (turns === 1 ? one.run("Go", { runId: "r-1" }) : one.resume("r-1")).catch(() => undefined);
  }
  return { prompts, store };
}

describe("large results", () => {
  const big = "word ".repeat(50_000);

  it("are shown up to a third of the history each, with what is missing between head and tail", async () => {
    const { prompts } = await shown([[big]], { historyMaxTokens: 3_000 });
    const [text = ""] = texts(prompts[1]);
    expect(text).toMatch(
      /^word word .*\[\d+ of 250000 characters of this result are not shown\..*word word $/s,
    );
    expect(estimateTokens(text)).toBeLessThanOrEqual(1_000);
    expect(estimateTokens(text)).toBeGreaterThan(900);
  });

  it("fit together with all else, however many the newest turn has", async () => {
    for (const count of [1, 2, 3, 8, 25]) {
      const { prompts } = await shown([["small", ...Array(count).fill(big)]], { historyMaxTokens: 8_000 });
      expect(texts(prompts[1])).toHaveLength(count + 1);
      expect(texts(prompts[1])[0]).toBe("small");
      expect(tokensOf(prompts[1])).toBeLessThanOrEqual(8_000);
    }
  });

  it("make room for instructions that leave them less than usual", async () => {
    const store = await memoryStore();
    const { note } = noteTool(() => big);
    const rules = "Mind this rule well. ".repeat(300);
    const { agent: worker, prompts } = scriptedAgent(
      [{ toolCalls: ["1", "2"].map((text) => ({ name: "note", input: { text } })) }, { text: "End." }],
      { tools: { note }, instructions: rules },
    );
    const step = Step.granular("talk", worker, { historyMaxTokens: 2_500 });
    await new Runner(step, { store }).run("Go");
    expect(texts(prompts[1])).toHaveLength(2);
    // With what the SDK's own form of a prompt adds to it.
    expect(tokensOf(prompts[1])).toBeLessThanOrEqual(2_600);
  });

  it("of earlier turns are still there beside the newest, as long as they fit", async () => {
    const { prompts } = await shown([[big, big, big], ["small"], ["small too"]], { historyMaxTokens: 8_000 });
    expect(texts(prompts[3])).toHaveLength(5);
    expect(JSON.stringify(prompts[3])).not.toContain("Context Truncated");
    expect(tokensOf(prompts[3])).toBeLessThanOrEqual(8_000);
  });

  it("that are errors stay errors", async () => {
    const { note } = noteTool(() => {
      throw new Error(big);
    });
    const script = [{ toolCalls: [{ name: "note", input: { text: "x" } }] }, { text: "End." }];
    const { agent: worker, prompts } = scriptedAgent(script, { tools: { note }, maxResultTokens: 300 });
    await new Runner(worker, { store: await memoryStore() }).run("Go");
    expect(toolResults(prompts[1])).toMatchObject([{ type: "error-text" }]);
    expect(estimateTokens(texts(prompts[1])[0] ?? "")).toBeLessThanOrEqual(300);
  });

  it("are stored whole, whatever is shown", async () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id }));
    const { prompts, store } = await shown([[rows]], { historyMaxTokens: 1_500 });
    expect(toolResults(prompts[1])).toMatchObject([
      { type: "text", value: expect.stringMatching(/^\[\{"id":0\}/) },
    ]);
    const [call] = await store.listToolCalls("r-1");
    const blob = must(await store.readBlob("r-1", must(call?.receipt?.blob).blobId));
    expect(JSON.parse(Buffer.from(blob).toString())).toEqual(rows);
  });

  it.each([1_000, 3_000, 9_000])(
    "are shown as the same bytes to a process that reads them from the store, within %d tokens",
    async (historyMaxTokens) => {
      const results = [[big], ["small", big, { rows: big }], ["small"], [big, big], ["a", "b"]];
      const once = await shown(results, { historyMaxTokens });
      const inParts = await shown(results, { historyMaxTokens }, true);
      expect(once.prompts).toHaveLength(results.length + 1);
      expect(inParts.prompts.map((prompt) => JSON.stringify(prompt))).toEqual(
        once.prompts.map((prompt) => JSON.stringify(prompt)),
      );
    },
  );

  it("are not kept in memory beyond what is shown of them", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    const heap: number[] = [];
    const { note } = noteTool((text) => (text === "1" ? page(24) : "small"));
    const { agent: worker } = scriptedAgent(
      ({ turn }) => {
        collectGarbage();
        heap.push(process.memoryUsage().heapUsed);
        return turn === 4 ? { text: "End." } : noting(String(turn));
      },
      { tools: { note } },
    );
    await new Runner(worker, { store: await memoryStore() }).run("Go");
    const [before = 0, , , after = 0] = heap;
    expect(heap).toHaveLength(4);
    expect(after - before).toBeLessThan(12_000_000);
  });

  it("are no part of what a run must keep: another number is no other run", async () => {
    const { store } = await shown([["small"]], { maxResultTokens: 77 });
    const [step] = await store.listSteps("r-1");
    const { fingerprint } = await store.readConversation(must(step).stepKey, 0);
    expect(fingerprint?.document).toMatchObject({
      switches: expect.not.objectContaining({ maxResultTokens: expect.anything() }),
    });
    expect(JSON.stringify(fingerprint)).not.toContain("maxResultTokens");
  });

  it("say who decides how much is shown: the step before the agent", async () => {
    const { note } = noteTool(() => big);
    const sizes: number[] = [];
    for (const options of [{}, { maxResultTokens: 200 }]) {
      const script = [{ toolCalls: [{ name: "note", input: { text: "x" } }] }, { text: "End." }];
      const { agent: worker, prompts } = scriptedAgent(script, { tools: { note }, maxResultTokens: 400 });
      await new Runner(Step.granular("talk", worker, options), { store: await memoryStore() }).run("Go");
      sizes.push(estimateTokens(texts(prompts[1])[0] ?? ""));
    }
    const [ofAgent = 0, ofStep = 0] = sizes;
    expect(ofAgent).toBeGreaterThan(350);
    expect(ofAgent).toBeLessThanOrEqual(400);
    expect(ofStep).toBeLessThanOrEqual(200);
  });
});

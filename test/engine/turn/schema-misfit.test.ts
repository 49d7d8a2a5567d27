// Answers and arguments that never fit their schema end the run after a few tries, with what did not fit.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AssistantPart,
  agent as defineAgent,
  MaxTurnsExceededError,
  type ModelPort,
  Runner,
  type RunnerOptions,
  SchemaMisfitError,
  StepFailedError,
  secret,
  tool,
} from "../../../src/index.ts";
import type { ScriptedResponse } from "../../../src/testing/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";

const WRONG: ScriptedResponse = { text: '{"price":"12 EUR"}' };
const RIGHT: ScriptedResponse = { text: '{"price":12}' };
const priced = z.object({ price: z.number() });

/** An agent that answers with a price; `at` gives its answers by turn. */
function pricing(at: (turn: number) => ScriptedResponse, output: z.ZodType = priced) {
  return scriptedAgent(({ turn }) => at(turn), { output });
}

const misfitOf = (run: Promise<unknown>) => failureAs(SchemaMisfitError, run);

describe("an answer that does not fit the output schema", () => {
  it("three times in a row ends the run, with the path, the answer and what to do", async () => {
    const store = await memoryStore();
    const { agent, prompts } = pricing(() => WRONG);
    const error = await misfitOf(new Runner(agent, { store }).run("Go", { runId: "r-1" }));
    expect(prompts).toHaveLength(3);
    expect(error.message).toBe(
      'Run r-1: agent worker in step worker answered 3 times in a row with something that does not fit its output schema. The last answer does not fit the schema: ✖ Invalid input: expected number, received string → at price. It was: {"price":"12 EUR"}. All turns are kept. Relax the schema, say in the instructions what is wanted, or take another model, and resume with acceptDivergence; or resume as it is, for 3 more tries.',
    );
    expect(error.details).toMatchObject({ agent: "worker", step: "worker", tool: null, turn: 3 });
    expect(error.code).toBe("schema_misfit");
    expect(must(await store.getRun("r-1"))).toMatchObject({ status: "failed", reserved: { tokens: 0 } });
    expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBe(3);
  });

  it("twice, and then fits, is no failure", async () => {
    const { agent } = pricing((turn) => (turn % 3 === 0 ? RIGHT : WRONG));
    const { output } = await new Runner(agent, { store: await memoryStore() }).run("Go");
    expect(output).toEqual({ price: 12 });
  });

  it("gets three more tries each time the run is resumed", async () => {
    const store = await memoryStore();
    const { agent, prompts } = pricing((turn) => (turn < 8 ? WRONG : RIGHT));
    const runner = new Runner(agent, { store });
    await misfitOf(runner.run("Go", { runId: "r-1" }));
    expect((await misfitOf(runner.resume("r-1"))).details.turn).toBe(6);
    expect(prompts).toHaveLength(6);
    expect((await runner.resume("r-1")).output).toEqual({ price: 12 });
    expect(prompts).toHaveLength(8);
  });

  it("can be accepted later, by a schema that it fits", async () => {
    const store = await memoryStore();
    await misfitOf(new Runner(pricing(() => WRONG).agent, { store }).run("Go", { runId: "r-1" }));
    const relaxed = pricing(() => WRONG, z.object({ price: z.string() }));
    const options = { acceptDivergence: "The price is a text." };
    const { output } = await new Runner(relaxed.agent, { store }).resume("r-1", options);
    expect([output, relaxed.prompts.length]).toEqual([{ price: "12 EUR" }, 1]);
  });

  it.each([
    ["between two tries", "turn:committed", 2, 3],
    // The answer that was not stored is requested again.
    ["before the third is stored", "turn:before-commit", 3, 4],
    ["after the third is stored", "turn:committed", 3, 3],
  ] as const)("is counted over a crash %s, neither more nor less", async (_name, point, nth, asked) => {
    const store = await memoryStore();
    const { agent, prompts } = pricing(() => WRONG);
    const runner = (options: RunnerOptions = {}) => new Runner(agent, { store, ...options });
    const dying = runner({ probe: crashAt(point, nth) }).run("Go", { runId: "r-1" });
    await failureAs(StepFailedError, dying);
    await store.claimRun("r-1", { leaseMs: 0, from: ["failed"] });
    const error = await misfitOf(runner().run("Go", { runId: "r-1", wait: true }));
    expect([error.details.turn, prompts.length]).toEqual([3, asked]);
  });

  it("is counted over a crash after the third, and a release by the next worker", async () => {
    const store = await memoryStore();
    const { agent, prompts } = pricing(() => WRONG);
    const dying = new Runner(agent, { store, probe: crashAt("turn:committed", 3) });
    await failureAs(StepFailedError, dying.run("Go", { runId: "r-1" }));
    await store.claimRun("r-1", { leaseMs: 0, from: ["failed"] });
    const runner = new Runner(agent, { store });
    const release = AbortSignal.abort();
    expect((await runner.run("Go", { runId: "r-1", wait: true, release })).status).toBe("queued");
    expect((await misfitOf(runner.resume("r-1"))).details.turn).toBe(3);
    expect(prompts).toHaveLength(3);
  });

  it("keeps the tries that a person gave if a worker releases the run before it uses them", async () => {
    const store = await memoryStore();
    const { agent } = pricing((turn) => (turn < 4 ? WRONG : RIGHT));
    const runner = new Runner(agent, { store });
    await misfitOf(runner.run("Go", { runId: "r-1" }));
    expect((await runner.resume("r-1", { release: AbortSignal.abort() })).status).toBe("queued");
    expect((await runner.resume("r-1")).output).toEqual({ price: 12 });
  });

  it("is shown without secrets, and shortened", async () => {
    const text = JSON.stringify({ token: "hunter2-hunter2", price: "x".repeat(5_000) });
    const { agent } = pricing(() => ({ text }));
    const policy = { secrets: [secret("hunter2-hunter2")] };
    const run = new Runner(agent, { store: await memoryStore(), policy }).run("Go", { runId: "r-1" });
    const { message, details } = await misfitOf(run);
    expect(`${message} ${JSON.stringify(details)}`).not.toContain("hunter2");
    expect(message.length).toBeLessThan(1_200);
  });
});

describe("calls of a tool that does not exist", () => {
  const note = tool({
    description: "Writes a line down.",
    inputSchema: z.object({ text: z.string() }),
    effect: "read_only",
    execute: () => "noted",
  });
  const wrong = { name: "functions_note", input: { text: "x" } };

  it("are no misfits: a run that works beside them continues, also after a crash", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent(
      ({ turn }) =>
        turn < 6 ? { toolCalls: [{ name: "note", input: { text: `${turn}` } }, wrong] } : { text: "Done." },
      { tools: { note } },
    );
    const dying = new Runner(agent, { store, probe: crashAt("turn:committed", 3) });
    await failureAs(StepFailedError, dying.run("Go", { runId: "r-1" }));
    expect((await new Runner(agent, { store }).resume("r-1")).output).toBe("Done.");
    const codes = (await store.listToolCalls("r-1")).map(({ receipt }) => receipt?.errorCode);
    expect(codes.filter((code) => code === "unknown_tool")).toHaveLength(5);
  });

  it("alone end the run at its limit of turns, whose error says so", async () => {
    const { agent } = scriptedAgent(() => ({ toolCalls: [wrong] }), { tools: { note }, maxTurns: 5 });
    const run = new Runner(agent, { store: await memoryStore() }).run("Go");
    expect((await failureAs(MaxTurnsExceededError, run)).message).toContain("after 5 turns");
  });

  it("are answered with the tools that there are, whatever the model's adapter says", async () => {
    const seen: unknown[] = [];
    const model: ModelPort = {
      provider: "own",
      modelId: "own",
      respond: async ({ messages }) => {
        seen.push(messages.at(-1));
        const content: AssistantPart[] =
          messages.length === 1
            ? [{ type: "tool-call", toolCallId: "c-1", toolName: "functions_note", input: {} }]
            : [{ type: "text", text: "Done." }];
        return { content, finishReason: "stop", usage: null, invalidCalls: {}, responseId: null };
      },
    };
    const clerk = defineAgent({ name: "clerk", model, tools: { note } });
    await new Runner(clerk, { store: await memoryStore() }).run("Go");
    const sentence = 'There is no tool \\"functions_note\\". The tools are: note.';
    expect(JSON.stringify(seen[1])).toContain(sentence);
  });
});

describe("arguments that do not fit the schema of a tool", () => {
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    inputSchema: z.object({ order: z.number() }),
    effect: "external",
    execute: () => "refunded",
  });
  const calling = (order: unknown): ScriptedResponse => ({
    toolCalls: [{ name: "refund", input: { order } }],
  });

  it("in three turns in a row end the run, with the path, the arguments and what to do", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent(() => calling("seven"), { tools: { refund } });
    const runner = new Runner(agent, { store });
    const error = await misfitOf(runner.run("Go", { runId: "r-1" }));
    expect(error.message).toMatch(
      /agent worker in step worker called refund with arguments that do not fit in 3 turns in a row\. The last time: .*→ at order\. It was: \{"order":"seven"\}\. .* Relax the tool's schema/,
    );
    expect([error.details.tool, prompts.length]).toEqual(["refund", 3]);
    expect((await misfitOf(runner.resume("r-1"))).details.turn).toBe(6);
  });

  it("are counted from the stored calls after a crash", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent(() => calling("seven"), { tools: { refund } });
    const dying = new Runner(agent, { store, probe: crashAt("turn:committed", 2) });
    await failureAs(StepFailedError, dying.run("Go", { runId: "r-1" }));
    await store.claimRun("r-1", { leaseMs: 0, from: ["failed"] });
    await misfitOf(new Runner(agent, { store }).run("Go", { runId: "r-1", wait: true }));
    expect(prompts).toHaveLength(3);
  });

  it("that the model corrects in time end nothing", async () => {
    const script = [calling("seven"), calling("eight"), calling(9), calling("ten"), { text: "Done." }];
    const { agent } = scriptedAgent(script, { tools: { refund } });
    const { output } = await new Runner(agent, { store: await memoryStore() }).run("Go");
    expect(output).toBe("Done.");
  });
});

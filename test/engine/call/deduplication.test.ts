// An effect that is wanted once in a run is had once, whoever asks: every further call has a row of its own and the
// first receipt, whole.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  type Json,
  NotApplied,
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type ToolDefinition,
  tool,
} from "../../../src/index.ts";
import {
  collect,
  failureAs,
  failureOf,
  memoryStore,
  must,
  scriptedAgent,
  toolResults,
} from "../run-fixture.ts";
import {
  acting,
  actTool,
  asking,
  jumpingClock,
  lightsOut,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

/** The calls of run r-1: how each ended, and whose receipt it repeats. */
async function rows(store: Store) {
  const calls = await store.listToolCalls("r-1");
  return calls.map(({ status, receipt }) => [status, receipt?.duplicateOf ?? null]);
}

/** Runs these calls of one tool, one turn each, and tells which of them ran. */
async function ranOf(
  definition: Partial<ToolDefinition<JsonInput, unknown>> & { readonly name: string },
  inputs: readonly Json[],
  options: RunnerOptions = {},
) {
  const store = await memoryStore();
  const ran: number[] = [];
  const one = tool({
    description: "Does one thing.",
    inputSchema: z.record(z.string(), z.json()),
    ...definition,
    execute: (_input, call) => {
      ran.push(call.turnIndex);
      return `effect ${ran.length}`;
    },
  });
  const turns = inputs.map((input) => asking([definition.name, input]));
  const { runner } = runnerOf(store, { [definition.name]: one }, turns, options);
  expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
  return ran;
}

type JsonInput = Record<string, Json>;
const ANN = { to: "ann@example.org", subject: "Offer" };

describe("an effect is had once in a run", () => {
  it("where the tool says so, and the second call gets the first receipt", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool((n) => ({ n }), { dedupe: "effect" });
    const { runner, prompts } = runnerOf(store, { act }, [
      acting("a"),
      acting("b"),
      acting("a"),
      acting("a"),
    ]);
    const events = await collect(runner.stream("Go", { runId: "r-1" }));

    expect(whats).toEqual(["a", "b"]);
    expect(await rows(store)).toEqual([
      ["succeeded", null],
      ["succeeded", null],
      ["deduplicated", "r-1/worker#1.1"],
      ["deduplicated", "r-1/worker#1.1"],
    ]);
    const values = [{ n: 1 }, { n: 2 }, { n: 1 }, { n: 1 }].map((value) => ({ type: "json", value }));
    expect(toolResults(prompts.at(-1))).toEqual(values);
    const third = must((await store.listToolCalls("r-1"))[2]);
    expect(third).toMatchObject({
      attempt: 0,
      startedAt: null,
      receipt: { source: "pawl", correlationId: null },
    });
    expect(events.filter(({ type }) => type === "tool.deduplicated")).toMatchObject([
      { toolCallId: "r-1/worker#3.1", tool: "act", duplicateOf: "r-1/worker#1.1" },
      { toolCallId: "r-1/worker#4.1", duplicateOf: "r-1/worker#1.1" },
    ]);
  });

  it.each<[string, Parameters<typeof ranOf>[0], readonly Json[], number[]]>([
    [
      "by what identity picks, whatever the rest says",
      { name: "act", identity: ({ to }) => to ?? null },
      [
        { to: "ann", body: "Hi" },
        { to: "ann", body: "Hello" },
        { to: "bob", body: "Hi" },
      ],
      [1, 3],
    ],
    [
      "by recipient and subject, for a tool that sends mail, in other words as well",
      { name: "send_email" },
      [
        { ...ANN, body: "Hi" },
        { ...ANN, body: "Dear Ann" },
        { ...ANN, subject: "Offer 2", body: "Hi" },
      ],
      [1, 3],
    ],
    [
      "by path and destination, for a tool that uploads",
      { name: "upload_report" },
      [
        { path: "a.pdf", bucket: "x", comment: "one" },
        { path: "a.pdf", bucket: "x", comment: "two" },
        { path: "a.pdf", bucket: "y" },
      ],
      [1, 3],
    ],
    [
      "by kind and content, for a tool that remembers",
      { name: "archival_memory_insert" },
      [{ content: "Ann likes tea" }, { content: "Ann likes tea" }, { content: "Bob likes tea" }],
      [1, 3],
    ],
    ["not where the tool only happens to be external", { name: "run_tests" }, [{}, {}, {}], [1, 2, 3]],
    [
      "not where it says that each call is one of its own, whatever its name",
      { name: "send_email", dedupe: "call" },
      [ANN, ANN],
      [1, 2],
    ],
    [
      "not where it says so, whatever its identity",
      { name: "act", dedupe: "call", identity: () => "same" },
      [{ a: 1 }, { a: 2 }],
      [1, 2],
    ],
    ["not where it only reads", { name: "get_email", effect: "read_only" }, [ANN, ANN], [1, 2]],
  ])("%s", async (_name, definition, inputs, ran) => {
    expect(await ranOf(definition, inputs)).toEqual(ran);
  });

  it("and where each call is one of its own, all of the arguments make it the same", async () => {
    const store = await memoryStore();
    const { act } = actTool(undefined, { name: "send_email", dedupe: "call" });
    const turns = ["Hi", "Dear Ann", "Hi"].map((body) =>
      asking(["send_email", { ...ANN, what: "mail", body }]),
    );
    await runnerOf(store, { send_email: act }, turns).runner.run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1")).map(({ occurrence }) => occurrence)).toEqual([1, 1, 2]);
  });

  it("with noDuplicateExternalActions also by a tool known to be external, and not by one that may be", async () => {
    const options = { constraints: { noDuplicateExternalActions: true } };
    const twice = [{ amount: 5 }, { amount: 5 }, { amount: 6 }];
    expect(await ranOf({ name: "create_invoice" }, twice)).toEqual([1, 2, 3]);
    expect(await ranOf({ name: "create_invoice" }, twice, options)).toEqual([1, 3]);
    expect(await ranOf({ name: "act", effect: "external" }, twice, options)).toEqual([1, 3]);
    expect(await ranOf({ name: "run_tests" }, twice, options)).toEqual([1, 2, 3]);
    expect(await ranOf({ name: "write_local_file" }, twice, options)).toEqual([1, 2, 3]);
    expect(await ranOf({ name: "create_invoice", dedupe: "call" }, twice, options)).toEqual([1, 3]);
  });

  it("whatever request ids, trace ids and keys its arguments carry", async () => {
    const ids = ["requestId", "trace_id", "X-Correlation-Id", "idempotencyKey"];
    const inputs = ids.map((name, i) => ({ amount: 5, [name]: `id-${i}` }));
    expect(await ranOf({ name: "act", dedupe: "effect" }, [...inputs, { amount: 5 }])).toEqual([1]);
    expect(
      await ranOf({ name: "act", dedupe: "effect" }, [
        { amount: 5, orderId: 1 },
        { amount: 5, orderId: 2 },
      ]),
    ).toEqual([1, 2]);
  });

  it("in turns 2 and 5, with a crash between them: one mail, and a row for each", async () => {
    const store = await memoryStore();
    const sent: Json[] = [];
    const mail = tool({
      name: "mail",
      description: "Sends.",
      inputSchema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
      identity: ({ to, subject }) => ({ to, subject }),
      execute: (input) => {
        sent.push(input);
        return { id: `m-${sent.length}` };
      },
    });
    const { act } = actTool();
    const mailing = (body: string) => asking(["mail", { ...ANN, body }]);
    const turns = [acting("1"), mailing("Hi"), acting("3"), acting("4"), mailing("Dear Ann")];
    const dying = runnerOf(store, { act, mail }, turns, { probe: lightsOut("turn:committed", 3) });
    await failureOf(dying.runner.run("Go", { runId: "r-1" }));
    const { runner, prompts } = runnerOf(store, { act, mail }, turns);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(sent).toHaveLength(1);
    expect((await rows(store))[4]).toEqual(["deduplicated", "r-1/worker#2.1"]);
    expect(toolResults(prompts.at(-1))[4]).toEqual({ type: "json", value: { id: "m-1" } });
  });

  it("and not at all where the tool cannot say what it is: the model, or the code, is told", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, { identity: () => must<Json>(null) });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    const words = /^The identity function of act failed: Expected a value/;
    expect(toolResults(prompts[1])).toMatchObject([{ value: expect.stringMatching(words) }]);
    expect(await rows(store)).toEqual([["cancelled", null]]);
    const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }));
    await failureAs(ConfigurationError, new Runner(code, { store }).run("Go"));
    expect(whats).toEqual([]);
  });

  it("and a duplicate of a large result is large too", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => "x".repeat(50_000), { dedupe: "effect" });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a"), acting("a"), acting("a", "a")]);
    await runner.run("Go", { runId: "r-1" });
    expect(whats).toEqual(["a"]);
    for (const seen of toolResults(prompts.at(-1))) expect(seen).toMatchObject({ value: "x".repeat(50_000) });
    const sizes = (await store.listToolCalls("r-1")).map(({ receipt }) => receipt?.blob?.size);
    expect(sizes).toEqual(Array.from({ length: 4 }, () => 50_002));
  });
});

describe("only what succeeded has duplicates", () => {
  it("a call that failed for certain does not keep the next one from running", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const { act, calls } = actTool(
      (n) => {
        if (n === 1) throw new NotApplied("Busy.");
        return "done";
      },
      { dedupe: "effect" },
    );
    const options = { clock, maxRetriesPerToolCall: 0 };
    await runnerOf(store, { act }, [acting("a"), acting("a"), acting("a")], options).runner.run("Go", {
      runId: "r-1",
    });
    expect(calls.map(({ turnIndex }) => turnIndex)).toEqual([1, 2]);
    expect(calls[0]?.idempotencyKey).not.toBe(calls[1]?.idempotencyKey);
    expect(await rows(store)).toEqual([
      ["failed", null],
      ["succeeded", null],
      ["deduplicated", "r-1/worker#2.1"],
    ]);
  });

  it("a call that may have happened makes the next one ask, past those that were never dispatched", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(
      () => {
        throw new Error("Reset.");
      },
      { dedupe: "effect" },
    );
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("a"), acting("a")]);
    await runner.run("Go", { runId: "r-1" });
    await store.deny((await openWait(store)).waitId, "Not now.");
    await runner.resume("r-1");
    expect(await openWait(store)).toMatchObject({
      toolCallId: "r-1/worker#3.1",
      subject: { earlier: "r-1/worker#1.1" },
    });
    expect(whats).toEqual(["a"]);
  });

  it("an answer that could not be used is no receipt to repeat", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => 7n, { dedupe: "effect" });
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(whats).toEqual(["a"]);
  });
});

describe("across the steps of a pipeline", () => {
  /** The same effect, asked for by an agent and by code, in this order. */
  async function inBoth(order: readonly ("agent" | "code")[], dedupe: "effect" | "call") {
    const store = await memoryStore();
    const { act, whats } = actTool((n) => `done ${n}`, { dedupe });
    const { agent, prompts } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
    const steps = order.map((kind, i) =>
      kind === "agent"
        ? Step.granular(`step${i}`, agent, { input: "Go" })
        : Step.run(`step${i}`, (_input: Json, ctx) => ctx.call(act, { what: "a" })),
    );
    const { output } = await new Runner(Pipeline.of("p", ...steps), { store }).run("Go", { runId: "r-1" });
    return { store, whats, output, seen: toolResults(prompts.at(-1)) };
  }

  it("what an agent did, code does not do again", async () => {
    const { store, whats, output } = await inBoth(["agent", "code"], "effect");
    expect([whats, output]).toEqual([["a"], "done 1"]);
    expect(await rows(store)).toEqual([
      ["succeeded", null],
      ["deduplicated", "r-1/step0#1.1"],
    ]);
  });

  it("what code did, an agent does not do again", async () => {
    const { store, whats, seen } = await inBoth(["code", "agent"], "effect");
    expect([whats, seen]).toEqual([["a"], [{ type: "text", value: "done 1" }]]);
    expect((await rows(store))[1]).toEqual(["deduplicated", "r-1/step0#0.1"]);
  });

  it("and in a third step neither: all point at the first", async () => {
    const { store, whats } = await inBoth(["agent", "agent", "code"], "effect");
    expect(whats).toEqual(["a"]);
    expect((await rows(store)).map(([, of]) => of)).toEqual([null, "r-1/step0#1.1", "r-1/step0#1.1"]);
  });

  it("each does it where each call is one of its own", async () => {
    const { whats } = await inBoth(["agent", "code"], "call");
    expect(whats).toEqual(["a", "a"]);
  });

  it("and another run does it again", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, { dedupe: "effect" });
    for (const runId of ["r-1", "r-2"])
      await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId });
    expect(whats).toEqual(["a", "a"]);
  });
});

describe("the ids that a provider gives its calls", () => {
  const call = (id: string, what: Json) => ({ id, name: "act", input: { what } });

  it("and gives again in other turns have no part in what is the same effect", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool((n) => `done ${n}`, { dedupe: "effect" });
    const turns = ["a", "b", "a"].map((what) => ({ toolCalls: [call("call_0", what)] }));
    const { runner, prompts } = runnerOf(store, { act }, turns);
    await runner.run("Go", { runId: "r-1" });
    expect(whats).toEqual(["a", "b"]);
    const seen = toolResults(prompts.at(-1)) as { value: string }[];
    expect(seen.map(({ value }) => value)).toEqual(["done 1", "done 2", "done 1"]);
  });

  it("and gives twice in one answer, to a call that fits and to one that does not, keep them apart", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { runner, prompts } = runnerOf(store, { act }, [
      { toolCalls: [call("same", 7), call("same", "b")] },
    ]);
    await runner.run("Go", { runId: "r-1" });
    expect(whats).toEqual(["b"]);
    expect(toolResults(prompts[1])).toMatchObject([{ type: "error-text" }, { value: "done 1" }]);
  });
});

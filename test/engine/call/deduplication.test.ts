// An effect that is wanted once per run is executed once, whichever step or call asks for it. Every further call has
// its own row and gets the whole first receipt.

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
  crashAt,
  jumpingClock,
  openWait,
  runnerOf,
  timedStore,
} from "./call-fixture.ts";

/** The calls of run r-1: status, and the call whose receipt is repeated. */
async function rows(store: Store) {
  const calls = await store.listToolCalls("r-1");
  return calls.map(({ status, receipt }) => [status, receipt?.duplicateOf ?? null]);
}

/** Runs these calls of one tool, one per turn, and returns the turns in which it was executed. */
async function executedTurns(
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

describe("deduplication of an effect within a run", () => {
  it('gives the second call the first receipt if the tool is declared with dedupe "effect"', async () => {
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

  it.each<[string, Parameters<typeof executedTurns>[0], readonly Json[], number[]]>([
    [
      "matches by what `identity` picks and ignores the other arguments",
      { name: "act", identity: ({ to }) => to ?? null },
      [
        { to: "ann", body: "Hi" },
        { to: "ann", body: "Hello" },
        { to: "bob", body: "Hi" },
      ],
      [1, 3],
    ],
    [
      "matches by recipient and subject for a tool that sends mail, even if the body differs",
      { name: "send_email" },
      [
        { ...ANN, body: "Hi" },
        { ...ANN, body: "Dear Ann" },
        { ...ANN, subject: "Offer 2", body: "Hi" },
      ],
      [1, 3],
    ],
    [
      "matches by path and destination for a tool that uploads",
      { name: "upload_report" },
      [
        { path: "a.pdf", bucket: "x", comment: "one" },
        { path: "a.pdf", bucket: "x", comment: "two" },
        { path: "a.pdf", bucket: "y" },
      ],
      [1, 3],
    ],
    [
      "matches by kind and content for a tool that stores memories",
      { name: "archival_memory_insert" },
      [{ content: "Ann likes tea" }, { content: "Ann likes tea" }, { content: "Bob likes tea" }],
      [1, 3],
    ],
    ["does not apply to a tool that is merely external", { name: "run_tests" }, [{}, {}, {}], [1, 2, 3]],
    [
      'does not apply with dedupe "call", whatever the tool\'s name',
      { name: "send_email", dedupe: "call" },
      [ANN, ANN],
      [1, 2],
    ],
    [
      'does not apply with dedupe "call", whatever its identity',
      { name: "act", dedupe: "call", identity: () => "same" },
      [{ a: 1 }, { a: 2 }],
      [1, 2],
    ],
    ["does not apply to a read-only tool", { name: "get_email", effect: "read_only" }, [ANN, ANN], [1, 2]],
  ])("%s", async (_name, definition, inputs, ran) => {
    expect(await executedTurns(definition, inputs)).toEqual(ran);
  });

  it('counts occurrences by all arguments with dedupe "call"', async () => {
    const store = await memoryStore();
    const { act } = actTool(undefined, { name: "send_email", dedupe: "call" });
    const turns = ["Hi", "Dear Ann", "Hi"].map((body) =>
      asking(["send_email", { ...ANN, what: "mail", body }]),
    );
    await runnerOf(store, { send_email: act }, turns).runner.run("Go", { runId: "r-1" });
    expect((await store.listToolCalls("r-1")).map(({ occurrence }) => occurrence)).toEqual([1, 1, 2]);
  });

  it("covers every tool known to be external with noDuplicateExternalActions, but not one that only may be", async () => {
    const options = { constraints: { noDuplicateExternalActions: true } };
    const twice = [{ amount: 5 }, { amount: 5 }, { amount: 6 }];
    expect(await executedTurns({ name: "create_invoice" }, twice)).toEqual([1, 2, 3]);
    expect(await executedTurns({ name: "create_invoice" }, twice, options)).toEqual([1, 3]);
    expect(await executedTurns({ name: "act", effect: "external" }, twice, options)).toEqual([1, 3]);
    expect(await executedTurns({ name: "run_tests" }, twice, options)).toEqual([1, 2, 3]);
    expect(await executedTurns({ name: "write_local_file" }, twice, options)).toEqual([1, 2, 3]);
    expect(await executedTurns({ name: "create_invoice", dedupe: "call" }, twice, options)).toEqual([1, 3]);
  });

  it("ignores request ids, trace ids and idempotency keys in the arguments", async () => {
    const ids = ["requestId", "trace_id", "X-Correlation-Id", "idempotencyKey"];
    const inputs = ids.map((name, i) => ({ amount: 5, [name]: `id-${i}` }));
    expect(await executedTurns({ name: "act", dedupe: "effect" }, [...inputs, { amount: 5 }])).toEqual([1]);
    expect(
      await executedTurns({ name: "act", dedupe: "effect" }, [
        { amount: 5, orderId: 1 },
        { amount: 5, orderId: 2 },
      ]),
    ).toEqual([1, 2]);
  });

  it("sends one mail for equal calls in turns 2 and 5 with a crash in between, and stores a row for each", async () => {
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
    const dying = runnerOf(store, { act, mail }, turns, { probe: crashAt("turn:committed", 3) });
    await failureOf(dying.runner.run("Go", { runId: "r-1" }));
    const { runner, prompts } = runnerOf(store, { act, mail }, turns);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(sent).toHaveLength(1);
    expect((await rows(store))[4]).toEqual(["deduplicated", "r-1/worker#2.1"]);
    expect(toolResults(prompts.at(-1))[4]).toMatchObject({
      value: expect.stringMatching(/\n\n\{"id":"m-1"\}$/),
    });
  });

  it("executes nothing if `identity` throws, and reports that to the model or the code", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, { identity: () => must<Json>(null) });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("End.");
    const pattern = /^The identity function of act failed: Expected a value/;
    expect(toolResults(prompts[1])).toMatchObject([{ value: expect.stringMatching(pattern) }]);
    expect(await rows(store)).toEqual([["cancelled", null]]);
    const code = Step.run("code", (_input, ctx) => ctx.call(act, { what: "a" }));
    await failureAs(ConfigurationError, new Runner(code, { store }).run("Go"));
    expect(whats).toEqual([]);
  });

  it("repeats a large result as a large result", async () => {
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

describe("only a success is repeated", () => {
  it("a call that certainly failed does not stop the next equal one from running", async () => {
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

  it("a call that may have happened makes the next equal one ask, past calls that were never dispatched", async () => {
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

  it("a result that could not be stored is not repeated", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => 7n, { dedupe: "effect" });
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("a")]);
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("waiting");
    expect(whats).toEqual(["a"]);
  });
});

describe("deduplication across the steps of a pipeline", () => {
  /** The same effect, requested by an agent and by code, in this order. */
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

  it("code does not repeat what an agent did", async () => {
    const { store, whats, output } = await inBoth(["agent", "code"], "effect");
    expect([whats, output]).toEqual([["a"], "done 1"]);
    expect(await rows(store)).toEqual([
      ["succeeded", null],
      ["deduplicated", "r-1/step0#1.1"],
    ]);
  });

  it("an agent does not repeat what code did", async () => {
    const { store, whats, seen } = await inBoth(["code", "agent"], "effect");
    expect([whats, seen]).toEqual([["a"], [{ type: "text", value: "done 1" }]]);
    expect((await rows(store))[1]).toEqual(["deduplicated", "r-1/step0#0.1"]);
  });

  it("a third step does not repeat it either, and all rows point at the first call", async () => {
    const { store, whats } = await inBoth(["agent", "agent", "code"], "effect");
    expect(whats).toEqual(["a"]);
    expect((await rows(store)).map(([, of]) => of)).toEqual([null, "r-1/step0#1.1", "r-1/step0#1.1"]);
  });

  it('each step executes it with dedupe "call"', async () => {
    const { whats } = await inBoth(["agent", "code"], "call");
    expect(whats).toEqual(["a", "a"]);
  });

  it("another run executes it again", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(undefined, { dedupe: "effect" });
    for (const runId of ["r-1", "r-2"])
      await runnerOf(store, { act }, [acting("a")]).runner.run("Go", { runId });
    expect(whats).toEqual(["a", "a"]);
  });
});

describe("tool call ids from the provider", () => {
  const call = (id: string, what: Json) => ({ id, name: "act", input: { what } });

  it("are not part of an effect's identity when they recur in later turns", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool((n) => `done ${n}`, { dedupe: "effect" });
    const turns = ["a", "b", "a"].map((what) => ({ toolCalls: [call("call_0", what)] }));
    const { runner, prompts } = runnerOf(store, { act }, turns);
    await runner.run("Go", { runId: "r-1" });
    expect(whats).toEqual(["a", "b"]);
    const seen = toolResults(prompts.at(-1)) as { value: string }[];
    expect(seen.map(({ value }) => value)).toEqual(["done 1", "done 2", "done 1"]);
  });

  it("keep two calls of one answer apart, one valid and one invalid, even if both have the same id", async () => {
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

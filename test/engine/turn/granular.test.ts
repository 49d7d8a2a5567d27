// The ten tests of the requirements document, under their original names, each on the real engine and SQLite.

import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { executeTurn } from "../../../src/engine/turn/turn-executor.ts";
import {
  agent,
  BlobMissingError,
  ConfigurationError,
  MaxTurnsExceededError,
  ModelCallError,
  Pipeline,
  ResumeError,
  type RunEvent,
  Runner,
  Step,
  tool,
} from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { FakeOpenAiServer, hang } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import {
  beginRun,
  collect,
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
} from "../run-fixture.ts";

it("test_granular_cas_guard_skip", async () => {
  const store = await memoryStore();
  const { note, done } = noteTool();
  const { agent, prompts } = scriptedAgent([noting("one"), noting("two")], { tools: { note } });
  const { openScope } = await beginRun(store, Step.granular("work", agent));
  const late = await openScope(); // reads the store before turn 1, and executes it after
  const scope = await openScope();
  await executeTurn(scope, 1);
  const history = await store.readHistory("r-1", "work");
  const events = await store.listEvents("r-1");

  expect(await executeTurn(scope, 1)).toEqual({ executed: false, isComplete: false });
  expect(await executeTurn(await openScope(), 1)).toEqual({ executed: false, isComplete: false });
  // A scope that does not know of the commit yet is stopped by the store before the model is asked.
  expect((await failureAs(ResumeError, executeTurn(late, 1))).recoverable).toBe(true);

  expect(prompts).toHaveLength(1);
  expect(done).toEqual(["one"]);
  expect(await store.listTurns("r-1")).toHaveLength(1);
  expect(await store.readHistory("r-1", "work")).toEqual(history);
  expect(await store.listEvents("r-1")).toEqual(events);
  // The loop continues: the next turn runs normally.
  expect(await executeTurn(scope, 2)).toEqual({ executed: true, isComplete: false });
  expect(done).toEqual(["one", "two"]);
});

it("test_granular_cas_gap_failure", async () => {
  const store = await memoryStore();
  const { note, done } = noteTool();
  const { agent, prompts } = scriptedAgent([noting("one"), noting("two")], { tools: { note } });
  const { openScope, run } = await beginRun(store, Step.granular("work", agent));
  const scope = await openScope();
  await executeTurn(scope, 1);
  const events = await store.listEvents("r-1");

  const gap = await failureAs(ResumeError, executeTurn(await openScope(), 3));

  expect(gap.irrecoverable).toBe(false);
  expect(gap.message).toMatch(/turn 3 .+ at turn 1.+Nothing was run/);
  // The store refuses the gap as well.
  const opening = { stepKey: scope.stepKey, turnIndex: 3, reserve: { tokens: 1, microDollars: 0 } };
  const fingerprint = must((await openScope()).conversation.storedFingerprint);
  await failureAs(ResumeError, store.openTurn(run.fence, { ...opening, fingerprint }));
  expect(prompts).toHaveLength(1);
  expect(done).toEqual(["one"]);
  expect(await store.listEvents("r-1")).toEqual(events);
  expect((await store.readGranularState("r-1", "work"))?.turnIndex).toBe(1);
});

it("test_granular_usage_baseline_on_timeout", async () => {
  const server = await FakeOpenAiServer.start();
  onTestFinished(() => server.close());
  server.next(hang);
  const store = await memoryStore();
  const clock = fakeClock();
  const asked = agent({ name: "worker", model: openAiModel(server.baseUrl) });
  const runner = new Runner(asked, { store, clock, modelTimeoutMs: 5_000 });

  const events: RunEvent[] = [];
  const failed = failureAs(
    ModelCallError,
    (async () => {
      for await (const event of runner.stream("Go", { runId: "r-1" })) events.push(event);
    })(),
  );
  await server.received(1);
  await clock.advance(5_000);

  expect((await failed).details.kind).toBe("timeout");
  const [call] = await store.listModelCalls("r-1");
  const reserved = must(call).reserved;
  expect(reserved.tokens).toBeGreaterThan(asked.settings.maxOutputTokens);
  expect(call?.charge).toMatchObject({ basis: "baseline", amount: reserved });
  expect(await store.getRun("r-1")).toMatchObject({
    status: "failed",
    charged: reserved,
    reserved: { tokens: 0, microDollars: 0 },
  });
  expect(events.find((event) => event.type === "usage.baseline")).toMatchObject({
    attempt: 1,
    charged: reserved,
  });
});

it("test_granular_fingerprint_mismatch", async () => {
  const store = await memoryStore();
  const { note, done } = noteTool();
  const original = { instructions: "You work.", tools: { note }, settings: { temperature: 0 } };
  const script = [noting("one"), noting("two"), { text: "Ready." }];
  const first = scriptedAgent(script, original);
  const step = Step.granular("work", first.agent, { maxTurns: 1 });
  const { openScope } = await beginRun(store, step, { input: { a: 1, b: 2 } });
  await executeTurn(await openScope(), 1);
  const events = await store.listEvents("r-1");
  const renamed = tool({ description: "Writes.", inputSchema: z.object({ text: z.string() }), execute() {} });
  const widened = tool({
    name: "note",
    description: "Writes a line down.",
    inputSchema: z.object({ text: z.string(), loud: z.boolean().optional() }),
    execute: () => null,
  });

  for (const [what, change, input] of [
    ["prompt", { instructions: "You play." }],
    ["model", { modelId: "another" }],
    ["tools.local:note", { tools: { note: widened } }],
    ["tools.local:scribble", { tools: { note, scribble: renamed } }],
    ["settings.temperature", { settings: { temperature: 1 } }],
    ["switches.outputSchema", { output: z.object({ done: z.boolean() }) }],
    ["switches.acceptCutAnswers", { acceptCutAnswers: true }],
    ["input.b", {}, { a: 1, b: 3 }],
  ] as const) {
    const changed = scriptedAgent(script, { ...original, ...change });
    const scope = await openScope(Step.granular("work", changed.agent), input ?? { a: 1, b: 2 });
    const error = await failureAs(ResumeError, executeTurn(scope, 2));
    expect(error.irrecoverable).toBe(true);
    expect(error.details.changes.map((each) => each.what)).toContain(what);
    expect(error.message).toContain(what);
    expect(changed.prompts).toHaveLength(0);
  }
  expect(done).toEqual(["one"]);
  expect(await store.listEvents("r-1")).toEqual(events);
  // The order of keys is no change, and neither is a switch that is not set.
  const again = scriptedAgent(script, { ...original, acceptCutAnswers: false });
  const scope = await openScope(Step.granular("work", again.agent), { b: 2, a: 1 });
  expect(Object.keys(scope.document.switches)).not.toContain("acceptCutAnswers");
  expect(await executeTurn(scope, 2)).toEqual({ executed: true, isComplete: false });
});

it("test_idempotency_enforced_tool", async () => {
  const store = await memoryStore();
  const sent: unknown[] = [];
  const mail = (inputSchema: z.ZodType<{ to: string }>) =>
    tool({
      description: "Sends a mail.",
      inputSchema,
      requiresIdempotencyKey: true,
      execute: (input) => sent.push(input),
    });
  const keyed = z.object({ to: z.string(), idempotencyKey: z.string() });
  const omits = mail(keyed.transform(({ to }) => ({ to })));
  const changes = mail(keyed.transform(({ to }) => ({ to, idempotencyKey: "my own" })));
  const script = [{ toolCalls: [{ name: "mail", input: { to: "ann@x.org" } }] }, { text: "Sent." }];

  for (const [runId, tampering, part] of [
    ["omitted", omits, "has none"],
    ["changed", changes, "has another"],
  ] as const) {
    const { agent } = scriptedAgent(script, { tools: { mail: tampering } });
    const step = Step.granular("work", agent, { enforceIdempotency: true });
    const error = await failureAs(ConfigurationError, new Runner(step, { store }).run("Go", { runId }));
    expect(error.message).toContain(part);
    expect(sent).toEqual([]);
    expect((await store.listToolCalls(runId)).map((call) => call.status)).toEqual(["prepared"]);
    expect(await store.getRun(runId)).toMatchObject({ status: "failed" });
  }
  // A tool without a key parameter is refused when the pipeline is built.
  const { note } = noteTool();
  const { agent: careless } = scriptedAgent(script, { tools: { note } });
  expect(() => Step.granular("work", careless, { enforceIdempotency: true })).toThrow(ConfigurationError);
  // A tool that keeps the key is called with it.
  const { agent } = scriptedAgent(script, { tools: { mail: mail(keyed) } });
  const step = Step.granular("work", agent, { enforceIdempotency: true });
  await new Runner(step, { store }).run("Go", { runId: "kept" });
  const [call] = await store.listToolCalls("kept");
  expect(sent).toEqual([{ to: "ann@x.org", idempotencyKey: call?.idempotencyKey }]);
});

it("test_blob_offload_and_rehydrate", async () => {
  const file = databaseFile();
  const text = "ü".repeat(25_000);
  let reference = "";
  const { note } = noteTool((line) => (line === "large" ? { text } : reference));
  const script = [noting("large"), noting("reference"), { text: "Read." }];
  // Each has a separate store handle, as three processes would.
  const upTo = async (maxTurns: number) => {
    const store = await fileStore(file);
    const { agent, prompts } = scriptedAgent(script, { tools: { note } });
    const runner = new Runner(Step.granular("work", agent, { maxTurns }), { store });
    return { store, prompts, runner, results: () => toolResults(prompts.at(-1)) };
  };

  const first = await upTo(1);
  await failureAs(MaxTurnsExceededError, first.runner.run("Go", { runId: "r-1" }));
  const history = JSON.stringify(await first.store.readHistory("r-1", "work"));
  expect(history).not.toContain("üü");
  reference = must(/<<FL_BLOB_REF:[0-9a-f]{64}:size=50011>>/.exec(history)?.[0]);
  await first.store.close();

  const second = await upTo(2);
  await failureAs(MaxTurnsExceededError, second.runner.resume("r-1"));
  expect(second.results()).toEqual([{ type: "json", value: { text } }]);
  await second.store.close();

  const third = await upTo(3);
  expect(await third.runner.resume("r-1")).toMatchObject({ status: "succeeded", output: "Read." });
  // A text that looks like a reference, even a valid one, stays a text.
  expect(third.results()).toEqual([
    { type: "json", value: { text } },
    { type: "text", value: reference },
  ]);
});

it("test_history_truncation_middle_out", async () => {
  const store = await memoryStore();
  const { note } = noteTool((text) => `${text}: ${"word ".repeat(80)}`);
  const turns = 8;
  const script = () => {
    let asked = 0;
    return scriptedAgent(() => (++asked > turns ? { text: "End." } : noting(`line ${asked}`)), {
      tools: { note },
    });
  };
  const run = async (runId: string) => {
    const { agent, prompts } = script();
    const step = Step.granular("work", agent, { historyMaxTokens: 400 });
    await new Runner(step, { store }).run("The first message", { runId });
    return must(prompts.at(-1));
  };

  const seen = await run("r-1");

  const stored = await store.readHistory("r-1", "work");
  expect(stored).toHaveLength(2 + 2 * turns + 1);
  expect(seen[0]).toEqual({ role: "system", content: "You work." });
  expect(seen[1]).toMatchObject({ role: "user", content: [{ text: "The first message" }] });
  const tail = seen.slice(3);
  // The whole history except the head, the tail, and the answer that does not exist yet.
  const omitted = stored.length - 1 - 2 - tail.length;
  expect(omitted).toBeGreaterThan(0);
  expect(seen[2]).toEqual({
    role: "system",
    content: `... [Context Truncated: ${omitted} messages omitted] ...`,
  });
  expect(tail.map((message) => message.role)).toEqual(
    Array.from({ length: tail.length }, (_, i) => (i % 2 === 0 ? "assistant" : "tool")),
  );
  expect(tail.length).toBeGreaterThanOrEqual(2);
  for (let i = 0; i < tail.length; i += 2) {
    const idOf = (message: Prompt[number] | undefined) =>
      (must(message).content[0] as { toolCallId: string }).toolCallId;
    expect(idOf(tail[i + 1])).toBe(idOf(tail[i]));
  }
  expect(JSON.stringify(tail.at(-1))).toContain(`line ${turns}: word`);
  expect(JSON.stringify(await run("r-2"))).toBe(JSON.stringify(seen));
});

it("test_loop_abort_on_failure", async () => {
  const store = await memoryStore();
  const { note, done } = noteTool();
  let works = false;
  const { agent, prompts } = scriptedAgent(
    ({ turn }) => {
      if (turn <= 2) return noting(`line ${turn}`);
      if (works) return { text: "Ready." };
      throw new Error("The provider is on fire.");
    },
    { tools: { note } },
  );
  const pipeline = Pipeline.of(
    "report",
    Step.run("before", (input, ctx) => {
      ctx.context.before = true;
      return input;
    }),
    Step.granular("work", agent),
    Step.run("after", (input: string, ctx) => ({ input, context: ctx.context })),
  );
  const runner = new Runner(pipeline, { store });

  await failureAs(ModelCallError, runner.run("Go", { runId: "r-1" }));

  expect(prompts).toHaveLength(3); // no fourth turn, no other step
  const state = must(await store.readGranularState("r-1", "work"));
  expect(state).toMatchObject({ turnIndex: 2, isComplete: false, finalOutput: null });
  expect(state.history).toHaveLength(2 + 2 * 2);
  expect((await store.listSteps("r-1")).map(({ path, status }) => [path, status])).toEqual([
    ["before", "succeeded"],
    ["work", "failed"],
  ]);
  expect(await store.getRun("r-1")).toMatchObject({ status: "failed", error: { code: "model_call" } });

  works = true;
  const { output, context } = await runner.resume("r-1");
  expect(output).toEqual({ input: "Ready.", context: { before: true } });
  expect(done).toEqual(["line 1", "line 2"]);
  expect(context.granularState).toMatchObject({ turnIndex: 3, isComplete: true });
});

it("test_cas_skip_no_quota_touch", async () => {
  const store = await memoryStore();
  const { note } = noteTool();
  const { agent } = scriptedAgent([noting("one")], { tools: { note } });
  const { openScope } = await beginRun(store, Step.granular("work", agent, { maxTurns: 1 }), {
    tokens: 10_000,
  });
  await executeTurn(await openScope(), 1);
  const [run, calls] = [await store.getRun("r-1"), await store.listModelCalls("r-1")];
  expect(run).toMatchObject({ charged: { tokens: 15 }, reserved: { tokens: 0 } });

  for (let i = 0; i < 3; i++) {
    expect(await executeTurn(await openScope(), 1)).toMatchObject({ executed: false });
  }

  expect(await store.getRun("r-1")).toEqual(run);
  expect(await store.listModelCalls("r-1")).toEqual(calls);
});

it("test_blob_ref_missing_fails_fast", async () => {
  const file = databaseFile();
  const store = await fileStore(file);
  const { note } = noteTool(() => "x".repeat(30_000), { recovery: "keyed" });
  const opaque = noteTool(() => "x".repeat(30_000)).note;
  const script = [noting("large"), { text: "Ready." }];
  const stepOf = (tools: { note: typeof note }, options: object) => {
    const { agent, prompts } = scriptedAgent(script, { tools });
    return { step: Step.granular("work", agent, options), prompts };
  };
  for (const [runId, tools] of [
    ["keyed", { note }],
    ["opaque", { note: opaque }],
  ] as const) {
    const { step } = stepOf(tools, { maxTurns: 1 });
    await expect(new Runner(step, { store }).run(runId, { runId })).rejects.toThrow(/raise maxTurns/);
  }
  const [call] = await store.listToolCalls("keyed");
  const { blobId } = must(call?.receipt?.blob);
  const raw = new DatabaseSync(file);
  raw.exec("DELETE FROM blobs");
  raw.close();

  const strict = stepOf({ note }, {});
  const error = await failureAs(BlobMissingError, new Runner(strict.step, { store }).resume("keyed"));
  expect(error.details).toEqual({ blobId, runId: "keyed" });
  expect(error.message).toContain(blobId);
  expect(strict.prompts).toHaveLength(0);

  // With degradedReplay the run continues without the blob, but only if the tool could be called again.
  const lenient = stepOf({ note: opaque }, { degradedReplay: true });
  await failureAs(BlobMissingError, new Runner(lenient.step, { store }).resume("opaque"));
  expect(lenient.prompts).toHaveLength(0);
  const degraded = stepOf({ note }, { degradedReplay: true });
  const events = await collect(new Runner(degraded.step, { store }).stream("keyed", { runId: "keyed-2" }));
  expect(events.filter((event) => event.type === "warning")).toEqual([]);
  expect(await new Runner(degraded.step, { store }).resume("keyed")).toMatchObject({ output: "Ready." });
  expect(JSON.stringify(degraded.prompts.at(-1))).toContain(`<<FL_BLOB_MISSING:${blobId}:size=30002>>`);
});

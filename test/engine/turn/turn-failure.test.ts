// A turn that fails after a charge or an effect: known facts are stored first, and nothing is done twice.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AssistantPart,
  agent as defineAgent,
  type ModelPort,
  PausedError,
  Runner,
  Step,
  StepFailedError,
  type Store,
  StoreUnavailableError,
  tool,
  type Usage,
} from "../../../src/index.ts";
import { failureAs, memoryStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

/** A store that refuses these intents, each once (or as often as it is named). */
function refusing(
  store: Store,
  ...intents: ("journalResponse" | "commitTurn" | "settleModelCall" | "recordReceipt")[]
): Store {
  const left: string[] = intents;
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof name === "string" && left.includes(name)) {
        return () => {
          left.splice(left.indexOf(name), 1);
          return Promise.reject(new StoreUnavailableError("The disk is full.", { reason: "full" }));
        };
      }
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** A custom model port with these answers. */
function ownModel(answers: AssistantPart[][], usage: Usage | null = null): ModelPort {
  const left = [...answers];
  return {
    provider: "own",
    modelId: "own",
    respond: async () => ({
      content: left.shift() ?? [],
      finishReason: "stop",
      usage,
      invalidCalls: {},
      responseId: null,
    }),
  };
}

describe("a completion predicate that throws", () => {
  it("after a tool's effect leaves the receipt, and a fixed predicate resumes from there", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const script = [noting("one"), { text: "Hello" }];
    const { agent, prompts } = scriptedAgent(script, { tools: { note } });
    const stepOf = (completion: () => boolean) => Step.granular("work", agent, { completion });
    const broken = stepOf(() => {
      throw new TypeError("Cannot read properties of undefined");
    });

    const error = await failureAs(StepFailedError, new Runner(broken, { store }).run("Go", { runId: "r-1" }));

    expect(error.cause).toBeInstanceOf(TypeError);
    expect(error.details).toEqual({ step: "work" });
    const [call] = await store.listToolCalls("r-1");
    expect(call).toMatchObject({ status: "succeeded", receipt: { output: { value: { noted: "one" } } } });
    expect((await store.readGranularState("r-1", "work"))?.turnIndex).toBe(0);

    let asked = 0;
    const fixed = stepOf(() => ++asked === 2);
    const result = await new Runner(fixed, { store }).resume("r-1");
    expect(result.output).toBe("Hello");
    expect(done).toEqual(["one"]);
    expect(prompts).toHaveLength(2);
    expect((await store.listModelCalls("r-1")).map(({ turnIndex }) => turnIndex)).toEqual([1, 2]);
    // The journaled turn has its result, and no "Continue." after it.
    expect(prompts[1]?.map((message) => message.role)).toEqual(["system", "user", "assistant", "tool"]);
  });

  it("for an answer without calls leaves the answer, charged once and not requested again", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }]);
    let works = false;
    const completion = () => works || undefined; // not a boolean the first time
    const step = Step.granular("work", agent, { completion: completion as () => boolean });
    const runner = new Runner(step, { store });
    await failureAs(StepFailedError, runner.run("Go", { runId: "r-1" }));
    expect((await store.listTurns("r-1")).map(({ committed }) => committed)).toEqual([false]);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 15 }, reserved: { tokens: 0 } });

    works = true;
    expect((await runner.resume("r-1")).output).toBe("Hello");

    expect(prompts).toHaveLength(1);
    expect((await store.getRun("r-1"))?.charged.tokens).toBe(15);
  });
});

describe("a commit that the store refuses", () => {
  it("after a tool's effect leaves the receipt: a call with a known outcome is not in doubt", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool(undefined, { recovery: "opaque" });
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store: refusing(store, "commitTurn") });

    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));

    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["succeeded"]);
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(done).toEqual(["one"]);
  });
});

describe("a receipt that the store refuses", () => {
  it("does not affect other receipts, and is written again later", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool(undefined, { recovery: "opaque" });
    const both = { toolCalls: [...noting("one").toolCalls, ...noting("two").toolCalls] };
    const { agent } = scriptedAgent([both, { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store: refusing(store, "recordReceipt") });

    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));

    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual([
      "succeeded",
      "succeeded",
    ]);
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(done).toEqual(["one", "two"]);
  });
});

describe("an interrupted call whose code has changed", () => {
  /** A tool whose schema and identity depend on code: no fingerprint shows that change. */
  function mailer(recovery: "keyed" | "repeat") {
    const broken = { schema: false, identity: false };
    const sent: string[] = [];
    const mail = tool({
      description: "Sends.",
      recovery,
      inputSchema: z.object({ to: z.string().refine(() => !broken.schema, "Unknown.") }),
      identity: ({ to }) => (broken.identity ? must<{ to: string }>(undefined) : { to }),
      execute: async ({ to }) => {
        sent.push(to);
        if (sent.length === 1) throw new PausedError("Later.");
        return "sent";
      },
    });
    const script = [{ toolCalls: [{ name: "mail", input: { to: "ann" } }] }, { text: "Hello" }];
    const { agent } = scriptedAgent(script, { tools: { mail } });
    return { agent, sent, broken };
  }

  it("is in doubt if its arguments are not valid any more, since it may have happened", async () => {
    const store = await memoryStore();
    const { agent, sent, broken } = mailer("keyed");
    const runner = new Runner(agent, { store });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    broken.schema = true;
    const { status, waits } = await runner.resume("r-1");
    expect([status, waits.map(({ kind }) => kind)]).toEqual(["waiting", ["in_doubt"]]);
    expect(JSON.stringify(waits)).toContain("Unknown.");
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["in_doubt"]);
    broken.schema = false;
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(sent).toEqual(["ann", "ann"]);
  });

  it("has failed if it is repeatable", async () => {
    const store = await memoryStore();
    const { agent, broken } = mailer("repeat");
    const runner = new Runner(agent, { store });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    broken.schema = true;
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["failed"]);
  });

  it("is repeated under its stored key if its identity function fails now", async () => {
    const store = await memoryStore();
    const { agent, sent, broken } = mailer("keyed");
    const runner = new Runner(agent, { store });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    broken.identity = true;
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(sent).toEqual(["ann", "ann"]);
  });

  it("is not sent if its identity function failed in the first place", async () => {
    const store = await memoryStore();
    const { agent, sent, broken } = mailer("keyed");
    broken.identity = true;
    const runner = new Runner(agent, { store: refusing(store, "commitTurn", "recordReceipt") });
    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));
    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["prepared"]);
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(sent).toEqual([]);
  });
});

describe("a charged answer", () => {
  it("that cannot be journaled is charged anyway", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent, prompts } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const runner = new Runner(agent, { store: refusing(store, "journalResponse") });

    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));

    expect(done).toEqual([]);
    expect((await store.listModelCalls("r-1")).map(({ charge }) => charge?.basis)).toEqual(["provider"]);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 15 }, reserved: { tokens: 0 } });
    // It was not stored, so it has to be requested again, as a second attempt.
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect(prompts).toHaveLength(3);
    expect(done).toEqual(["one"]);
  });

  it("is charged even if the store first refuses both the answer and the charge", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one")], { tools: { note } });
    const runner = new Runner(agent, { store: refusing(store, "journalResponse", "settleModelCall") });

    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));

    expect(await store.getRun("r-1")).toMatchObject({
      status: "failed",
      charged: { tokens: 15 },
      reserved: { tokens: 0 },
    });
  });

  it("is charged by the next worker if the store never accepts the charge", async () => {
    let now = 1_000;
    const store = await memoryStore({ now: () => now });
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one")], { tools: { note } });
    const full = refusing(store, "journalResponse", "settleModelCall", "settleModelCall");
    await failureAs(StoreUnavailableError, new Runner(agent, { store: full }).run("Go", { runId: "r-1" }));
    const left = must(await store.getRun("r-1"));
    expect(left).toMatchObject({ status: "running", charged: { tokens: 0 } });
    expect(left.reserved.tokens).toBeGreaterThan(15);

    now = left.leaseUntil;
    const claimed = await store.claimRun("r-1", { leaseMs: 1_000, from: ["running"] });
    expect(claimed).toMatchObject({ claim: { run: { charged: left.reserved, reserved: { tokens: 0 } } } });
  });

  it("that never arrived is charged even if the store first refuses that", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent(() => {
      throw new Error("socket hang up");
    });
    const runner = new Runner(agent, { store: refusing(store, "settleModelCall") });

    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));

    const [call] = await store.listModelCalls("r-1");
    expect(call?.charge).toMatchObject({ basis: "baseline", amount: must(call).reserved });
  });

  it("that cannot be committed is charged anyway", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }]);
    const runner = new Runner(agent, { store: refusing(store, "commitTurn") });

    await failureAs(StoreUnavailableError, runner.run("Go", { runId: "r-1" }));

    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 15 }, reserved: { tokens: 0 } });
    expect((await runner.resume("r-1")).output).toBe("Hello");
    expect((await store.getRun("r-1"))?.charged.tokens).toBe(30);
  });

  it.each<[string, () => unknown]>([
    ["throws", () => must(undefined)],
    ["returns what is not JSON", () => new Date(0)],
    ["returns nothing", () => undefined],
  ])("is not lost to an identity function that %s: the model gets an error", async (_name, identity) => {
    const store = await memoryStore();
    const sent: string[] = [];
    const mail = tool({
      description: "Sends.",
      inputSchema: z.object({ to: z.string() }),
      identity: identity as () => null,
      execute: ({ to }) => sent.push(to),
    });
    const script = [{ toolCalls: [{ name: "mail", input: { to: "ann" } }] }, { text: "Gave up." }];
    const { agent, prompts } = scriptedAgent(script, { tools: { mail } });

    expect((await new Runner(agent, { store }).run("Go", { runId: "r-1" })).output).toBe("Gave up.");

    expect(sent).toEqual([]);
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["cancelled"]);
    expect(JSON.stringify(prompts[1]?.at(-1))).toContain("identity function of mail");
  });

  it("is not lost to a schema that throws: the model gets an error", async () => {
    const store = await memoryStore();
    const sent: unknown[] = [];
    const strange = tool({
      description: "Sends.",
      inputSchema: z.object({ to: z.string() }).refine(() => {
        throw new Error("The schema is broken.");
      }),
      execute: (input) => sent.push(input),
    });
    const call = { type: "tool-call", toolCallId: "c1", toolName: "strange", input: { to: "ann" } };
    // A custom model port does not check arguments: that is left to the engine.
    const model = ownModel([[call], [{ type: "text", text: "Gave up." }]]);
    const agent = defineAgent({ name: "worker", model, tools: { strange } });

    expect((await new Runner(agent, { store }).run("Go", { runId: "r-1" })).output).toBe("Gave up.");

    expect(sent).toEqual([]);
    const [row] = await store.listToolCalls("r-1");
    expect(row?.receipt?.output.value).toContain("The schema is broken.");
  });

  const FIGURES = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
  it.each<Partial<Usage>>([
    { ...FIGURES, inputTokens: Number.NaN },
    { ...FIGURES, outputTokens: 1.5 },
    { ...FIGURES, inputTokens: -1 },
    { inputTokens: 1 },
    {},
  ])("with figures such as %o is charged with its reservation", async (figures) => {
    const store = await memoryStore();
    const usage = figures as Usage;
    const model = ownModel([[{ type: "text", text: "Hello" }]], usage);
    const runner = new Runner(defineAgent({ name: "worker", model }), { store });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("Hello");
    const [call] = await store.listModelCalls("r-1");
    expect(call?.charge).toMatchObject({ basis: "baseline", amount: must(call).reserved });
  });
});

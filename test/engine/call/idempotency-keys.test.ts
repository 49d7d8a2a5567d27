// The idempotency key of a call: passed to the tool, put into its payload, hidden from the model, and the same for
// every attempt.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { turnKey } from "../../../src/core/turn/turn-key.ts";
import { ConfigurationError, Pipeline, Runner, Step, tool } from "../../../src/index.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import {
  databaseFile,
  failureOf,
  fileStore,
  memoryStore,
  must,
  noteTool,
  noting,
  scriptedAgent,
} from "../run-fixture.ts";

/** A tool with a parameter for the key, and a record of what it received. */
function payTool(property: "idempotencyKey" | "idempotency_key" = "idempotencyKey") {
  const paid: { input: unknown; key: string }[] = [];
  const pay = tool({
    description: "Pays.",
    inputSchema: z.object({ amount: z.number(), [property]: z.string().length(64) }),
    requiresIdempotencyKey: true,
    execute: (input, call) => {
      paid.push({ input, key: call.idempotencyKey });
      return "paid";
    },
  });
  return { pay, paid };
}

const paying = (...amounts: number[]) => ({
  toolCalls: amounts.map((amount) => ({ name: "pay", input: { amount } })),
});

describe("the key parameter of a tool's schema", () => {
  it.each(["idempotencyKey", "idempotency_key"] as const)(
    "is filled in if it is named %s",
    async (property) => {
      const store = await memoryStore();
      const { pay, paid } = payTool(property);
      const { agent } = scriptedAgent([paying(5), { text: "End." }], { tools: { pay } });
      await new Runner(agent, { store }).run("Go", { runId: "r-1" });
      const key = must((await store.listToolCalls("r-1"))[0]).idempotencyKey;
      expect(paid).toEqual([{ input: { amount: 5, [property]: key }, key }]);
    },
  );

  it("is hidden from the model, in the schema and in the conversation", async () => {
    const store = await memoryStore();
    const { pay } = payTool();
    const schemas: unknown[] = [];
    const { agent, prompts } = scriptedAgent(
      ({ turn, options }) => {
        schemas.push(...(options.tools ?? []));
        return turn === 1 ? paying(5) : { text: "End." };
      },
      { tools: { pay } },
    );
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    expect(schemas[0]).toMatchObject({ inputSchema: { properties: { amount: {} }, required: ["amount"] } });
    expect(JSON.stringify(schemas)).not.toContain("idempotencyKey");
    expect(JSON.stringify(prompts)).not.toContain("idempotencyKey");
    expect(JSON.stringify(await store.readHistory("r-1", "worker"))).not.toContain("idempotencyKey");
  });

  it("cannot be filled by the model: its value is replaced and does not make another call", async () => {
    const store = await memoryStore();
    const { pay, paid } = payTool();
    const forged = { name: "pay", input: { amount: 5, idempotencyKey: "f".repeat(64) } };
    const { agent } = scriptedAgent([paying(5), { toolCalls: [forged] }, { text: "End." }], {
      tools: { pay },
    });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    const calls = await store.listToolCalls("r-1");
    expect(paid.map(({ input }) => input)).toEqual(
      calls.map(({ idempotencyKey }) => ({ amount: 5, idempotencyKey })),
    );
    expect(calls.map((call) => call.occurrence)).toEqual([1, 2]);
  });

  it("is mandatory for a tool that requires the key: without one the run is refused before the model is asked", async () => {
    const store = await memoryStore();
    const pay = tool({
      description: "Pays.",
      inputSchema: z.object({ amount: z.number() }),
      requiresIdempotencyKey: true,
      execute: () => "paid",
    });
    const { agent, prompts } = scriptedAgent([paying(5)], { tools: { pay } });
    expect(await failureOf(new Runner(agent, { store }).run("Go"))).toBeInstanceOf(ConfigurationError);
    expect(prompts).toHaveLength(0);
  });
});

describe("the idempotency key", () => {
  it("differs for other arguments, for a wanted repeat, for another step and for another run", async () => {
    const store = await memoryStore();
    const { pay, paid } = payTool();
    const { agent } = scriptedAgent([paying(5, 5, 6), paying(5), { text: "End." }], { tools: { pay } });
    const pipeline = Pipeline.of("both", Step.granular("first", agent), Step.granular("second", agent));
    await new Runner(pipeline, { store }).run("Go", { runId: "r-1" });
    await new Runner(pipeline, { store }).run("Go", { runId: "r-2" });
    expect(paid).toHaveLength(16);
    expect(new Set(paid.map(({ key }) => key)).size).toBe(16);
    const calls = await store.listToolCalls("r-1");
    expect(calls.slice(0, 4).map(({ occurrence }) => occurrence)).toEqual([1, 2, 1, 3]);
  });

  it("does not depend on the order of the arguments", async () => {
    const store = await memoryStore();
    const keys: string[] = [];
    const pair = tool({
      description: "Takes two.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: (_input, call) => keys.push(call.idempotencyKey),
    });
    const of = (input: object) =>
      scriptedAgent([{ toolCalls: [{ name: "pair", input }] }, { text: "End." }], { tools: { pair } }).agent;
    await new Runner(of({ a: 1, b: 2 }), { store }).run("Go", { runId: "r-1" });
    const other = await memoryStore();
    await new Runner(of({ b: 2, a: 1 }), { store: other }).run("Go", { runId: "r-1" });
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe(keys[1]);
  });

  it("depends only on what `identity` picks from the arguments", async () => {
    const store = await memoryStore();
    const mail = tool({
      description: "Sends.",
      inputSchema: z.object({ to: z.string(), body: z.string() }),
      identity: ({ to }) => ({ to }),
      execute: () => "sent",
    });
    const sending = (to: string, body: string) => ({ toolCalls: [{ name: "mail", input: { to, body } }] });
    const script = [sending("ann", "Hi"), sending("ann", "Hello"), sending("bob", "Hi"), { text: "End." }];
    const { agent } = scriptedAgent(script, { tools: { mail } });
    await new Runner(agent, { store }).run("Go", { runId: "r-1" });
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ occurrence }) => occurrence)).toEqual([1, 2, 1]);
  });

  it("is the same when another process replays the turn", async () => {
    const file = databaseFile();
    const keys: string[] = [];
    let crash = true;
    const script = [noting("one"), noting("one"), { text: "End." }];
    const run = async () => {
      const store = await fileStore(file);
      const { note } = noteTool(
        (_text, call) => {
          keys.push(`${call.turnIndex}.${call.attempt} ${call.idempotencyKey}`);
        },
        { recovery: "keyed" },
      );
      const { agent, prompts } = scriptedAgent(script, { tools: { note } });
      // The second call is stopped after its effect and before its receipt.
      const probe: CrashProbe = (point, { turnIndex }) => {
        if (crash && point === "tool:executed" && turnIndex === 2) throw new Error("The process crashed.");
      };
      return { store, prompts, runner: new Runner(agent, { store, probe }) };
    };
    const first = await run();
    await failureOf(first.runner.run("Go", { runId: "r-1" }));
    await first.store.close();
    crash = false;
    const second = await run();
    expect((await second.runner.resume("r-1")).output).toBe("End.");

    expect(second.prompts).toHaveLength(1);
    expect(keys.map((line) => line.slice(0, 3))).toEqual(["1.1", "2.1", "2.2"]);
    expect(keys[2]?.slice(4)).toBe(keys[1]?.slice(4));
    expect(keys[1]?.slice(4)).not.toBe(keys[0]?.slice(4));
  });

  it("is accompanied by the turn key that the requirements define", async () => {
    const store = await memoryStore();
    const { note, calls } = noteTool();
    const { agent } = scriptedAgent([noting("one"), noting("two"), { text: "End." }], { tools: { note } });
    await new Runner(Step.granular("work", agent), { store }).run("Go", { runId: "r-1" });
    expect(calls.map((call) => call.turnKey)).toEqual([turnKey("r-1", "work", 1), turnKey("r-1", "work", 2)]);
  });
});

describe("enforceIdempotency", () => {
  it("allows tools without a key that only read or may be repeated", async () => {
    const store = await memoryStore();
    const reading = noteTool(undefined, { effect: "read_only" });
    const repeating = noteTool(undefined, { recovery: "repeat" });
    for (const { note, done } of [reading, repeating]) {
      const { agent } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
      const step = Step.granular("work", agent, { enforceIdempotency: true });
      await new Runner(step, { store }).run("Go");
      expect(done).toEqual(["one"]);
    }
  });

  it("refuses a keyed tool without a key parameter when the pipeline is built", () => {
    const { note } = noteTool(undefined, { recovery: "keyed" });
    const { agent } = scriptedAgent([], { tools: { note } });
    expect(() => Step.granular("work", agent, { enforceIdempotency: true })).toThrow(
      /requiresIdempotencyKey/,
    );
  });
});

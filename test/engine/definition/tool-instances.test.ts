// A tool may be an instance of a class: methods and getters count, and have their `this`. Options that are undefined are not given.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agent,
  Pipeline,
  Runner,
  Step,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { failureOf, memoryStore, must, scriptedAgent } from "../run-fixture.ts";

class Bank {
  readonly paid: string[] = [];
  readonly lookedUp: string[] = [];
}

type Order = { readonly order: string; readonly note?: string | undefined };

/** Everything but the fields is inherited. */
class Payment {
  readonly description = "Pays an order.";
  readonly inputSchema = z.object({ order: z.string(), note: z.string().optional() });
  readonly bank: Bank;
  constructor(bank: Bank) {
    this.bank = bank;
  }
  get recovery() {
    return "reconcile" as const;
  }
  get effect() {
    return "external" as const;
  }
  identity({ order }: Order) {
    return { order, of: this.bank.constructor.name };
  }
  approval({ order }: Order) {
    return order === "large" && this.bank.paid.length === 0;
  }
  urls() {
    return [`https://bank.example/${this.bank.paid.length}`];
  }
  execute({ order }: Order) {
    this.bank.paid.push(order);
    return `paid ${order}`;
  }
  reconcile(_: Order, call: ToolCallContext) {
    this.bank.lookedUp.push(call.toolCallId);
    return { status: "done", result: "found" } as const;
  }
}

const paying = (...orders: readonly string[]) =>
  scriptedModel([
    ...orders.map((order) => ({ toolCalls: [{ name: "pay", input: { order } }] })),
    { text: "End." },
  ]);

describe("a tool that is an instance of a class", () => {
  it("keeps its reconcile function, which looks a call in doubt up", async () => {
    const store = await memoryStore();
    const bank = new Bank();
    const pay: Tool = tool(new Payment(bank));
    expect([pay.recovery, pay.effect]).toEqual(["reconcile", "external"]);
    const clerk = agent({ name: "clerk", model: paying("a"), tools: { pay } });
    const dying = new Runner(clerk, { store, probe: crashAt("tool:executed") });
    await failureOf(dying.run("Go", { runId: "r-1" }));
    await store.claimRun("r-1", { leaseMs: 0, from: ["failed"] });
    await new Runner(clerk, { store }).run("Go", { runId: "r-1", wait: true });
    expect(bank.paid).toEqual(["a"]);
    const [call] = await store.listToolCalls("r-1");
    expect([bank.lookedUp, must(call).receipt?.source]).toEqual([[must(call).toolCallId], "reconciled"]);
  });

  it("is asked for its identity, approval and urls, as methods", async () => {
    const store = await memoryStore();
    const bank = new Bank();
    const pay = tool(new Payment(bank));
    const clerk = agent({ name: "clerk", model: paying("large"), tools: { pay } });
    expect((await new Runner(clerk, { store }).run("Go")).waits).toHaveLength(1);
    const twice = agent({ name: "clerk", model: paying("b", "b"), tools: { pay } });
    const { runId } = await new Runner(twice, { store }).run("Go again");
    const calls = await store.listToolCalls(runId);
    expect(calls.map(({ status }) => status)).toEqual(["succeeded", "deduplicated"]);
    const constraints = { allowedDomains: ["other.example"] };
    const refused = agent({ name: "clerk", model: paying("c"), tools: { pay } });
    const other = await new Runner(refused, { store, constraints }).run("And again");
    const [call] = await store.listToolCalls(other.runId);
    expect(call?.receipt?.errorCode).toBe("network_refused");
    expect(bank.paid).toEqual(["b"]);
  });

  it("has no fields of the instance", () => {
    expect(tool(new Payment(new Bank()))).not.toHaveProperty("bank");
  });
});

describe("an option that is undefined", () => {
  const missing = undefined as never;

  it("of Step.granular counts as not given", async () => {
    const { agent: clerk } = scriptedAgent([{ text: "End." }]);
    const options = {
      input: missing,
      historyMaxTokens: missing,
      maxResultTokens: missing,
      blobThresholdBytes: missing,
      enforceIdempotency: missing,
      completion: missing,
      degradedReplay: missing,
      maxTurns: missing,
      phase: missing,
    };
    expect(Step.granular("work", clerk, options)).toEqual(Step.granular("work", clerk));
    const steps = Pipeline.of("p", Step.granular("work", clerk, options));
    expect((await new Runner(steps, { store: await memoryStore() }).run("Go")).output).toBe("End.");
  });

  it("of the other steps, of a tool and of an agent's settings counts as not given", () => {
    const code = () => 1;
    expect(Step.run("a", code, { phase: missing })).toEqual(Step.run("a", code));
    expect(Object.keys(Step.human("a", { question: "Go?", choices: missing, phase: missing }))).toEqual(
      Object.keys(Step.human("a", { question: "Go?" })),
    );
    const definition: ToolDefinition<unknown, unknown> = {
      description: "Reads.",
      inputSchema: z.object({}),
      execute: () => 1,
      timeoutMs: missing,
      approval: missing,
      identity: missing,
    };
    expect(tool(definition)).toMatchObject({ timeoutMs: 600_000, approval: false, identity: null });
    const settings = { maxOutputTokens: missing };
    const clerk = agent({ name: "clerk", model: paying(), maxOutputTokens: 77, settings });
    expect(clerk.settings.maxOutputTokens).toBe(77);
  });
});

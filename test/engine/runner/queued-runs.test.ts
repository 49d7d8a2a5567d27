import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  type Json,
  Pipeline,
  ResumeError,
  RunDeletedError,
  Runner,
  runContext,
  Step,
  tool,
} from "../../../src/index.ts";
import { memoryStore } from "../run-fixture.ts";

const doubling = Pipeline.of(
  "doubling",
  Step.run("double", (n: number) => n * 2),
);

describe("enqueue", () => {
  it("is the same run for the same key, and refuses other input for it", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const first = await runner.enqueue(1, { key: "a" });
    expect(await runner.enqueue(1, { key: "a" })).toEqual({ runId: first.runId, existed: true });
    await expect(runner.enqueue(2, { key: "a" })).rejects.toThrow(ResumeError);
    expect(first.existed).toBe(false);
  });

  it("stores how the run is found, and what its tools get", async () => {
    const store = await memoryStore();
    const metadata = { tenant: "acme", tags: ["new"] };
    const place = { queue: "mail", concurrencyKey: "ann", priority: 2 };
    const { runId } = await new Runner(doubling, { store }).enqueue(1, {
      ...place,
      metadata,
      context: { customer: 7 },
      startedBy: { by: "ann" },
    });
    expect(await store.getRun(runId)).toMatchObject({ ...place, metadata, startedBy: { name: "ann" } });
    expect((await store.readRunInput(runId)).callContext).toEqual({ customer: 7 });
  });

  it("refuses what it cannot store, in a sentence, and stores nothing", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    for (const options of [
      { delay: 5 },
      { notBefore: 5 },
      { notBefore: new Date(Number.NaN) },
      { runId: "a", key: "b" },
      { queue: "" },
    ])
      await expect(runner.enqueue(1, options as object)).rejects.toThrow(ConfigurationError);
    expect(await store.listRuns()).toEqual([]);
  });
});

describe("advance", () => {
  it("completes one step at a time, and says what is next", async () => {
    const store = await memoryStore();
    const three = Pipeline.of(
      "three",
      Step.run("a", () => 1),
      Step.human("b", { question: "Go on?" }),
      Step.run("c", () => 3),
    );
    const runner = new Runner(three, { store });
    const { runId } = await runner.enqueue(null);
    expect(await runner.advance(runId)).toEqual({ next: "now" });
    expect(await runner.advance(runId)).toEqual({ next: "wait" });
    expect(await runner.advance(runId)).toEqual({ next: "wait" });
    await store.answer(`${runId}~1`, "yes");
    expect(await runner.advance(runId, { turns: 5 })).toEqual({ next: "ended", status: "succeeded" });
    expect(await runner.advance(runId)).toEqual({ next: "ended", status: "succeeded" });
  });

  it("reports a run that failed as ended", async () => {
    const store = await memoryStore();
    const failing = Pipeline.of(
      "failing",
      Step.run("break", () => {
        throw new Error("It broke.");
      }),
    );
    const runner = new Runner(failing, { store });
    const { runId } = await runner.enqueue(null);
    expect(await runner.advance(runId)).toEqual({ next: "ended", status: "failed" });
  });

  it("says that a run was deleted", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const { runId } = await runner.run(1);
    await store.deleteRun(runId, { why: "It is old." });
    await expect(runner.advance(runId)).rejects.toThrow(RunDeletedError);
    await expect(runner.forecast(runId)).rejects.toThrow(/was deleted at .*It is old/);
    await expect(runner.fork(runId, { atTurn: 1 })).rejects.toThrow(RunDeletedError);
    await expect(runner.advance("never-there")).rejects.toThrow(/There is no run never-there/);
  });

  it("leaves a run to the worker that has it, and one that sleeps to its time", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const at = Date.now() + 60_000;
    const { runId } = await runner.enqueue(1, { notBefore: new Date(at) });
    expect(await runner.advance(runId)).toEqual({ next: "at", at });
    const held = await runner.enqueue(2);
    await store.claimRun(held.runId, { leaseMs: 30_000, from: ["queued"] });
    expect(await runner.advance(held.runId)).toMatchObject({ next: "at" });
  });
});

describe("send", () => {
  it("reaches a run by its id or its address, once", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const { runId } = await runner.enqueue(1, { address: "invoice:7" });
    const paid = { event: "payment.confirmed", data: { amount: 7 } };
    const sent = await runner.send(runId, paid, { id: "m-1", by: "bank" });
    expect(sent).toEqual({
      runId,
      messageId: "m-1",
      duplicate: false,
      started: false,
      status: "waiting",
      reason: null,
    });
    const again = await runner.send({ address: "invoice:7" }, paid, { id: "m-1", by: "bank" });
    expect([again.runId, again.duplicate]).toEqual([runId, true]);
    expect(await runner.unsend(runId, "m-1")).toBe("withdrawn");
    const [stored] = await store.listMessages(runId);
    expect(stored).toMatchObject({ event: "payment.confirmed", body: { amount: 7 }, sentBy: "bank" });
  });

  it("starts a run for an address that nobody has, once", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const to = { address: "invoice:8" };
    await expect(runner.send(to, { event: "paid" })).rejects.toMatchObject({ code: "message_refused" });
    const both = await Promise.all(
      ["m-1", "m-2"].map((id) => runner.send(to, { event: "paid" }, { id, orStart: { input: 1 } })),
    );
    expect(new Set(both.map(({ runId }) => runId)).size).toBe(1);
    expect(both.filter(({ started: isStarted }) => isStarted)).toHaveLength(1);
    expect(await store.listRuns()).toHaveLength(1);
  });

  it("returns a text to a run that is no conversation", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const { runId } = await runner.enqueue(1);
    expect(await runner.send(runId, "Hello?")).toMatchObject({
      status: "returned",
      reason: "no_conversation",
    });
  });

  it("refuses what is no message, in a sentence", async () => {
    const store = await memoryStore();
    const runner = new Runner(doubling, { store });
    const { runId } = await runner.enqueue(1);
    for (const message of [7, null, {}, { event: 7 }, { event: "paid", amount: 7 }, { event: "no blanks" }])
      await expect(runner.send(runId, message as never)).rejects.toThrow(ConfigurationError);
    await expect(runner.send({} as never, { event: "paid" })).rejects.toThrow(ConfigurationError);
  });
});

describe("what a caller says about a run", () => {
  const greet = tool({
    name: "greet",
    description: "Greets the customer.",
    inputSchema: z.object({}),
    effect: "read_only",
    execute: (_, call) => {
      const { name } = customer(call);
      return { greeting: `Hello ${name}.`, tenant: call.run.metadata.tenant ?? null };
    },
  });
  const customer = runContext(z.object({ name: z.string() }));
  const greeting = Pipeline.of(
    "greeting",
    Step.run("greet", (_: Json, ctx) => ctx.call(greet, {})),
  );

  it("reaches its tools, with a type, and stays as it is after a crash", async () => {
    const store = await memoryStore();
    const runner = new Runner(greeting, { store });
    const place = { metadata: { tenant: "acme" }, context: { name: "Ann" } };
    const { output } = await runner.run(null, place);
    expect(output).toEqual({ greeting: "Hello Ann.", tenant: "acme" });
    const { runId } = await runner.enqueue(null, place);
    expect(await runner.advance(runId, { turns: 9 })).toEqual({ next: "ended", status: "succeeded" });
    expect((await store.getRun(runId))?.output).toEqual({ greeting: "Hello Ann.", tenant: "acme" });
  });

  it("fails a call that needs something else, in a sentence", async () => {
    const store = await memoryStore();
    const run = new Runner(greeting, { store }).run(null, { context: { nom: "Ann" } });
    await expect(run).rejects.toThrow(/The context of run .* does not fit \(name: .*\)/);
  });

  it("cannot be changed by a tool", async () => {
    const store = await memoryStore();
    const change = tool({
      name: "change",
      description: "Changes.",
      inputSchema: z.object({}),
      effect: "read_only",
      execute: (_, call) => {
        (call.run.context as { name: string }).name = "Bob";
        return null;
      },
    });
    const changing = Pipeline.of(
      "changing",
      Step.run("change", (_: Json, ctx) => ctx.call(change, {})),
    );
    const run = new Runner(changing, { store }).run(null, { context: { name: "Ann" } });
    await expect(run).rejects.toThrow(/read only|not extensible|Cannot assign/);
  });
});

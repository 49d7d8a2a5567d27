// Resumes that a person has requested through the store, and that workers do.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Runner, type Store, Worker } from "../../../src/index.ts";
import { failureOf, memoryStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

/** A run that has failed after its first turn, since its model has no answer, and an agent with a better prompt. */
async function failed() {
  const store = await memoryStore();
  const { note, done } = noteTool();
  const make = (instructions: string, ...answers: readonly string[]) =>
    scriptedAgent([noting("one"), ...answers.map((text) => ({ text }))], { tools: { note }, instructions });
  const old = make("You work.");
  await failureOf(new Runner(old.agent, { store, maxModelAttempts: 1 }).run("Go", { runId: "r-1" }));
  expect((await store.getRun("r-1"))?.status).toBe("failed");
  return { store, done, next: make("You work well.", "The end."), other: make("You sing.", "La.") };
}

async function ends(store: Store): Promise<void> {
  await vi.waitFor(async () => expect((await store.getRun("r-1"))?.status).toBe("succeeded"), {
    timeout: 5_000,
    interval: 10,
  });
}

async function eventsOf(store: Store, type: string): Promise<unknown[]> {
  return (await store.listEvents("r-1")).filter((event) => event.type === type).map(({ data }) => data);
}

describe("a requested resume", () => {
  it("is done by a worker, with the options of the person", async () => {
    const { store, done, next } = await failed();
    const end = new AbortController();
    const worker = new Worker({ store, pipelines: { worker: next.agent }, sweepMs: 60_000 });
    const ended = worker.run(end.signal);
    onTestFinished(async () => {
      end.abort();
      await ended;
    });

    const request = {
      acceptDivergence: "A better prompt.",
      budget: { tokens: 100_000 },
      reason: "Try again.",
    };
    const outcome = await store.requestResume("r-1", request, { by: "Ann" });

    expect(outcome.kind).toBe("requested");
    await ends(store);
    expect(done).toEqual(["one"]);
    const run = await store.getRun("r-1");
    expect([run?.output, run?.limit.tokens, run?.resumeRequest]).toEqual(["The end.", 100_000, null]);
    expect(await eventsOf(store, "divergence.accepted")).toMatchObject([{ why: "A better prompt." }]);
    expect((await store.listAttempts("r-1")).at(-1)?.reason).toBe("Try again.");
  });

  it("accepts the change that the run failed with, and no other one", async () => {
    const { store, next, other } = await failed();
    const [worker, stranger] = [next, other].map(({ agent }) => new Runner(agent, { store }));
    const request = { acceptDivergence: "A better prompt." };
    const refused = { next: "ended", status: "failed" };
    await store.requestResume("r-1", {});
    expect(await must(worker).advance("r-1", { turns: 9 })).toEqual(refused);
    await store.requestResume("r-1", request);
    expect(await must(stranger).advance("r-1", { turns: 9 })).toEqual(refused);
    expect(other.prompts).toEqual([]);
    // The person sees the other change now, and accepts the one of the first worker nevertheless.
    const { accepts } = await must(worker).forecast("r-1", request);
    await store.requestResume("r-1", { ...request, changesHash: must(accepts).changesHash });
    expect(await must(worker).advance("r-1", { turns: 9 })).toEqual({ next: "ended", status: "succeeded" });
    expect(await eventsOf(store, "divergence.accepted")).toHaveLength(1);
  });

  it("is done by advance, from the beginning of the step", async () => {
    const { store, done, next } = await failed();
    await store.requestResume("r-1", { from: "beginning" }, { by: "Ann" });
    const runner = new Runner(next.agent, { store });
    expect(await runner.advance("r-1", { turns: 9 })).toEqual({ next: "ended", status: "succeeded" });
    expect(await eventsOf(store, "lineage.begun")).toHaveLength(1);
    // The same call of the new lineage reuses the receipt.
    expect(done).toEqual(["one"]);
  });

  it("is done by a call that continues the run", async () => {
    const { store, next } = await failed();
    await store.requestResume("r-1", { from: "beginning" });
    const result = await new Runner(next.agent, { store }).run("Go", { runId: "r-1" });
    expect(result.status).toBe("succeeded");
    expect(await eventsOf(store, "lineage.begun")).toHaveLength(1);
  });

  it("gives way to a resume in a process", async () => {
    const { store, next } = await failed();
    await store.requestResume("r-1", { from: "beginning" });
    const result = await new Runner(next.agent, { store }).resume("r-1", { acceptDivergence: "It is fine." });
    expect(result.status).toBe("succeeded");
    expect(await eventsOf(store, "lineage.begun")).toEqual([]);
    expect((await eventsOf(store, "run.claimed")).at(-1)).toMatchObject({ replacesRequest: true });
  });
});

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  Pipeline,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { temporaryFolder } from "../job-fixture.ts";
import { memoryStore } from "../run-fixture.ts";

const BUDGETS = { maxSteps: 9, maxTokens: 500 };

const echo = Pipeline.of(
  "echo",
  Step.run("say", (text: string) => text),
  Step.human("ask", { question: "Is it right?" }),
);

function runnerOf(store: Store, budgets: RunnerOptions["budgets"] = BUDGETS) {
  return new Runner(echo, {
    store,
    workspaceRoot: temporaryFolder(),
    ...(budgets === undefined ? {} : { budgets }),
  });
}

async function contractOf(store: Store, runId: string) {
  const run = await store.getRun(runId);
  return { spec: run?.spec, budgets: run?.budgets, limit: run?.limit.tokens };
}

describe("the budgets of a runner", () => {
  it("are the same for a run that is run at once, enqueued, or started by a message", async () => {
    const store = await memoryStore();
    const runner = runnerOf(store);
    await runner.run("Hello", { runId: "at-once" });
    await runner.enqueue("Hello", { runId: "queued" });
    const sent = await runner.send({ address: "a" }, { event: "e" }, { orStart: { input: "Hello" } });
    await runner.send("by-id", { event: "e" }, { orStart: { input: "Hello" } });
    const atOnce = await contractOf(store, "at-once");
    expect(atOnce).toMatchObject({
      spec: { objective: "Hello", pipeline: "echo", budgets: { ...BUDGETS, maxToolCalls: null } },
      budgets: BUDGETS,
      limit: 500,
    });
    for (const runId of ["queued", sent.runId, "by-id"])
      expect(await contractOf(store, runId)).toEqual(atOnce);
  });

  it("complete those of a RunSpec, which come first", async () => {
    const store = await memoryStore();
    const spec = { objective: "Say it", budgets: { maxSteps: 3 } };
    await runnerOf(store).enqueue("Hello", { runId: "a", spec });
    expect((await contractOf(store, "a")).spec).toMatchObject({
      objective: "Say it",
      budgets: { maxSteps: 3, maxTokens: 500 },
    });
  });

  it("do not make another run of one that was started with others, or with none", async () => {
    const store = await memoryStore();
    await new Runner(echo, { store }).enqueue("Hello", { key: "k" });
    await runnerOf(store, { maxSteps: 4 }).enqueue("Hi", { key: "l" });
    expect(await runnerOf(store).enqueue("Hello", { key: "k" })).toMatchObject({ existed: true });
    const { runId, existed } = await runnerOf(store).enqueue("Hi", { key: "l" });
    expect(existed).toBe(true);
    expect((await runnerOf(store).run("Hi", { key: "l" })).runId).toBe(runId);
    expect((await contractOf(store, runId)).budgets).toMatchObject({ maxSteps: 4, maxTokens: null });
    // Without a name, the unfinished run of the same input is found as well.
    await expect(runnerOf(store).run("Hi")).rejects.toThrow(`run ${runId} of the same input`);
  });

  it("are refused if they are none", async () => {
    const store = await memoryStore();
    expect(() => runnerOf(store, { maxSteps: 0 })).toThrow(ConfigurationError);
    expect(() => runnerOf(store, { steps: 1 } as object)).toThrow(/budgets/);
  });
});

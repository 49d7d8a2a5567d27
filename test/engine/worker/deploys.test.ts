// Runs in flight when the code of their agents changes: what a worker of the new version does with them.

import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  agent,
  type DivergencePolicy,
  Pipeline,
  Runner,
  Step,
  type Store,
  Worker,
  type WorkerNotice,
  type WorkerOptions,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { memoryStore } from "../run-fixture.ts";

/** An agent that asks a person in its first turn, so that its runs are in flight. */
function clerk(instructions: string) {
  return agent({
    name: "clerk",
    instructions,
    model: scriptedModel(({ turn }) => (turn === 1 ? { text: "First." } : { text: "DONE, really." })),
  });
}

const pipelineOf = (instructions: string) =>
  Pipeline.of(
    "desk",
    Step.granular("work", clerk(instructions), { completion: ({ text }) => text.includes("DONE") }),
  );

/** A run whose first turn is committed by the old version. */
async function inFlight(store: Store): Promise<string> {
  const old = pipelineOf("Be kind.");
  const runner = new Runner(old, { store });
  const { runId } = await runner.enqueue("Hello");
  expect(await runner.advance(runId)).toEqual({ next: "now" });
  return runId;
}

function deployed(store: Store, over: Partial<WorkerOptions> = {}) {
  const notices: WorkerNotice[] = [];
  const end = new AbortController();
  const pipelines = { desk: pipelineOf("Be brief.") };
  const onNotice = (notice: WorkerNotice) => notices.push(notice);
  const ended = new Worker({ store, pipelines, sweepMs: 50, onNotice, ...over }).run(end.signal);
  onTestFinished(() => {
    end.abort();
    return ended;
  });
  return notices;
}

async function reaches(store: Store, runId: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect((await store.getRun(runId))?.status).toBe(status), { timeout: 5_000 });
}

describe("a run whose agent has changed", () => {
  it("waits for a person by default, who accepts the change", async () => {
    const store = await memoryStore();
    const runId = await inFlight(store);
    deployed(store);
    await reaches(store, runId, "waiting");
    const [wait] = await store.listOpenWaits();
    expect(wait).toMatchObject({ kind: "escalation", toolCallId: null });
    expect(wait?.question).toMatch(/Be kind.*Be brief|instructions|prompt/s);
    await store.answer(`${runId}~1`, "accept", { by: "Ann" });
    await reaches(store, runId, "succeeded");
    const events = await store.listEvents(runId);
    expect(events.find(({ type }) => type === "divergence.accepted")?.data).toMatchObject({
      why: "Ann accepted the change.",
    });
  });

  it("waits again if the change was not undone, and continues if it was", async () => {
    const store = await memoryStore();
    const runId = await inFlight(store);
    deployed(store);
    await reaches(store, runId, "waiting");
    await store.answer(`${runId}~1`, "it is undone");
    await vi.waitFor(async () => expect((await store.listOpenWaits())[0]?.waitId).toBe(`${runId}~2`), {
      timeout: 5_000,
    });
    const old = new Runner(pipelineOf("Be kind."), { store });
    expect(await old.resume(runId)).toMatchObject({ status: "succeeded" });
  });

  it.each([
    ["accept", "divergence.accepted"],
    ["milestone", "lineage.begun"],
  ] as const)("continues by itself if the policy is to %s", async (policy, type) => {
    const store = await memoryStore();
    const runId = await inFlight(store);
    deployed(store, { onDivergence: { desk: policy } });
    await reaches(store, runId, "succeeded");
    expect((await store.listEvents(runId)).map((event) => event.type)).toContain(type);
  });

  it("fails if the policy is to fail, and a function decides by what has changed", async () => {
    const store = await memoryStore();
    const runId = await inFlight(store);
    const seen: unknown[] = [];
    const policy: DivergencePolicy = ({ step, changes }) => {
      seen.push(step, changes.length > 0);
      return "fail";
    };
    deployed(store, { onDivergence: policy });
    await reaches(store, runId, "failed");
    expect(seen).toEqual(["work", true]);
  });

  it("is left to workers of its version for a while, if that is asked for", async () => {
    const store = await memoryStore();
    const asking = Pipeline.of("asking", Step.human("ask", { question: "Go on?" }));
    const { runId } = await new Runner(asking, { store }).enqueue(null);
    const first = new AbortController();
    const v1 = new Worker({ store, pipelines: { asking }, version: "v1", sweepMs: 20 }).run(first.signal);
    await reaches(store, runId, "waiting");
    first.abort();
    await v1;
    await store.answer(`${runId}~1`, "yes");
    const answeredAt = Date.now();
    const second = new AbortController();
    const v2 = new Worker({
      store,
      pipelines: { asking },
      version: "v2",
      versionGraceMs: 300,
      sweepMs: 20,
    }).run(second.signal);
    await reaches(store, runId, "succeeded");
    expect(Date.now() - answeredAt).toBeGreaterThanOrEqual(300);
    second.abort();
    await v2;
  });
});

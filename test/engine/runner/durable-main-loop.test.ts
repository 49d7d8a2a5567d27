// A worker with a lasting identity: it resumes its incomplete request from its last milestone, and does nothing
// twice.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type CheckpointStore,
  CheckpointTrigger,
  ConfigurationError,
  DurableMainLoop,
  type DurableMainLoopOptions,
  markdown,
  NotJsonError,
  PawlError,
  Pipeline,
  promptTemplate,
  QuotaExceededError,
  Step,
  StepFailedError,
  type Store,
} from "../../../src/index.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";
import { loudly, said, saying, sayTool, stopsBefore, storedSlice, words } from "../session-fixture.ts";
import { BOTH_STORES, saidIn, speakingLoop, TO_SAY } from "./main-loop-fixture.ts";

async function runsOf(store: Store): Promise<string[]> {
  return (await store.listRuns()).map(({ runId, status }) => `${runId} ${status}`);
}

describe.each(BOTH_STORES)("with its checkpoints %s, a worker", (_, keeper) => {
  async function begin(options: Partial<DurableMainLoopOptions> = {}) {
    const store = await memoryStore();
    const open = keeper(store);
    const all = sayTool();
    const make = (more: Parameters<typeof speakingLoop>[3] = {}) =>
      speakingLoop(store, open(), all.say, { ...options, ...more });
    return { store, open, ...all, make };
  }

  it("executes a request, and is completed", async () => {
    const { store, open, spoken, make } = await begin();
    const checkpoints = open();
    const result = await make().loop.execute({ topic: "words" });
    expect(result).toMatchObject({ status: "succeeded", output: "All is said.", resumed: false });
    expect(result.request).toEqual({ topic: "words" });
    expect(spoken).toEqual([...TO_SAY]);
    expect([await checkpoints.isCompleted(), await checkpoints.hasIncomplete()]).toEqual([true, false]);
    expect(await runsOf(store)).toEqual([`${result.runId} succeeded`]);
    expect((await store.getRun(result.runId))?.entrypoint).toBe(`worker:${checkpoints.worker}`);
  });

  it("starts a new run for the same request once the last is completed", async () => {
    const { store, spoken, make } = await begin();
    const first = await make().loop.execute("Go");
    const second = await make().loop.execute("Go");
    expect(second.runId).not.toBe(first.runId);
    expect(spoken).toEqual([...TO_SAY, ...TO_SAY]);
    expect(await runsOf(store)).toHaveLength(2);
  });

  it("stores its request before anything is done, and throws what went wrong", async () => {
    const { open, make } = await begin();
    const dying = make({ probe: stopsBefore(1) });
    const error = await failureAs(StepFailedError, dying.loop.execute({ topic: "a" }));
    expect(error.message).toMatch(/The process crashed/);
    expect(await open().loadRequest()).toMatchObject({
      runId: error.runId,
      request: { topic: "a" },
      deadline: null,
    });
    expect([await open().isCompleted(), await open().hasIncomplete()]).toEqual([false, false]);
  });

  it("resumes its incomplete request from its last milestone", async () => {
    const { store, open, spoken, make } = await begin();
    const dying = make({ probe: stopsBefore(3) });
    const { runId } = await failureAs(StepFailedError, dying.loop.execute({ topic: "first" }));
    expect(await open().hasIncomplete()).toBe(true);
    const { loop, prompts, warnings } = make();
    const result = await loop.execute({ topic: "second" });
    expect([result.runId, result.request, result.resumed]).toEqual([runId, { topic: "first" }, true]);
    expect(warnings).toEqual([
      expect.stringMatching(
        /resumes the request that it has not completed \(run .+\); the one given now was not begun/,
      ),
    ]);
    expect(prompts.map(saidIn)).toEqual([["one!", "two!"], [...TO_SAY]]);
    expect(prompts[0]?.filter(({ role }) => role !== "system")).toHaveLength(1);
    expect(spoken).toEqual([...TO_SAY]);
    expect(await store.listAttempts(result.runId)).toMatchObject([{}, { resumedFrom: "milestone" }]);
    expect((await store.verify(result.runId)).problems).toEqual([]);
  });

  it("emits no warning if it is given the request that it resumes", async () => {
    const { make } = await begin();
    await failureAs(StepFailedError, make({ probe: stopsBefore(2) }).loop.execute({ a: 1, b: 2 }));
    const { loop, warnings } = make();
    await loop.execute({ b: 2, a: 1 });
    expect(warnings).toEqual([]);
  });

  it("resumes with another prompt and model, which a resume by turn would refuse", async () => {
    const { spoken, make } = await begin();
    await failureAs(StepFailedError, make({ probe: stopsBefore(3) }).loop.execute("Go"));
    const { loop, prompts } = make({ title: "What was said", modelId: "m-2" });
    expect((await loop.execute("Go")).output).toBe("All is said.");
    expect(JSON.stringify(prompts[0]?.[0])).toContain("## What was said");
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("that dies before its first checkpoint starts over with the same request and run, and reuses receipts", async () => {
    const checkpointTrigger = new CheckpointTrigger({ eventTypes: ["Never"] });
    const { store, spoken, make } = await begin({ checkpointTrigger });
    const { runId } = await failureAs(StepFailedError, make({ probe: stopsBefore(3) }).loop.execute("Go"));
    expect([spoken, await store.listCheckpoints(must(runId))]).toEqual([["one!", "two!"], []]);
    const { loop, prompts } = make();
    expect(await loop.execute("Go")).toMatchObject({ runId, status: "succeeded" });
    expect(prompts.map((prompt) => saidIn(prompt).length)).toEqual([0, 1, 2, 3]);
    expect([spoken, await storedSlice(store, "words", must(runId))]).toEqual([[...TO_SAY], [...TO_SAY]]);
  });

  it("that dies between its request and its run creates the run under the stored id", async () => {
    const { store, open, make } = await begin();
    const checkpoints = open();
    const release = await checkpoints.acquire();
    await checkpoints.begin({ runId: "kept", request: "Kept", createdAt: 1, deadline: null });
    await release();
    const result = await make().loop.execute("Go");
    expect([result.runId, result.request]).toEqual(["kept", "Kept"]);
    expect(await runsOf(store)).toEqual(["kept succeeded"]);
  });

  it("whose run has ended without being marked as completed returns the result, and does nothing", async () => {
    const { spoken, open, make } = await begin();
    const unmarked: CheckpointStore = open();
    unmarked.markCompleted = () => Promise.reject(new Error("The disk is full."));
    await failureAs(Error, make({ checkpoints: unmarked }).loop.execute("Go"));
    expect(await open().isCompleted()).toBe(false);
    const { loop, prompts } = make();
    expect(await loop.execute("Go")).toMatchObject({ status: "succeeded", output: "All is said." });
    expect([prompts, spoken]).toEqual([[], [...TO_SAY]]);
    expect(await open().isCompleted()).toBe(true);
  });

  it("is cancelled by its signal, is not completed, and resumes", async () => {
    const { spoken, open, make } = await begin();
    const controller = new AbortController();
    const stopping = make({ before: (all) => (all.length === 1 ? controller.abort() : undefined) });
    const { status } = await stopping.loop.execute("Go", { signal: controller.signal });
    expect([status, await open().isCompleted()]).toEqual(["cancelled", false]);
    expect((await make().loop.execute("Go")).status).toBe("succeeded");
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("refuses a request that is no JSON, and starts nothing", async () => {
    const { store, open, make } = await begin();
    await failureAs(NotJsonError, make().loop.execute({ when: new Date() } as never));
    expect([await open().loadRequest(), await runsOf(store)]).toEqual([null, []]);
  });

  it("refuses a request that its prompt cannot be rendered for, and starts nothing", async () => {
    const { store, open } = await begin();
    const parameters = z.object({ topic: z.string() });
    const sections = [markdown({ key: "aim", title: "Aim", template: "About $topic." })];
    const instructions = promptTemplate({ namespace: "t", key: "k", version: 1, parameters, sections });
    const { agent } = scriptedAgent([{ text: "End." }], { instructions });
    const make = () => new DurableMainLoop(agent, { store, checkpoints: open() });
    const error = await failureAs(ConfigurationError, make().execute({ subject: "pawls" }));
    expect(error.message).toMatch(/The parameter topic .+ is missing/);
    expect([await open().loadRequest(), await runsOf(store)]).toEqual([null, []]);
    expect((await make().execute({ topic: "pawls" })).status).toBe("succeeded");
  });

  it("refuses a request with a secret in it, and starts nothing", async () => {
    const { store, open, make } = await begin({ policy: { secretKeys: ["token"] } });
    await failureAs(ConfigurationError, make().loop.execute({ token: "s3cret" }));
    expect([await open().loadRequest(), await runsOf(store)]).toEqual([null, []]);
  });

  it("gives up its incomplete request: the next request starts a new run, and the old run is unchanged", async () => {
    const { store, open, spoken, make } = await begin();
    expect(await make().loop.giveUp()).toBeNull();
    const { runId } = await failureAs(StepFailedError, make({ probe: stopsBefore(2) }).loop.execute("A"));
    expect(await make().loop.giveUp()).toMatchObject({ runId, request: "A" });
    expect([await open().isCompleted(), await make().loop.giveUp()]).toEqual([true, null]);
    const { loop, warnings } = make();
    const next = await loop.execute("B");
    expect([next.runId === runId, next.request, warnings]).toEqual([false, "B", []]);
    expect(spoken).toEqual(["one!", ...TO_SAY]);
    expect(await storedSlice(store, "words", must(runId))).toEqual(["one!"]);
    expect((await store.getRun(must(runId)))?.status).toBe("failed");
  });

  it("keeps to its budget, and resumes with a higher one", async () => {
    const { spoken, make } = await begin();
    const refused = make().loop.execute("Go", { budget: { tokens: 4_200 } });
    const { runId } = await failureAs(QuotaExceededError, refused);
    expect(spoken.length).toBeGreaterThan(0);
    expect(spoken.length).toBeLessThan(TO_SAY.length);
    const result = await make().loop.execute("Go", { budget: { tokens: 1_000_000 } });
    expect([result.runId, result.status, spoken]).toEqual([runId, "succeeded", [...TO_SAY]]);
  });

  it("works on one request at a time", async () => {
    const { spoken, open, make } = await begin();
    const checkpoints = open();
    const second: unknown[] = [];
    const first = make({
      checkpoints,
      before: async (all) => {
        if (all.length !== 1) return;
        second.push(await failureAs(PawlError, make({ checkpoints: open() }).loop.execute("Go")));
      },
    });
    expect((await first.loop.execute("Go")).status).toBe("succeeded");
    expect(second).toMatchObject([{ code: expect.stringMatching(/^(worker|run)_busy$/), recoverable: true }]);
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("of a pipeline resumes in the current step, with all session events of the earlier steps", async () => {
    const store = await memoryStore();
    const open = keeper(store);
    const { say, spoken } = sayTool();
    const pipeline = (...last: string[]) => {
      const agentStep = (name: string, all: readonly string[]) => {
        const script = [...all.map((word) => saying(word)), { text: "End." }];
        return Step.granular(name, scriptedAgent(script, { name, tools: { say } }).agent);
      };
      return Pipeline.of(
        "p",
        agentStep("first", ["a!", "b"]),
        Step.run("code", (_input: string, ctx) => ctx.session.dispatch(said("c"))),
        agentStep("last", last),
      );
    };
    const make = (steps: ReturnType<typeof pipeline>, options: Partial<DurableMainLoopOptions> = {}) =>
      new DurableMainLoop(steps, {
        store,
        checkpoints: open(),
        slices: [words],
        checkpointTrigger: loudly,
        ...options,
      });
    const dying = make(pipeline("d", "e"), { probe: stopsBefore(2, "last") });
    const { runId } = await failureAs(StepFailedError, dying.execute("Go"));
    await make(pipeline("e")).execute("Go");
    expect(await storedSlice(store, "words", must(runId))).toEqual(["a!", "b", "c", "e"]);
    expect(spoken).toEqual(["a!", "b", "d", "e"]);
  });
});

describe.each(BOTH_STORES)("with its checkpoints %s, a worker that waits for a person", (_, keeper) => {
  async function waiting() {
    const store = await memoryStore();
    const open = keeper(store);
    const all = sayTool({ approval: ({ word }) => word === "two!" });
    const make = (more: Parameters<typeof speakingLoop>[3] = {}) =>
      speakingLoop(store, open(), all.say, more);
    const result = await make().loop.execute("Go");
    expect([result.status, result.waits.length, all.spoken]).toEqual(["waiting", 1, ["one!"]]);
    return { store, open, ...all, make, runId: result.runId, waitId: must(result.waits[0]).waitId };
  }

  it("is not completed, and keeps waiting", async () => {
    const { open, make, spoken, runId } = await waiting();
    expect(await open().isCompleted()).toBe(false);
    const again = await make().loop.execute("Go");
    expect([again.runId, again.status, spoken]).toEqual([runId, "waiting", ["one!"]]);
  });

  it("resumes by turn after the answer, which is not lost", async () => {
    const { store, make, spoken, runId, waitId } = await waiting();
    await store.approve(waitId);
    const { loop } = make();
    expect(await loop.execute("Go")).toMatchObject({ runId, status: "succeeded" });
    expect(spoken).toEqual([...TO_SAY]);
    expect(await store.listLineages(runId)).toEqual([]);
    expect((await store.listAttempts(runId)).map(({ resumedFrom }) => resumedFrom)).toEqual([null, "turn"]);
  });

  it("resumes from its milestone if the code changed before the answer was used, and asks again", async () => {
    const { store, make, spoken, runId, waitId } = await waiting();
    await store.approve(waitId);
    const changed = make({ title: "Other" });
    const result = await changed.loop.execute("Go");
    expect([result.runId, result.status, spoken]).toEqual([runId, "waiting", ["one!"]]);
    await store.approve(must(result.waits[0]).waitId);
    expect((await make({ title: "Other" }).loop.execute("Go")).status).toBe("succeeded");
    expect(spoken).toEqual([...TO_SAY]);
  });
});

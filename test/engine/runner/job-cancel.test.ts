// Cancelling a run from outside: through another handle on its store, whichever worker has it and whatever it is
// doing.

import { describe, expect, it } from "vitest";
import {
  AlreadySettledError,
  askHuman,
  NeedsHuman,
  Pipeline,
  RunNotFoundError,
  Runner,
  type RunnerOptions,
  Step,
  type StepNode,
  type Store,
  type ToolCallContext,
} from "../../../src/index.ts";
import { Child } from "../../store/sqlite/child.ts";
import { acting, actTool, asking, crashAt, jumpingClock, openWait } from "../call/call-fixture.ts";
import { callsOf, jobRunner, jobSpec, stepsOf } from "../job-fixture.ts";
import {
  databaseFile,
  failureAs,
  failureOf,
  fileStore,
  memoryStore,
  noteTool,
  noting,
  scriptedAgent,
} from "../run-fixture.ts";

const POLL_MS = 1_000;

/** Two handles on one file, as in two processes: the worker's, and the canceller's. */
async function twoHandles() {
  const clock = jumpingClock();
  const file = databaseFile();
  const now = () => clock.now();
  const [ours, theirs] = [await fileStore(file, { now }), await fileStore(file, { now })];
  const make = (target: StepNode | Parameters<typeof jobRunner>[0], options: RunnerOptions = {}) =>
    jobRunner(target, ours, { clock, ...options });
  return { clock, ours, theirs, make };
}

/** A tool that waits until the test lets it end. */
function waitingTool() {
  const begun = Promise.withResolvers<ToolCallContext>();
  const end = Promise.withResolvers<unknown>();
  const { act, whats } = actTool((_n, call) => {
    begun.resolve(call);
    return end.promise;
  });
  return { act, whats, begun: begun.promise, end };
}

/** Resolves when a call, or the code of a step, is aborted. */
function stopped({ signal }: { readonly signal: AbortSignal }): Promise<unknown> {
  return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

async function expectCancelled(store: Store, runId = "r-1"): Promise<void> {
  expect(await store.getRun(runId)).toMatchObject({
    status: "cancelled",
    owner: null,
    cancelRequestedAt: null,
    error: null,
  });
}

describe("a run without a worker is ended by the request itself", () => {
  it("when it is queued; it can be resumed", async () => {
    const { ours, theirs, make } = await twoHandles();
    const release = new AbortController();
    const { note, done } = noteTool(() => release.abort());
    const runner = make(scriptedAgent([noting("one"), { text: "End." }], { tools: { note } }).agent);
    await runner.run("Go", { runId: "r-1", release: release.signal });
    expect((await ours.getRun("r-1"))?.status).toBe("queued");

    const outcome = await theirs.requestCancel("r-1", { by: "Ada" });

    expect(outcome).toMatchObject({ kind: "ended", run: { status: "cancelled" }, inDoubt: [] });
    await expectCancelled(ours);
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("cancelled");
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(done).toEqual(["one"]);
    const cancelEvent = (await ours.listEvents("r-1")).find(({ type }) => type === "run.cancelled");
    expect(cancelEvent?.data).toMatchObject({ by: "Ada" });
  });

  it("when it waits: its questions are withdrawn, and asked again when it is resumed", async () => {
    const { ours, theirs, make } = await twoHandles();
    const runner = make(Step.human("check", { question: "Continue?" }));
    await runner.run("Go", { runId: "r-1" });
    expect(await theirs.requestCancel("r-1")).toMatchObject({ kind: "ended" });
    expect((await ours.listWaits("r-1")).map(({ status }) => status)).toEqual(["withdrawn"]);
    await failureAs(AlreadySettledError, theirs.answer("r-1~1", "yes"));
    expect((await runner.resume("r-1")).status).toBe("waiting");
    await theirs.answer((await openWait(ours)).waitId, "yes");
    expect((await runner.resume("r-1")).output).toBe("yes");
  });

  it("when it waits: none of its steps stays blocked", async () => {
    const { ours, theirs, make } = await twoHandles();
    const steps = Pipeline.of(
      "p",
      Step.run("draft", () => 1),
      Step.human("check", { question: "Continue?" }),
    );
    const runner = make(steps);
    await runner.run("Go", { runId: "r-1" });
    expect(await stepsOf(ours)).toEqual(["draft succeeded", "check blocked"]);
    await theirs.requestCancel("r-1");
    expect(await stepsOf(ours)).toEqual(["draft succeeded", "check failed"]);
    expect((await ours.verify("r-1")).problems).toEqual([]);
    expect((await runner.resume("r-1")).status).toBe("waiting");
  });

  it("when its process is dead: its running calls are in doubt, and are reported", async () => {
    const file = databaseFile();
    const child = Child.start("hold-call", file, "r", "3600000");
    expect(await child.line()).toBe("held");
    const store = await fileStore(file);
    const running = (await store.listToolCalls("r"))
      .filter(({ status }) => status === "running")
      .map(({ toolCallId }) => toolCallId);
    expect(running).not.toEqual([]);
    expect(await store.requestCancel("r")).toMatchObject({ kind: "requested" });
    await child.kill();

    const outcome = await store.requestCancel("r");

    expect(outcome).toMatchObject({ kind: "ended", run: { status: "cancelled" } });
    expect(outcome.kind === "ended" ? outcome.inDoubt.toSorted() : []).toEqual(running.toSorted());
    expect((await store.listToolCalls("r")).map(({ status }) => status)).not.toContain("running");
    await expectCancelled(store, "r");
    expect((await store.verify("r")).problems).toEqual([]);
  });

  describe("when its worker died after the request and before noticing it", () => {
    async function asked() {
      const { clock, ours: store, theirs } = await twoHandles();
      const step = Step.human("check", { question: "Continue?" });
      const dying = jobRunner(step, store, { clock, probe: crashAt("run:before-wait") });
      await failureOf(dying.run("Go", { runId: "r-1" }));
      // To any other process it still holds the run.
      expect(await theirs.requestCancel("r-1")).toMatchObject({ kind: "requested" });
      return { store, runner: jobRunner(step, store, { clock }) };
    }

    it("and the next `run` finds it cancelled", async () => {
      const { store, runner } = await asked();
      expect((await runner.run("Go", { runId: "r-1" })).status).toBe("cancelled");
      await expectCancelled(store);
      expect((await runner.resume("r-1")).status).toBe("waiting");
    });

    it("unless it is resumed, which continues it", async () => {
      const { store, runner } = await asked();
      expect((await runner.resume("r-1")).status).toBe("waiting");
      expect((await store.getRun("r-1"))?.cancelRequestedAt).toBeNull();
    });
  });
});

describe("a run that has ended", () => {
  it("keeps its outcome", async () => {
    const store = await memoryStore();
    await new Runner(
      Step.run("a", () => "done"),
      { store },
    ).run("Go", { runId: "r-1" });
    expect(await store.requestCancel("r-1")).toMatchObject({ kind: "over", run: { status: "succeeded" } });
    const failing = Step.run("b", () => {
      throw new Error("No.");
    });
    await failureOf(new Runner(failing, { store }).run("Go", { runId: "r-2" }));
    expect(await store.requestCancel("r-2")).toMatchObject({ kind: "over", run: { status: "failed" } });
    await failureAs(RunNotFoundError, store.requestCancel("r-3"));
  });
});

describe("a run with a worker is ended by that worker", () => {
  it("inside a tool, which is aborted; the call is in doubt, and the run can be resumed", async () => {
    const { clock, ours, theirs, make } = await twoHandles();
    const { act, whats, begun, end } = waitingTool();
    const { agent, prompts } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
    const runner = make(agent);
    const run = runner.run("Go", { runId: "r-1" });
    const call = await begun;

    const outcome = await theirs.requestCancel("r-1", { by: "Ada" });
    expect(outcome).toMatchObject({ kind: "requested", underWay: ["r-1/worker#1.1"] });
    expect(await theirs.getRun("r-1")).toMatchObject({ status: "running", cancelRequestedAt: clock.now() });
    const aborted = stopped(call);
    await clock.advance(POLL_MS);
    await aborted;
    end.reject(new Error("Stopped half way."));

    expect((await run).status).toBe("cancelled");
    await expectCancelled(theirs);
    expect(await callsOf(theirs)).toEqual(["r-1/worker#1.1 act in_doubt"]);
    expect([whats, prompts.length]).toEqual([["a"], 1]);
    // The outcome of the call is unknown: a resume asks.
    expect((await runner.resume("r-1")).status).toBe("waiting");
    await theirs.settle("r-1/worker#1.1", { as: "succeeded", result: "done" });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(whats).toEqual(["a"]);
    expect((await ours.verify("r-1")).problems).toEqual([]);
  });

  it("inside a tool that ignores the signal: its end is awaited, and its receipt stored", async () => {
    const { clock, theirs, make } = await twoHandles();
    const { act, whats, begun, end } = waitingTool();
    const { agent, prompts } = scriptedAgent([acting("a", "b"), { text: "End." }], { tools: { act } });
    const runner = make(agent, { maxParallelToolCalls: 1 });
    const run = runner.run("Go", { runId: "r-1" });
    const call = await begun;
    await theirs.requestCancel("r-1");
    const aborted = stopped(call);
    await clock.advance(POLL_MS);
    await aborted;
    end.resolve("done");

    expect((await run).status).toBe("cancelled");
    expect(await callsOf(theirs)).toEqual(["r-1/worker#1.1 act succeeded", "r-1/worker#1.2 act prepared"]);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["a", "b"], 2]);
  });

  it("inside a code step, at its next call", async () => {
    const { clock, theirs, make } = await twoHandles();
    const { note, done } = noteTool();
    let hasContinued = false;
    const step = Step.run("a", async (_input, ctx) => {
      await ctx.call(note, { text: "one" });
      const aborted = stopped(ctx);
      await theirs.requestCancel("r-1");
      await clock.advance(POLL_MS);
      await aborted;
      await ctx.call(note, { text: "two" }).catch(() => "swallowed");
      hasContinued = true;
    });
    const run = await make(
      Pipeline.of(
        "p",
        step,
        Step.run("b", () => 1),
      ),
    ).run("Go", { runId: "r-1" });
    expect([run.status, done, hasContinued]).toEqual(["cancelled", ["one"], false]);
    expect(await stepsOf(theirs)).toEqual(["a failed"]);
    await expectCancelled(theirs);
  });

  it("during a model call, which is aborted", async () => {
    const { clock, theirs, make } = await twoHandles();
    const { note, done } = noteTool();
    const asked = Promise.withResolvers<AbortSignal | undefined>();
    const { agent } = scriptedAgent(
      ({ turn, options: { abortSignal } }) => {
        asked.resolve(abortSignal);
        if (turn === 2) return { text: "End." };
        return new Promise((_resolve, reject) =>
          abortSignal?.addEventListener("abort", () => reject(new Error("Aborted.")), { once: true }),
        );
      },
      { tools: { note } },
    );
    const run = make(agent).run("Go", { runId: "r-1" });
    await asked.promise;
    await theirs.requestCancel("r-1");
    await clock.advance(POLL_MS);
    expect((await run).status).toBe("cancelled");
    expect(done).toEqual([]);
    await expectCancelled(theirs);
    // Tokens that may have been used are charged.
    expect((await theirs.getRun("r-1"))?.charged.tokens).toBeGreaterThan(0);
  });

  it("when it would wait for a person, and no question is asked", async () => {
    const { theirs, make } = await twoHandles();
    const step = Step.human("check", { question: "Continue?" });
    const ask = Step.run("first", () => theirs.requestCancel("r-1").then(({ kind }) => kind));
    const run = await make(Pipeline.of("p", ask, step)).run("Go", { runId: "r-1" });
    expect(run).toMatchObject({ status: "cancelled", waits: [] });
    await expectCancelled(theirs);
    expect(await theirs.listOpenWaits()).toEqual([]);
  });

  it("with a question that is still open, which is withdrawn", async () => {
    const { clock, ours, theirs, make } = await twoHandles();
    const begun = Promise.withResolvers<unknown>();
    const { act } = actTool(async (n, call) => {
      if (n === 1) throw new NeedsHuman("auth_failure", "Sign in.");
      begun.resolve(n);
      await stopped(call);
      throw new Error("Stopped.");
    });
    const both = asking(["ask_human", { question: "Which?" }], ["act", { what: "a" }]);
    const { agent } = scriptedAgent([both, { text: "End." }], { tools: { ask_human: askHuman, act } });
    await make(agent).run("Go", { runId: "r-1" });
    expect(await theirs.listOpenWaits()).toHaveLength(2);
    await theirs.settle("r-1/worker#1.2", { as: "retry" });
    const resumed = make(agent).resume("r-1");
    await begun.promise;
    expect(await theirs.requestCancel("r-1")).toMatchObject({ kind: "requested" });
    await clock.advance(POLL_MS);
    expect((await resumed).status).toBe("cancelled");
    expect(await ours.listOpenWaits()).toEqual([]);
    await failureAs(AlreadySettledError, theirs.answer("r-1~1", "this"));
    await expectCancelled(ours);
  });

  it("unless it ends before it notices the request", async () => {
    const { theirs, make } = await twoHandles();
    const step = Step.run("a", () => theirs.requestCancel("r-1").then(({ kind }) => kind));
    const run = await make(step).run("Go", { runId: "r-1" });
    expect(run).toMatchObject({ status: "succeeded", output: "requested" });
    expect(await theirs.getRun("r-1")).toMatchObject({ status: "succeeded", cancelRequestedAt: null });
  });

  it("once: a resume is not cancelled again", async () => {
    const { clock, theirs, make } = await twoHandles();
    let times = 0;
    const step = Step.run("a", async (_input, ctx) => {
      times += 1;
      if (times > 1) {
        await clock.advance(3 * POLL_MS);
        return `aborted: ${ctx.signal.aborted}`;
      }
      const aborted = stopped(ctx);
      await theirs.requestCancel("r-1");
      await clock.advance(POLL_MS);
      await aborted;
      throw new Error("Stopped.");
    });
    const runner = make(step);
    expect((await runner.run("Go", { runId: "r-1", spec: jobSpec() })).status).toBe("cancelled");
    expect((await runner.resume("r-1")).output).toBe("aborted: false");
  });
});

// The wall-clock budget of a job: one deadline for all workers, extended only by the time spent waiting for a person.

import { describe, expect, it } from "vitest";
import {
  askHuman,
  BudgetExceededError,
  Deadline,
  DeadlineExceededError,
  Pipeline,
  Step,
  type StepNode,
  type Store,
} from "../../../src/index.ts";
import {
  acting,
  actTool,
  asking,
  crashAt,
  jumpingClock,
  openWait,
  timedStore,
} from "../call/call-fixture.ts";
import { budgetOf, callsOf, jobRunner, jobSpec, type SpecParts, stepsOf } from "../job-fixture.ts";
import { failureAs, failureOf, scriptedAgent } from "../run-fixture.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const minutes = (maxWallclockMinutes: number, more: SpecParts["budgets"] = {}) =>
  jobSpec({ budgets: { maxWallclockMinutes, ...more } });

/** A clock, and a store that uses it. */
async function timed() {
  const clock = jumpingClock();
  return { clock, store: await timedStore(clock) };
}

async function deadlineIn(store: Store, clock: { now(): number }): Promise<number> {
  return ((await store.getRun("r-1"))?.deadline ?? Number.NaN) - clock.now();
}

describe("a wall-clock budget", () => {
  it("that is used up lets the running step end but no other begin; a higher one resumes", async () => {
    const { clock, store } = await timed();
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, async () => {
        entered.push(name);
        await clock.advance(2 * MINUTE);
        return name;
      });
    const runner = jobRunner(Pipeline.of("p", step("a"), step("b"), step("c")), store, { clock });

    const error = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec: minutes(3) }));
    expect(budgetOf(error)).toEqual(["maxWallclockMinutes", 3, 4]);
    expect(await stepsOf(store)).toEqual(["a succeeded", "b succeeded"]);
    await failureAs(BudgetExceededError, runner.resume("r-1"));
    await failureAs(BudgetExceededError, runner.resume("r-1", { budgets: { maxWallclockMinutes: 4 } }));
    expect(entered).toEqual(["a", "b"]);

    expect((await runner.resume("r-1", { budgets: { maxWallclockMinutes: 4.5 } })).output).toBe("c");
    expect(entered).toEqual(["a", "b", "c"]);
  });

  it("that is used up lets a running tool end: its turn is committed, and the model is not asked again", async () => {
    const { clock, store } = await timed();
    const { act, whats } = actTool(() => clock.advance(2 * MINUTE));
    const { agent, prompts } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, { clock });
    const run = runner.run("Go", { runId: "r-1", spec: minutes(1) });
    expect(budgetOf(await failureAs(BudgetExceededError, run))).toEqual(["maxWallclockMinutes", 1, 2]);
    expect([whats, prompts.length]).toEqual([["a"], 1]);
    expect(await callsOf(store)).toEqual(["r-1/worker#1.1 act succeeded"]);
    expect((await store.readGranularState("r-1", "worker"))?.turnIndex).toBe(1);

    expect((await runner.resume("r-1", { budgets: { maxWallclockMinutes: 5 } })).output).toBe("End.");
    expect(whats).toEqual(["a"]);
  });

  it("that is used up stops the undispatched calls of a turn", async () => {
    const { clock, store } = await timed();
    const { act, whats } = actTool(() => clock.advance(2 * MINUTE));
    const { agent } = scriptedAgent([acting("a", "b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store, { clock, maxParallelToolCalls: 1 });
    await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec: minutes(1) }));
    expect(whats).toEqual(["a"]);
    expect((await callsOf(store))[0]).toBe("r-1/worker#1.1 act succeeded");
    expect((await runner.resume("r-1", { budgets: { maxWallclockMinutes: 9 } })).output).toBe("End.");
    expect(whats).toEqual(["a", "b"]);
  });

  it("that is used up stops a code step at its next call, whatever the code catches", async () => {
    const { clock, store } = await timed();
    const { act, whats } = actTool();
    const code = Step.run("a", async (_input, ctx) => {
      await ctx.call(act, { what: "a" });
      await clock.advance(2 * MINUTE);
      await ctx.call(act, { what: "b" }).catch(() => "swallowed");
      return "continued";
    });
    const runner = jobRunner(code, store, { clock });
    await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec: minutes(1) }));
    expect(whats).toEqual(["a"]);
  });

  it("that is used up after the last step does not fail the run", async () => {
    const { clock, store } = await timed();
    const last = Step.run("a", async () => {
      await clock.advance(2 * MINUTE);
      return "done";
    });
    const run = jobRunner(last, store, { clock }).run("Go", { runId: "r-1", spec: minutes(1) });
    expect((await run).output).toBe("done");
  });

  it("is one deadline for all workers: time without a worker counts", async () => {
    const { clock, store } = await timed();
    const make = (probe = crashAt("step:begun")) =>
      jobRunner(
        Step.run("a", () => "done"),
        store,
        { clock, probe },
      );
    await failureOf(make().run("Go", { runId: "r-1", spec: minutes(10) }));
    expect(await deadlineIn(store, clock)).toBe(10 * MINUTE);
    await clock.advance(9 * MINUTE);
    await failureOf(make().resume("r-1"));
    expect(await deadlineIn(store, clock)).toBe(1 * MINUTE);
    await clock.advance(1 * MINUTE);
    const error = await failureAs(BudgetExceededError, make(crashAt("run:finished", 9)).resume("r-1"));
    expect(budgetOf(error)).toEqual(["maxWallclockMinutes", 10, 10]);
  });
});

describe("the time that a run waits for a person", () => {
  const check = Pipeline.of(
    "p",
    Step.human("check", { question: "Continue?" }),
    Step.run("end", (said) => said),
  );

  /** A job of ten minutes that asked after four. */
  async function asked(more: SpecParts["budgets"] = {}) {
    const { clock, store } = await timed();
    const wait = Step.run("work", async () => {
      await clock.advance(4 * MINUTE);
    });
    const steps: StepNode[] = [wait, ...check.children];
    const runner = jobRunner(Pipeline.of("p", ...steps), store, { clock });
    const { status } = await runner.run("Go", { runId: "r-1", spec: minutes(10, more) });
    expect(status).toBe("waiting");
    return { clock, store, runner };
  }

  it("does not count, however long it is", async () => {
    const { clock, store, runner } = await asked();
    await clock.advance(5 * HOUR);
    await store.answer((await openWait(store)).waitId, "yes");
    expect(await deadlineIn(store, clock)).toBe(6 * MINUTE);
    expect((await runner.resume("r-1")).output).toBe("yes");
  });

  it("does not count if the run is resumed before there is an answer", async () => {
    const { clock, store, runner } = await asked();
    for (let times = 1; times <= 2; times++) {
      await clock.advance(HOUR);
      expect((await runner.resume("r-1")).status).toBe("waiting");
    }
    await clock.advance(HOUR);
    await store.answer((await openWait(store)).waitId, "yes");
    expect(await deadlineIn(store, clock)).toBe(6 * MINUTE);
    expect((await runner.resume("r-1")).output).toBe("yes");
  });

  it("counts with countWaitingTime", async () => {
    const { clock, store, runner } = await asked({ countWaitingTime: true });
    await clock.advance(HOUR);
    await store.answer((await openWait(store)).waitId, "yes");
    const error = await failureAs(BudgetExceededError, runner.resume("r-1"));
    expect(budgetOf(error)).toEqual(["maxWallclockMinutes", 10, 64]);
  });

  it("ends with the answer: the time after it counts", async () => {
    const { clock, store, runner } = await asked();
    await clock.advance(HOUR);
    await store.answer((await openWait(store)).waitId, "yes");
    await clock.advance(7 * MINUTE);
    expect(budgetOf(await failureAs(BudgetExceededError, runner.resume("r-1")))).toEqual([
      "maxWallclockMinutes",
      10,
      11,
    ]);
  });

  it("does not count for a run that is cancelled meanwhile and resumed later", async () => {
    const { clock, store, runner } = await asked();
    await clock.advance(HOUR);
    await store.requestCancel("r-1");
    expect((await runner.resume("r-1")).status).toBe("waiting");
  });

  it("does not count for an agent that asks", async () => {
    const { clock, store } = await timed();
    const { agent } = scriptedAgent([asking(["ask_human", { question: "Which?" }]), { text: "End." }], {
      tools: { ask_human: askHuman },
    });
    const runner = jobRunner(agent, store, { clock });
    await runner.run("Go", { runId: "r-1", spec: minutes(1) });
    await clock.advance(HOUR);
    await store.answer((await openWait(store)).waitId, "this");
    expect((await runner.resume("r-1")).output).toBe("End.");
  });
});

describe("a deadline of the caller", () => {
  it("applies if the contract has no time budget", async () => {
    const { clock, store } = await timed();
    const runner = jobRunner(
      Pipeline.of(
        "p",
        Step.run("a", () => clock.advance(MINUTE)),
        Step.run("b", () => 1),
      ),
      store,
      { clock },
    );
    const run = runner.run("Go", {
      runId: "r-1",
      spec: jobSpec({ budgets: { maxSteps: 9 } }),
      deadline: Deadline.in(MINUTE, clock),
    });
    await failureAs(DeadlineExceededError, run);
    expect((await runner.resume("r-1", { deadline: Deadline.in(MINUTE, clock) })).output).toBe(1);
  });

  it("that is later than the contract's does not replace it, at the start or on resume", async () => {
    const { clock, store } = await timed();
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => clock.advance(2 * MINUTE)),
      Step.run("b", () => 1),
    );
    const runner = jobRunner(pipeline, store, { clock });
    const deadline = Deadline.in(HOUR, clock);
    const run = () => runner.run("Go", { runId: "r-1", spec: minutes(1), deadline });
    expect(budgetOf(await failureAs(BudgetExceededError, run()))).toEqual(["maxWallclockMinutes", 1, 2]);
    await failureAs(BudgetExceededError, runner.resume("r-1", { deadline }));
    expect(await stepsOf(store)).toEqual(["a succeeded"]);
    expect((await runner.resume("r-1", { budgets: { maxWallclockMinutes: 5 }, deadline })).output).toBe(1);
  });
});

// A budget that is used up in a job that asks a person: may the run use more?

import { describe, expect, it } from "vitest";
import {
  AlreadySettledError,
  BudgetExceededError,
  ConfigurationError,
  type Json,
  NotApplied,
  Pipeline,
  Step,
  type Store,
} from "../../../src/index.ts";
import { acting, actTool, jumpingClock, openWait, timedStore } from "../call/call-fixture.ts";
import { budgetOf, callsOf, jobRunner, jobSpec, type SpecParts } from "../job-fixture.ts";
import { failureAs, memoryStore, must, scriptedAgent } from "../run-fixture.ts";

const MINUTE = 60_000;

const asking = (budgets: SpecParts["budgets"], more: SpecParts["escalation"] = {}) =>
  jobSpec({ budgets: budgets ?? {}, escalation: { askHumanOnBudgetReached: true, ...more } });

/** Four steps, of which two may be entered. */
async function stopped() {
  const store = await memoryStore();
  const entered: string[] = [];
  const step = (name: string) =>
    Step.run(name, () => {
      entered.push(name);
      return name;
    });
  const runner = jobRunner(Pipeline.of("p", step("a"), step("b"), step("c"), step("d")), store);
  const result = await runner.run("Go", { runId: "r-1", spec: asking({ maxSteps: 2 }) });
  return { store, runner, entered, result };
}

async function openWaits(store: Store): Promise<Json[]> {
  return (await store.listWaits("r-1"))
    .filter(({ status }) => status === "open")
    .map(({ subject }) => subject);
}

describe("a used-up budget with escalation", () => {
  it("leaves the run waiting with the question, and nothing begins beyond it", async () => {
    const { store, entered, result } = await stopped();
    expect(result).toMatchObject({ status: "waiting", output: null });
    expect(result.waits).toMatchObject([
      {
        kind: "budget",
        toolCallId: null,
        subject: { budget: "maxSteps", limit: 2, used: 3 },
        status: "open",
      },
    ]);
    expect(must(result.waits[0]).question).toMatch(/maxSteps 2, .* What is the new limit/);
    expect(await store.getRun("r-1")).toMatchObject({ status: "waiting", error: null, owner: null });
    expect(await store.listOpenWaits()).toHaveLength(1);
    expect(entered).toEqual(["a", "b"]);
  });

  it("can be answered with a new limit, up to which the run continues", async () => {
    const { store, runner, entered } = await stopped();
    await store.answer((await openWait(store)).waitId, 3, { by: "Ada" });
    expect(await store.getRun("r-1")).toMatchObject({ status: "queued", budgets: { maxSteps: 3 } });
    expect((await runner.resume("r-1")).status).toBe("waiting");
    expect(entered).toEqual(["a", "b", "c"]);
    expect(await openWaits(store)).toEqual([{ budget: "maxSteps", limit: 3, used: 4 }]);
    await store.answer((await openWait(store)).waitId, "4");
    expect((await runner.resume("r-1")).output).toBe("d");
    expect((await store.listWaits("r-1")).map(({ answeredBy }) => answeredBy)).toEqual(["Ada", "somebody"]);
  });

  it("that is answered with no more than was used asks again", async () => {
    const { store, runner, entered } = await stopped();
    await store.answer((await openWait(store)).waitId, 2);
    expect((await runner.resume("r-1")).status).toBe("waiting");
    expect(entered).toEqual(["a", "b"]);
    expect(await openWaits(store)).toHaveLength(1);
  });

  it("that is denied fails the run with that budget, and is not asked about again", async () => {
    const { store, runner, entered } = await stopped();
    const { waitId } = await openWait(store);
    await store.deny(waitId, "That is enough.");
    expect((await store.getRun("r-1"))?.status).toBe("queued");
    const error = await failureAs(BudgetExceededError, runner.resume("r-1"));
    expect(budgetOf(error)).toEqual(["maxSteps", 2, 3]);
    expect((await store.getRun("r-1"))?.status).toBe("failed");
    await failureAs(BudgetExceededError, runner.resume("r-1"));
    await failureAs(AlreadySettledError, store.answer(waitId, 5));
    expect(entered).toEqual(["a", "b"]);
    // A manual raise overrides the denial, and the question is asked again at the new limit.
    expect((await runner.resume("r-1", { budgets: { maxSteps: 3 } })).status).toBe("waiting");
    expect(entered).toEqual(["a", "b", "c"]);
  });

  it.each<[string, Json]>([
    ["nothing", null],
    ["words", "a few more"],
    ["zero", 0],
    ["a fraction of a step", 2.5],
    ["a list", [4]],
    ["an empty text", ""],
  ])("cannot be answered with %s and stays open", async (_what, value) => {
    const { store } = await stopped();
    const { waitId } = await openWait(store);
    await failureAs(ConfigurationError, store.answer(waitId, value));
    expect((await openWait(store)).waitId).toBe(waitId);
    expect(await store.getRun("r-1")).toMatchObject({ status: "waiting", budgets: { maxSteps: 2 } });
  });

  it("can be neither approved nor settled", async () => {
    const { store } = await stopped();
    const { waitId } = await openWait(store);
    await expect(store.approve(waitId)).rejects.toThrow("answer it with the new limit, or deny it");
  });

  it("asks once, however often the run is resumed before the answer", async () => {
    const { store, runner } = await stopped();
    const { waitId } = await openWait(store);
    await runner.resume("r-1");
    await runner.resume("r-1");
    expect(await openWaits(store)).toHaveLength(1);
    expect((await openWait(store)).waitId).toBe(waitId);
  });

  it("withdraws the question when it is raised in a resume", async () => {
    const { store, runner } = await stopped();
    expect((await runner.resume("r-1", { budgets: { maxSteps: 4 } })).output).toBe("d");
    expect(await openWaits(store)).toEqual([]);
    expect(await store.listOpenWaits()).toEqual([]);
  });
});

describe("the question is asked about", () => {
  it("tool calls: the response with them is kept", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { agent, prompts } = scriptedAgent([acting("a", "b"), { text: "End." }], { tools: { act } });
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1", spec: asking({ maxToolCalls: 1 }) });
    expect(await openWaits(store)).toEqual([{ budget: "maxToolCalls", limit: 1, used: 2 }]);
    expect([whats, prompts.length]).toEqual([[], 1]);
    await store.answer((await openWait(store)).waitId, 2);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["a", "b"], 2]);
  });

  it("tokens: the question names what the next call may need", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }], { settings: { maxOutputTokens: 100 } });
    const runner = jobRunner(agent, store);
    await runner.run("Go", { runId: "r-1", spec: asking({ maxTokens: 50 }) });
    const { waitId, subject } = await openWait(store);
    expect(subject).toMatchObject({ budget: "maxTokens", limit: 50 });
    await store.answer(waitId, subject.used ?? null);
    expect((await runner.resume("r-1")).output).toBe("Hello");
  });

  it("time: the wait itself does not use it up", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const runner = jobRunner(
      Pipeline.of(
        "p",
        Step.run("a", () => clock.advance(2 * MINUTE)),
        Step.run("b", () => "done"),
      ),
      store,
      { clock },
    );
    await runner.run("Go", { runId: "r-1", spec: asking({ maxWallclockMinutes: 1 }) });
    expect(await openWaits(store)).toEqual([{ budget: "maxWallclockMinutes", limit: 1, used: 2 }]);
    await clock.advance(500 * MINUTE);
    await store.answer((await openWait(store)).waitId, 3);
    expect((await runner.resume("r-1")).output).toBe("done");
  });

  it("failures, if the failures themselves are not escalated", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(() => {
      throw new NotApplied("503");
    });
    const { agent, prompts } = scriptedAgent([acting("a"), acting("b"), { text: "End." }], {
      tools: { act },
    });
    const runner = jobRunner(agent, store, { clock: jumpingClock() });
    const spec = asking(
      { maxRetriesPerToolCall: 0, maxSameErrorRepeats: 2 },
      { askHumanOnRepeatedFailures: false },
    );
    await runner.run("Go", { runId: "r-1", spec });
    expect(await openWaits(store)).toEqual([{ budget: "maxRetriesPerToolCall", limit: 0, used: 0 }]);
    expect(await callsOf(store)).toEqual(["r-1/worker#1.1 act failed"]);
    await store.answer((await openWait(store)).waitId, 1);
    await runner.resume("r-1");
    expect(await openWaits(store)).toEqual([{ budget: "maxSameErrorRepeats", limit: 2, used: 2 }]);
    expect([whats, prompts.length]).toEqual([["a", "b"], 2]);
    await store.answer((await openWait(store)).waitId, 9);
    expect((await runner.resume("r-1")).output).toBe("End.");
  });
});

describe("a failure budget that a person has denied", () => {
  it("ends the run, and nothing is retried, however often it is resumed", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool(
      () => {
        throw new NotApplied("503");
      },
      { recovery: "keyed" },
    );
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, (_input, ctx) => {
        entered.push(name);
        return ctx.call(act, { what: name }).catch(() => "could not send");
      });
    const pipeline = Pipeline.of("p", step("a"), step("b"), step("c"));
    const runner = jobRunner(pipeline, store, { clock: jumpingClock() });
    const spec = asking({ maxSameErrorRepeats: 2 }, { askHumanOnRepeatedFailures: false });
    expect((await runner.run("Go", { runId: "r-1", spec })).status).toBe("waiting");
    await store.deny((await openWait(store)).waitId, "That is enough.");

    for (let times = 1; times <= 3; times++) {
      const error = await failureAs(BudgetExceededError, runner.resume("r-1"));
      expect(budgetOf(error)).toEqual(["maxSameErrorRepeats", 2, 2]);
      expect((await store.getRun("r-1"))?.status).toBe("failed");
      expect(await openWaits(store)).toEqual([]);
    }
    expect([whats, entered]).toEqual([["a", "a"], ["a"]]);

    // A manual raise overrides the denial.
    expect((await runner.resume("r-1", { budgets: { maxSameErrorRepeats: 4 } })).status).toBe("waiting");
    expect(entered).toEqual(["a", "b"]);
  });
});

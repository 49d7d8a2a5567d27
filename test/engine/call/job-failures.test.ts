// Tools that keep failing in a job: budgets for retries and repeated errors, and when a person is asked instead.

import { describe, expect, it } from "vitest";
import {
  BudgetExceededError,
  NeedsHuman,
  NotApplied,
  Pipeline,
  type RunnerOptions,
  Step,
  type ToolCallContext,
} from "../../../src/index.ts";
import { budgetOf, callsOf, jobRunner, jobSpec, type SpecParts } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore, scriptedAgent, toolResults } from "../run-fixture.ts";
import { acting, actTool, crashAt, jumpingClock, ledger, openWait } from "./call-fixture.ts";

const NOT_ASKING = { askHumanOnRepeatedFailures: false };

/** A job with this tool behaviour whose agent makes these calls, turn by turn. */
async function job(
  execute: (n: number, call: ToolCallContext, what: string) => unknown,
  turns: readonly (readonly string[])[],
  spec: SpecParts,
) {
  const store = await memoryStore();
  const { act, calls, whats } = actTool(execute);
  const script = [...turns.map((turn) => acting(...turn)), { text: "End." }];
  const { agent, prompts } = scriptedAgent(script, { tools: { act } });
  const make = (options: RunnerOptions = {}) =>
    jobRunner(agent, store, { clock: jumpingClock(), ...options });
  const run = (options: RunnerOptions = {}) => make(options).run("Go", { runId: "r-1", spec: jobSpec(spec) });
  return { store, calls, whats, prompts, make, run };
}

const failing = () => {
  throw new NotApplied("503");
};

describe("the retry budget of a call", () => {
  it("overrides the runner's limit; when it is used up, the run fails and the call has its receipt", async () => {
    const spec = { budgets: { maxRetriesPerToolCall: 1 }, escalation: NOT_ASKING };
    const { store, calls, prompts, run, make } = await job(failing, [["a"]], spec);
    const error = await failureAs(BudgetExceededError, run({ maxRetriesPerToolCall: 7 }));
    expect(budgetOf(error)).toEqual(["maxRetriesPerToolCall", 1, 1]);
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(await ledger(store)).toEqual([["failed", 2, "tool"]]);
    expect([prompts.length, (await store.readGranularState("r-1", "worker"))?.turnIndex]).toEqual([1, 1]);

    // Only a higher budget lets the run resume and the agent see the failure; the call itself has ended.
    await failureAs(BudgetExceededError, make().resume("r-1"));
    expect(prompts).toHaveLength(1);
    expect((await make().resume("r-1", { budgets: { maxRetriesPerToolCall: 2 } })).output).toBe("End.");
    expect(toolResults(prompts[1])).toEqual([{ type: "error-text", value: "503" }]);
    expect(calls).toHaveLength(2);
  });

  it("counts attempts over all workers", async () => {
    const spec = { budgets: { maxRetriesPerToolCall: 2 }, escalation: NOT_ASKING };
    const { calls, run, make } = await job(failing, [["a"]], spec);
    await failureOf(run({ probe: crashAt("tool:try-ended") }));
    await failureOf(make({ probe: crashAt("tool:try-ended") }).resume("r-1"));
    expect(calls).toHaveLength(2);
    await failureAs(BudgetExceededError, make().resume("r-1"));
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it("leads to a question when it is used up, unless the contract disables escalation", async () => {
    const { store, calls, run, make } = await job((n) => (n < 3 ? failing() : "done"), [["a"]], {
      budgets: { maxRetriesPerToolCall: 1 },
    });
    expect((await run()).status).toBe("waiting");
    const wait = await openWait(store);
    expect(wait).toMatchObject({ kind: "escalation", toolCallId: "r-1/worker#1.1", attempt: 2 });
    expect(calls).toHaveLength(2);
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await make().resume("r-1")).output).toBe("End.");
    expect(await ledger(store)).toEqual([["succeeded", 3, "tool"]]);
  });

  it("also limits a tool with a look-up that fails without having happened", async () => {
    const looked = async (escalation: SpecParts["escalation"]) => {
      const store = await memoryStore();
      const { act, calls } = actTool(
        () => {
          throw new Error("The line is down.");
        },
        { recovery: "reconcile", reconcile: () => ({ status: "absent" }) },
      );
      const { agent } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
      const spec = jobSpec({ budgets: { maxRetriesPerToolCall: 1 }, ...(escalation ? { escalation } : {}) });
      const run = jobRunner(agent, store, { clock: jumpingClock() }).run("Go", { runId: "r-1", spec });
      return { store, calls, run };
    };
    const asked = await looked({});
    expect((await asked.run).status).toBe("waiting");
    expect([(await openWait(asked.store)).kind, asked.calls.length]).toEqual(["escalation", 2]);
    const ended = await looked(NOT_ASKING);
    expect(budgetOf(await failureAs(BudgetExceededError, ended.run))).toEqual([
      "maxRetriesPerToolCall",
      1,
      1,
    ]);
    expect(await ledger(ended.store)).toEqual([["failed", 2, "tool"]]);
  });

  it("falls back to the runner's limit if the contract sets none: the agent gets the error", async () => {
    const { store, calls, run } = await job(failing, [["a"]], {});
    expect((await run({ maxRetriesPerToolCall: 1 })).output).toBe("End.");
    expect(calls).toHaveLength(2);
    expect(await store.listWaits("r-1")).toEqual([]);
  });

  it("ends the run when it is used up in a code step, and the code does not continue", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(failing);
    let hasContinued = false;
    const code = Step.run("a", async (_input, ctx) => {
      const said = await ctx.call(act, { what: "a" }).catch(String);
      await ctx.call(act, { what: "b" });
      hasContinued = true;
      return said;
    });
    const spec = jobSpec({ budgets: { maxRetriesPerToolCall: 0 }, escalation: NOT_ASKING });
    const run = jobRunner(code, store, { clock: jumpingClock() }).run("Go", { runId: "r-1", spec });
    expect(budgetOf(await failureAs(BudgetExceededError, run))).toEqual(["maxRetriesPerToolCall", 0, 0]);
    expect([calls.length, hasContinued]).toEqual([1, false]);
    expect(await callsOf(store)).toEqual(["r-1/a#0.1 act failed"]);
  });
});

describe("a tool that keeps failing with the same error", () => {
  const budgets = { maxSameErrorRepeats: 3, maxRetriesPerToolCall: 9 };

  it("ends the run if escalation is disabled, and the call has its receipt", async () => {
    const { store, calls, prompts, run } = await job(failing, [["a"], ["b"]], {
      budgets,
      escalation: NOT_ASKING,
    });
    const error = await failureAs(BudgetExceededError, run());
    expect(budgetOf(error)).toEqual(["maxSameErrorRepeats", 3, 3]);
    expect([calls.length, prompts.length]).toEqual([3, 1]);
    expect(await ledger(store)).toEqual([["failed", 3, "tool"]]);
  });

  it("is escalated to a person otherwise", async () => {
    const { store, calls, run, make } = await job((n) => (n <= 3 ? failing() : "done"), [["a"]], { budgets });
    expect((await run()).status).toBe("waiting");
    expect(await openWait(store)).toMatchObject({ kind: "escalation", toolCallId: "r-1/worker#1.1" });
    expect(calls).toHaveLength(3);
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await make().resume("r-1")).output).toBe("End.");
  });

  it("is counted over its calls and over all workers", async () => {
    const spec = { budgets: { maxSameErrorRepeats: 3, maxRetriesPerToolCall: 0 }, escalation: NOT_ASKING };
    const { calls, run, make } = await job(
      () => {
        throw new Error("The account is locked.");
      },
      [["a"], ["b"], ["c"], ["d"]],
      spec,
    );
    await failureOf(run({ probe: crashAt("turn:committed") }));
    await failureOf(make({ probe: crashAt("turn:committed") }).resume("r-1"));
    const error = await failureAs(BudgetExceededError, make().resume("r-1"));
    expect(budgetOf(error)).toEqual(["maxSameErrorRepeats", 3, 3]);
    expect(calls).toHaveLength(3);
  });

  it("is counted from zero after a success, also one in an earlier worker", async () => {
    const spec = { budgets: { maxSameErrorRepeats: 2, maxRetriesPerToolCall: 0 }, escalation: NOT_ASKING };
    const { calls, run, make } = await job(
      (n) => {
        if (n !== 2) throw new Error("The account is locked.");
        return "done";
      },
      [["a"], ["b"], ["c"], ["d"], ["e"]],
      spec,
    );
    await failureOf(run({ probe: crashAt("turn:committed", 2) }));
    expect(calls).toHaveLength(2);
    await failureAs(BudgetExceededError, make().resume("r-1"));
    expect(calls).toHaveLength(4);
  });

  it("stops further calls of its turn: they run after the budget is raised", async () => {
    const spec = { budgets: { maxSameErrorRepeats: 2, maxRetriesPerToolCall: 9 }, escalation: NOT_ASKING };
    const { store, whats, prompts, run, make } = await job(
      (_n, _call, what) => (what === "a" ? failing() : "done"),
      [["a", "b", "c"]],
      spec,
    );
    await failureAs(BudgetExceededError, run({ maxParallelToolCalls: 1 }));
    expect(whats).toEqual(["a", "a"]);
    expect(await callsOf(store)).toEqual([
      "r-1/worker#1.1 act failed",
      "r-1/worker#1.2 act prepared",
      "r-1/worker#1.3 act prepared",
    ]);
    expect((await make().resume("r-1", { budgets: { maxSameErrorRepeats: 5 } })).output).toBe("End.");
    expect([whats, prompts.length]).toEqual([["a", "a", "b", "c"], 2]);
  });
});

describe("a used-up failure budget", () => {
  const spec = { budgets: { maxSameErrorRepeats: 2, maxRetriesPerToolCall: 9 }, escalation: NOT_ASKING };

  it.each([
    ["maxSameErrorRepeats", 2, { maxSameErrorRepeats: 2 }],
    ["maxRetriesPerToolCall", 1, { maxRetriesPerToolCall: 1 }],
  ] as const)(
    "refuses a plain resume without changing the run, and resumes with a higher limit: %s",
    async (name, limit, budgets) => {
      const { store, calls, run, make } = await job((n) => (n <= 2 ? failing() : "done"), [["a"], ["b"]], {
        budgets,
        escalation: NOT_ASKING,
      });
      await failureAs(BudgetExceededError, run());
      const before = await store.getRun("r-1");
      const events = (await store.listEvents("r-1")).length;
      for (const given of [{}, { budgets: { [name]: limit } }, { budgets: { maxSteps: 99 } }])
        expect(budgetOf(await failureAs(BudgetExceededError, make().resume("r-1", given)))[0]).toBe(name);
      expect(await store.getRun("r-1")).toEqual(before);
      expect([before?.status, before?.epoch]).toEqual(["failed", 1]);
      expect([(await store.listEvents("r-1")).length, calls.length]).toEqual([events, 2]);

      expect((await make().resume("r-1", { budgets: { [name]: limit + 1 } })).output).toBe("End.");
      expect(await callsOf(store)).toEqual(["r-1/worker#1.1 act failed", "r-1/worker#2.1 act succeeded"]);
    },
  );

  it("ends the run in its last step too, even if the step caught the failure and returned an output", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(failing);
    const last = Step.run("send", (_input, ctx) =>
      ctx.call(act, { what: "a" }).then(
        () => "sent",
        () => "could not send",
      ),
    );
    const runner = jobRunner(Pipeline.of("p", last), store, { clock: jumpingClock() });
    const run = runner.run("Go", { runId: "r-1", spec: jobSpec(spec) });
    expect(budgetOf(await failureAs(BudgetExceededError, run))).toEqual(["maxSameErrorRepeats", 2, 2]);
    expect([(await store.getRun("r-1"))?.status, calls.length]).toEqual(["failed", 2]);
  });

  it("ends the run in the last turn of an agent too", async () => {
    const store = await memoryStore();
    const { act } = actTool(failing);
    const { agent } = scriptedAgent([{ text: "DONE", ...acting("a") }], {
      tools: { act },
      instructions: "Say DONE at the end.",
    });
    const runner = jobRunner(agent, store, { clock: jumpingClock() });
    await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec: jobSpec(spec) }));
    expect((await store.getRun("r-1"))?.status).toBe("failed");
  });
});

describe("a tool that throws NeedsHuman", () => {
  const needing = (reason: string) => (n: number) => {
    if (n === 1) throw new NeedsHuman(reason, `It is about ${reason}.`);
    return "done";
  };

  it.each([
    ["auth_failure", {}, true],
    ["auth_failure", { askHumanOnAuthFailure: false }, false],
    ["auth_failure", { askHumanOnAmbiguousRecipient: false }, true],
    ["ambiguous_recipient", {}, true],
    ["ambiguous_recipient", { askHumanOnAmbiguousRecipient: false }, false],
    ["ambiguous_recipient", { askHumanOnRepeatedFailures: false, askHumanOnAuthFailure: false }, true],
    [
      "captcha",
      {
        askHumanOnAmbiguousRecipient: false,
        askHumanOnAuthFailure: false,
        askHumanOnRepeatedFailures: false,
      },
      true,
    ],
  ])("because of %s, in a job with %j: asks a person: %s", async (reason, escalation, isAsked) => {
    const { store, calls, prompts, run } = await job(needing(reason), [["a"]], { escalation });
    const { status } = await run();
    expect([status, calls.length]).toEqual([isAsked ? "waiting" : "succeeded", 1]);
    if (isAsked) {
      expect(await openWait(store)).toMatchObject({
        kind: "escalation",
        question: `It is about ${reason}.`,
        subject: { code: reason, tool: "act", arguments: { what: "a" } },
      });
      return;
    }
    // The agent gets the tool's message; nothing happened, so it may ask again.
    expect(toolResults(prompts[1])).toEqual([{ type: "error-text", value: `It is about ${reason}.` }]);
    const [call] = await store.listToolCalls("r-1");
    expect(call?.receipt).toMatchObject({ status: "failed", errorCode: reason, uncertain: false });
  });

  it("leaves the call uncertain after an attempt that may have happened, and repeating it needs approval", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(
      (n) => {
        if (n === 1) throw new Error("The line went dead.");
        if (n === 2) throw new NeedsHuman("auth_failure", "The session has expired.");
        return "done";
      },
      { recovery: "keyed" },
    );
    const { agent } = scriptedAgent([acting("a"), acting("a"), { text: "End." }], { tools: { act } });
    const spec = jobSpec({ escalation: { askHumanOnAuthFailure: false } });
    const runner = jobRunner(agent, store, { clock: jumpingClock() });
    expect((await runner.run("Go", { runId: "r-1", spec })).status).toBe("waiting");
    const [first] = await store.listToolCalls("r-1");
    expect(first?.receipt).toMatchObject({ status: "failed", errorCode: "auth_failure", uncertain: true });
    expect(await openWait(store)).toMatchObject({ kind: "possible_duplicate", toolCallId: "r-1/worker#2.1" });
    expect(calls).toHaveLength(2);
  });
});

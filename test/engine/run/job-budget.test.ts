// Budgets for steps, tool calls, tokens and money: counted over all resumes, and nothing is left half done at the
// limit.

import { describe, expect, it } from "vitest";
import {
  BudgetExceededError,
  Pipeline,
  type Pricing,
  QuotaExceededError,
  Step,
  StepFailedError,
} from "../../../src/index.ts";
import { acting, actTool, crashAt } from "../call/call-fixture.ts";
import { budgetOf, callsOf, jobRunner, jobSpec, stepsOf } from "../job-fixture.ts";
import {
  failureAs,
  failureOf,
  memoryStore,
  noteTool,
  noting,
  scriptedAgent,
  toolResults,
} from "../run-fixture.ts";

describe("a step budget", () => {
  /** Steps that record when they are entered. */
  function entering(...names: string[]) {
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, () => {
        entered.push(name);
        return name;
      });
    return { pipeline: Pipeline.of("p", ...names.map(step)), entered };
  }

  it("that is used up stops the next step in every resume until it is raised", async () => {
    const store = await memoryStore();
    const { pipeline, entered } = entering("a", "b", "c");
    const runner = jobRunner(pipeline, store);
    const spec = jobSpec({ budgets: { maxSteps: 2 } });

    const error = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec }));
    expect(budgetOf(error)).toEqual(["maxSteps", 2, 3]);
    expect(error.message).toContain("resume it with a higher maxSteps");
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", error: { code: "budget_exceeded" } });
    expect(budgetOf(await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1" })))).toEqual([
      "maxSteps",
      2,
      3,
    ]);
    await failureAs(BudgetExceededError, runner.resume("r-1"));
    expect(entered).toEqual(["a", "b"]);
    expect(await stepsOf(store)).toEqual(["a succeeded", "b succeeded"]);

    expect((await runner.resume("r-1", { budgets: { maxSteps: 3 } })).output).toBe("c");
    expect(entered).toEqual(["a", "b", "c"]);
  });

  it("counts a step once, however often it is entered", async () => {
    const store = await memoryStore();
    let times = 0;
    const flaky = Step.run("a", () => {
      times += 1;
      if (times < 4) throw new Error("Not yet.");
    });
    const runner = jobRunner(
      Pipeline.of(
        "p",
        flaky,
        Step.run("b", () => "done"),
      ),
      store,
    );
    await failureOf(runner.run("Go", { runId: "r-1", spec: jobSpec({ budgets: { maxSteps: 2 } }) }));
    for (let resumes = 1; resumes <= 2; resumes++) await failureAs(StepFailedError, runner.resume("r-1"));
    expect((await runner.resume("r-1")).output).toBe("done");
  });

  it("counts the iterations of a loop, and the loop", async () => {
    const store = await memoryStore();
    const loop = Step.loop(
      "again",
      Step.run("turn", (n: number) => n + 1),
      {
        until: (n) => n === 5,
        maxIterations: 9,
      },
    );
    const runner = jobRunner(loop, store);
    const spec = jobSpec({ budgets: { maxSteps: 3 } });
    expect(budgetOf(await failureAs(BudgetExceededError, runner.run(0, { runId: "r-1", spec })))).toEqual([
      "maxSteps",
      3,
      4,
    ]);
    expect((await runner.resume("r-1", { budgets: { maxSteps: 6 } })).output).toBe(5);
    expect(await stepsOf(store)).toHaveLength(6);
  });
});

describe("a tool call budget", () => {
  it("runs all calls of a response or none; the response is kept and charged once", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { agent, prompts } = scriptedAgent([acting("a", "b"), acting("c", "d"), { text: "End." }], {
      tools: { act },
    });
    const runner = jobRunner(agent, store);
    const spec = jobSpec({ budgets: { maxToolCalls: 3 } });

    const error = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec }));
    expect(budgetOf(error)).toEqual(["maxToolCalls", 3, 4]);
    await failureAs(BudgetExceededError, runner.resume("r-1"));
    expect([whats, prompts.length]).toEqual([["a", "b"], 2]);
    expect(await callsOf(store)).toEqual([
      "r-1/worker#1.1 act succeeded",
      "r-1/worker#1.2 act succeeded",
      "r-1/worker#2.1 act prepared",
      "r-1/worker#2.2 act prepared",
    ]);

    const result = await runner.resume("r-1", { budgets: { maxToolCalls: 4 } });
    expect(result.output).toBe("End.");
    expect(whats).toEqual(["a", "b", "c", "d"]);
    expect(prompts).toHaveLength(3);
    expect(toolResults(prompts[2])).toHaveLength(4);
    expect(result.usage).toMatchObject({ modelCalls: 3, charged: { tokens: 45 } });
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("may be used up completely", async () => {
    const store = await memoryStore();
    const { act, whats } = actTool();
    const { agent } = scriptedAgent([acting("a", "b"), acting("c"), { text: "End." }], { tools: { act } });
    const spec = jobSpec({ budgets: { maxToolCalls: 3 } });
    expect((await jobRunner(agent, store).run("Go", { runId: "r-1", spec })).output).toBe("End.");
    expect(whats).toEqual(["a", "b", "c"]);
  });

  it("of zero lets an agent answer but call nothing", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const spec = jobSpec({ budgets: { maxToolCalls: 0 } });
    const talker = scriptedAgent([{ text: "Hello" }], { tools: { note } }).agent;
    expect((await jobRunner(talker, store).run("Go", { spec })).output).toBe("Hello");
    const doer = scriptedAgent([noting("one")], { tools: { note } }).agent;
    await failureAs(BudgetExceededError, jobRunner(doer, store).run("Do", { spec }));
    const code = Step.run("a", (_input, ctx) => ctx.call(note, { text: "one" }));
    await failureAs(BudgetExceededError, jobRunner(code, store).run("Do", { spec }));
    expect(done).toEqual([]);
  });

  it("applies to the calls of a code step, whose code cannot catch it", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    let completed = 0;
    const code = Step.run("a", async (_input, ctx) => {
      for (const text of ["one", "two", "three"]) await ctx.call(note, { text }).catch(() => "swallowed");
      completed += 1;
    });
    const runner = jobRunner(code, store);
    const spec = jobSpec({ budgets: { maxToolCalls: 2 } });

    const error = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec }));
    expect(budgetOf(error)).toEqual(["maxToolCalls", 2, 3]);
    await failureAs(BudgetExceededError, runner.resume("r-1"));
    expect([done, completed]).toEqual([["one", "two"], 0]);
    expect(await callsOf(store)).toEqual(["r-1/a#0.1 note succeeded", "r-1/a#0.2 note succeeded"]);

    await runner.resume("r-1", { budgets: { maxToolCalls: 3 } });
    expect([done, completed]).toEqual([["one", "two", "three"], 1]);
  });

  it("lets the parallel calls of a code step that fit finish, and starts no other", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool(async (text) => {
      await new Promise(setImmediate);
      return text;
    });
    const code = Step.run("a", (_input, ctx) =>
      Promise.all(["one", "two", "three", "four"].map((text) => ctx.call(note, { text }))),
    );
    const runner = jobRunner(code, store);
    const spec = jobSpec({ budgets: { maxToolCalls: 2 } });
    await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec }));
    expect(done).toHaveLength(2);
    expect((await callsOf(store)).map((call) => call.split(" ").at(-1))).toEqual(["succeeded", "succeeded"]);
    const { output } = await runner.resume("r-1", { budgets: { maxToolCalls: 4 } });
    expect(output).toEqual(["one", "two", "three", "four"]);
    expect(done.toSorted()).toEqual(["four", "one", "three", "two"]);
  });

  it("covers the whole run: steps, agents and resumes together, and a replayed call counts once", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const code = Step.run("code", (_input, ctx) => ctx.call(note, { text: "one" }));
    const { agent } = scriptedAgent([noting("two"), noting("three"), { text: "End." }], { tools: { note } });
    const pipeline = Pipeline.of("p", code, Step.granular("talk", agent));
    const spec = jobSpec({ budgets: { maxToolCalls: 3 } });
    const make = (probe?: ReturnType<typeof crashAt>) =>
      jobRunner(pipeline, store, probe === undefined ? {} : { probe });
    await failureOf(make(crashAt("step:before-finish")).run("Go", { runId: "r-1", spec }));
    await failureOf(make(crashAt("turn:committed")).resume("r-1"));
    expect((await make().resume("r-1")).output).toBe("End.");
    expect(done).toEqual(["one", "two", "three"]);
  });
});

const settings = { maxOutputTokens: 100 };
const PRICES: Pricing = {
  id: "plan-1",
  models: { "scripted-model": { inputPerMillion: 1_000_000, outputPerMillion: 1_000_000 } },
};

describe("a token or money budget", () => {
  it("that does not cover the first call sends nothing, and the error names it", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }], { settings });
    const runner = jobRunner(agent, store, { pricing: PRICES });
    const tokens = jobSpec({ budgets: { maxTokens: 50 } });
    const money = jobSpec({ budgets: { maxCostUsd: 0.000_05 } });

    const short = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec: tokens }));
    const poor = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-2", spec: money }));

    expect(short.details).toMatchObject({ budget: "maxTokens", limit: 50 });
    expect(poor.details).toMatchObject({ budget: "maxCostUsd", limit: 0.000_05 });
    expect(short.details.used).toBeGreaterThan(100);
    expect(poor.details.used).toBe(short.details.used / 1_000_000);
    expect(prompts).toEqual([]);
    expect((await runner.resume("r-1", { budgets: { maxTokens: 500 } })).output).toBe("Hello");
    expect((await runner.resume("r-2", { budgets: { maxCostUsd: 0.5 } })).output).toBe("Hello");
    expect((await store.getRun("r-2"))?.limit).toEqual({ tokens: null, microDollars: 500_000 });
  });

  it("counts what was used before a resume, and keeps every receipt", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const usage = { inputTokens: 300, outputTokens: 50 };
    const { agent, prompts } = scriptedAgent([{ ...noting("one"), usage }, { text: "Hello" }], {
      settings,
      tools: { note },
    });
    const runner = jobRunner(agent, store);
    const spec = jobSpec({ budgets: { maxTokens: 400 } });

    const error = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec }));
    expect(error.details.used).toBeGreaterThan(450);
    await failureAs(BudgetExceededError, runner.resume("r-1"));
    expect([done, prompts.length]).toEqual([["one"], 1]);
    expect(await callsOf(store)).toEqual(["r-1/worker#1.1 note succeeded"]);
    expect(await store.getRun("r-1")).toMatchObject({ charged: { tokens: 350 }, reserved: { tokens: 0 } });

    expect((await runner.resume("r-1", { budgets: { maxTokens: 1_000 } })).output).toBe("Hello");
    expect(done).toEqual(["one"]);
  });

  it("of the caller that is lower than the contract's is named in the error", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hello" }], { settings });
    const runner = jobRunner(agent, store);
    const spec = jobSpec({ budgets: { maxTokens: 10_000 } });
    const run = runner.run("Go", { runId: "r-1", spec, budget: { tokens: 50 } });
    expect((await failureAs(QuotaExceededError, run)).details).toMatchObject({
      unit: "tokens",
      remaining: 50,
    });
  });

  it("of the caller that is higher than the contract's does not replace it, now or in a later process", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const usage = { inputTokens: 300, outputTokens: 50 };
    const script = ["one", "two", "three", "four"].map((text) => ({ ...noting(text), usage }));
    const { agent } = scriptedAgent([...script, { text: "Hello" }], { settings, tools: { note } });
    const options = {
      runId: "r-1",
      spec: jobSpec({ budgets: { maxTokens: 900 } }),
      budget: { tokens: 9_000 },
    };
    const release = new AbortController();
    const first = jobRunner(agent, store, {
      onEvent: (event) => {
        if (event.type === "turn.committed") release.abort();
      },
    });
    expect((await first.run("Go", { ...options, release: release.signal })).status).toBe("queued");
    expect((await store.getRun("r-1"))?.limit.tokens).toBe(900);

    // The same options again, as after a process restart.
    const error = await failureAs(BudgetExceededError, jobRunner(agent, store).run("Go", options));

    expect(error.details).toMatchObject({ budget: "maxTokens", limit: 900 });
    expect([done, (await store.getRun("r-1"))?.limit.tokens]).toEqual([["one", "two"], 900]);
    await failureAs(
      BudgetExceededError,
      jobRunner(agent, store).resume("r-1", { budget: { tokens: 9_000 } }),
    );
    expect(done).toEqual(["one", "two"]);
  });
});

describe("budgets in a resume", () => {
  it.each([{ maxSteps: 0 }, { maxToolCalls: 1.5 }, { maxTokens: -1 }, { maxStep: 3 }])(
    "that are invalid are refused, and the run is left unchanged: %j",
    async (budgets) => {
      const store = await memoryStore();
      const runner = jobRunner(
        Pipeline.of(
          "p",
          Step.run("a", () => 1),
          Step.run("b", () => 2),
        ),
        store,
      );
      await failureOf(runner.run("Go", { runId: "r-1", spec: jobSpec({ budgets: { maxSteps: 1 } }) }));
      await expect(runner.resume("r-1", { budgets })).rejects.toThrow(Object.keys(budgets)[0]);
      expect(await store.getRun("r-1")).toMatchObject({
        status: "failed",
        epoch: 1,
        budgets: { maxSteps: 1 },
      });
    },
  );

  it("may be given to a run without a contract", async () => {
    const store = await memoryStore();
    let broken = true;
    const a = Step.run("a", () => {
      if (broken) throw new Error("Not yet.");
    });
    const runner = jobRunner(
      Pipeline.of(
        "p",
        a,
        Step.run("b", () => 2),
      ),
      store,
    );
    await failureOf(runner.run("Go", { runId: "r-1" }));
    broken = false;
    await failureAs(BudgetExceededError, runner.resume("r-1", { budgets: { maxSteps: 1 } }));
    expect((await runner.resume("r-1", { budgets: { maxSteps: 2 } })).output).toBe(2);
  });
});

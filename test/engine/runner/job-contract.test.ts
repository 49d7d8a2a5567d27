// The contract of a run: checked before the run is created, stored with it, and unchanged for its lifetime.

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  Pipeline,
  type Pricing,
  RunNotBegunError,
  Runner,
  type RunnerOptions,
  type RunSpecInput,
  Step,
} from "../../../src/index.ts";
import { fetchTool, jobRunner, jobSpec, temporaryFolder } from "../job-fixture.ts";
import { failureAs, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const hello = () =>
  Pipeline.of(
    "hello",
    Step.run("greet", (name: string) => `Hello ${name}`),
  );

const PRICES: Pricing = {
  id: "plan-1",
  models: { "scripted-model": { inputPerMillion: 2_500_000, outputPerMillion: 10_000_000 } },
};

describe("a run with a contract", () => {
  it("stores it with all defaults, in either spelling", async () => {
    const store = await memoryStore();
    const spec = { objective: "Greet.", budgets: { max_steps: 5 }, artifacts: { workspace_dir: "out" } };
    await jobRunner(hello(), store).run("Ada", { runId: "r-1", spec });
    const run = await store.getRun("r-1");
    expect(run?.spec).toMatchObject({
      objective: "Greet.",
      pipeline: null,
      budgets: { maxSteps: 5, maxToolCalls: null, countWaitingTime: false },
      escalation: { askHumanOnAuthFailure: true, askHumanOnBudgetReached: false },
      artifacts: { workspaceDir: "out", expectedOutputs: [], finalOutput: null },
    });
    expect(run?.budgets).toEqual(run?.spec?.budgets);
  });

  it("accepts the same contract again, in another spelling, and returns its result", async () => {
    const store = await memoryStore();
    const runner = jobRunner(hello(), store);
    await runner.run("Ada", { runId: "r-1", spec: jobSpec({ budgets: { maxSteps: 5 } }) });
    const spec = { objective: "Do the work.", budgets: { max_steps: 5 } };
    expect((await runner.run("Ada", { runId: "r-1", spec })).output).toBe("Hello Ada");
    expect((await runner.run("Ada", { runId: "r-1" })).output).toBe("Hello Ada");
  });

  it("refuses another contract, and names the differences", async () => {
    const store = await memoryStore();
    const runner = jobRunner(hello(), store);
    const first = jobSpec({ budgets: { maxSteps: 5 }, stopConditions: [] });
    await runner.run("Ada", { runId: "r-1", spec: first });
    const other: RunSpecInput = {
      objective: "Do other work.",
      budgets: { maxSteps: 6 },
      constraints: { forbiddenActions: ["send_*"] },
    };

    const error = await failureAs(ConfigurationError, runner.run("Ada", { runId: "r-1", spec: other }));

    expect(error.details.changes).toEqual([
      { path: "budgets.maxSteps", was: 5, is: 6 },
      { path: "constraints.forbiddenActions", was: [], is: ["send_*"] },
      { path: "objective", was: "Do the work.", is: "Do other work." },
    ]);
    expect(error.message).toContain("budgets.maxSteps was 5 and is 6");
    expect((await store.getRun("r-1"))?.spec?.budgets.maxSteps).toBe(5);
  });

  it("refuses a contract if it was started without one", async () => {
    const store = await memoryStore();
    const runner = jobRunner(hello(), store);
    await runner.run("Ada", { runId: "r-1" });
    const error = await failureAs(ConfigurationError, runner.run("Ada", { runId: "r-1", spec: jobSpec() }));
    expect(error.message).toContain("without a RunSpec");
  });

  it("keeps its spec when it is resumed with other budgets, which are recorded", async () => {
    const store = await memoryStore();
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => 1),
      Step.run("b", () => 2),
    );
    const runner = jobRunner(pipeline, store);
    await expect(
      runner.run(null, { runId: "r-1", spec: jobSpec({ budgets: { maxSteps: 1 } }) }),
    ).rejects.toThrow("maxSteps");
    await runner.resume("r-1", { budgets: { maxSteps: 2 } });
    const run = await store.getRun("r-1");
    expect([run?.status, run?.spec?.budgets.maxSteps, run?.budgets?.maxSteps]).toEqual(["succeeded", 1, 2]);
    const claimed = (await store.listEvents("r-1")).filter(({ type }) => type === "run.claimed");
    expect(claimed).toMatchObject([{ data: { budgets: { maxSteps: 2 } } }]);
  });

  it("is found by its contract too if no id is given", async () => {
    const store = await memoryStore();
    const runner = jobRunner(Step.human("check", { question: "Continue?" }), store);
    const first = await runner.run("Go", { spec: jobSpec() });
    const same = await failureAs(RunNotBegunError, runner.run("Go", { spec: jobSpec() }));
    const other = await runner.run("Go", { spec: jobSpec({ budgets: { maxSteps: 9 } }) });
    const without = await runner.run("Go");
    expect(first.status).toBe("waiting");
    expect(same.details.runIds).toEqual([first.runId]);
    expect(new Set([first, other, without].map(({ runId }) => runId)).size).toBe(3);
  });
});

describe("an unusable contract is refused before the run is created", () => {
  async function refused(
    runner: (options: RunnerOptions) => Runner<unknown>,
    spec: RunSpecInput,
    options: RunnerOptions = {},
  ): Promise<ConfigurationError> {
    const store = await memoryStore();
    const made = runner({ store, workspaceRoot: temporaryFolder(), ...options });
    const error = await failureAs(ConfigurationError, made.run("Go", { runId: "r-1", spec }));
    expect(await store.listRuns()).toEqual([]);
    return error;
  }
  const greeter = (options: RunnerOptions) => new Runner(hello(), options);
  const speaker = (options: RunnerOptions) =>
    new Runner(Pipeline.of("p", Step.granular("speak", scriptedAgent([{ text: "Hi" }]).agent)), options);

  it("because it is for another pipeline", async () => {
    const error = await refused(greeter, jobSpec({ pipeline: "report" }));
    expect(error.message).toMatch(/for pipeline report, and this is hello/);
  });

  it("because a stop condition is not registered, and the error lists the known ones", async () => {
    const spec = jobSpec({ stopConditions: ["mail_sent", "report_made", "uploaded"] });
    const error = await refused(greeter, spec, { stopConditions: { report_made: () => true } });
    expect(error.details).toEqual({ unknown: ["mail_sent", "uploaded"] });
    expect(error.message).toContain("known are report_made");
  });

  it("because it has a budget in money, and the model of an inner step has no price", async () => {
    const error = await refused(speaker, jobSpec({ budgets: { maxCostUsd: 1 } }));
    expect(error.message).toMatch(/maxCostUsd, and model scripted-model has no price/);
  });

  it("because no domain is allowed by both it and the runner", async () => {
    const spec = jobSpec({ constraints: { allowedDomains: ["b.example"] } });
    const error = await refused(greeter, spec, { constraints: { allowedDomains: ["a.example"] } });
    expect(error.message).toMatch(/\(a\.example\) and the RunSpec \(b\.example\)/);
  });

  it("because it has mistakes, all of which are named", async () => {
    const spec = { objective: "", budgets: { max_steps: 0 }, stop_conditons: ["x"] };
    const error = await refused(greeter, spec);
    expect(error.message).toMatch(/3 mistakes/);
  });

  it("and is accepted if the model has a price", async () => {
    const store = await memoryStore();
    const { agent } = scriptedAgent([{ text: "Hi" }]);
    const spec = jobSpec({ budgets: { maxCostUsd: 1 } });
    const run = await jobRunner(agent, store, { pricing: PRICES }).run("Go", { runId: "r-1", spec });
    expect(run.status).toBe("succeeded");
    expect((await store.getRun("r-1"))?.limit).toEqual({ tokens: null, microDollars: 1_000_000 });
  });
});

describe("a run that cannot be resumed", () => {
  it("is left unchanged if its stop condition is not registered any more", async () => {
    const store = await memoryStore();
    let broken = true;
    const step = Step.run("a", () => {
      if (broken) throw new Error("Not yet.");
      return 1;
    });
    const stopConditions = { always: () => true };
    const spec = jobSpec({ stopConditions: ["always"] });
    const options = { stopConditions, workspaceRoot: temporaryFolder() };
    await expect(jobRunner(step, store, options).run("Go", { runId: "r-1", spec })).rejects.toThrow(
      "Not yet.",
    );
    await failureAs(ConfigurationError, jobRunner(step, store).resume("r-1"));
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", epoch: 1, owner: null });
    broken = false;
    expect((await jobRunner(step, store, options).resume("r-1")).output).toBe(1);
  });
});

describe("the constraints of a contract", () => {
  it("forbid what either the contract or the runner forbids", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } });
    const spec = jobSpec({ constraints: { forbiddenActions: ["note"] } });
    const constraints = { forbiddenActions: ["send_*"] };
    await jobRunner(agent, store, { constraints }).run("Go", { runId: "r-1", spec });
    expect(done).toEqual([]);
    expect(
      (await store.listToolCalls("r-1")).map(({ status, receipt }) => [status, receipt?.errorCode]),
    ).toEqual([["cancelled", "forbidden"]]);
  });

  it("apply to a later resume without being given again", async () => {
    const store = await memoryStore();
    const { fetchPage, fetched } = fetchTool();
    const step = Step.run("a", async (_input, ctx) => {
      const said = await ctx.call(fetchPage, { url: "https://b.example/" }).catch(String);
      if ((await store.listAttempts("r-1")).length === 1) throw new Error("The process crashed.");
      return said;
    });
    const runner = jobRunner(step, store);
    const spec = jobSpec({ constraints: { allowedDomains: ["a.example"] } });
    await expect(runner.run("Go", { runId: "r-1", spec })).rejects.toThrow("crashed");
    expect((await runner.resume("r-1")).output).toContain("b.example");
    expect(fetched).toEqual([]);
  });
});

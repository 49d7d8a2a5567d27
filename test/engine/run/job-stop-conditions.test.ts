// Stop conditions of a job: once all of them hold the remaining steps are skipped, and at the end all must hold.

import { describe, expect, it } from "vitest";
import {
  artifactKept,
  ConfigurationError,
  Pipeline,
  type RunnerOptions,
  Step,
  StepFailedError,
  type StopState,
  succeededOnce,
  UnmetConditionsError,
} from "../../../src/index.ts";
import { crashAt } from "../call/call-fixture.ts";
import { jobRunner, jobSpec, stepsOf, temporaryFolder } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";
import { saying, sayTool, words } from "../session-fixture.ts";

/** Steps that record that they were entered, and with what input. */
function entering() {
  const entered: string[] = [];
  const step = (name: string) =>
    Step.run(name, (input: string) => {
      entered.push(`${name}(${input})`);
      return `${input} ${name}`;
    });
  return { step, entered };
}

const holdsAt = (output: string) => (run: StopState) => run.output === output;

describe("a job whose stop conditions all hold", () => {
  it("skips the remaining steps, and returns the last output", async () => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const pipeline = Pipeline.of(
      "p",
      step("a"),
      step("b"),
      Pipeline.of("rest", step("c"), Step.loop("again", step("d"), { until: () => true, maxIterations: 2 })),
      Step.granular("talk", scriptedAgent([]).agent),
    );
    const stopConditions = { at_b: holdsAt("Go a b"), always: () => true };
    const runner = jobRunner(pipeline, store, { stopConditions });
    const spec = jobSpec({ stopConditions: ["at_b", "always"] });

    const { status, output } = await runner.run("Go", { runId: "r-1", spec });

    expect([status, output]).toEqual(["succeeded", "Go a b"]);
    expect(entered).toEqual(["a(Go)", "b(Go a)"]);
    expect(await stepsOf(store)).toEqual([
      "a succeeded",
      "b succeeded",
      "rest/c skipped",
      "rest/again skipped",
      "talk skipped",
    ]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("skips the rest of the current pipeline and of the enclosing ones", async () => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const pipeline = Pipeline.of("p", Pipeline.of("first", step("a"), step("b")), step("c"));
    const runner = jobRunner(pipeline, store, { stopConditions: { at_a: holdsAt("Go a") } });
    await runner.run("Go", { runId: "r-1", spec: jobSpec({ stopConditions: ["at_a"] }) });
    expect(entered).toEqual(["a(Go)"]);
    expect(await stepsOf(store)).toEqual(["first/a succeeded", "first/b skipped", "c skipped"]);
  });

  it("leaves a loop, whatever its `until` says, and skips the rest of the iteration", async () => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const body = Pipeline.of("body", step("x"), step("y"));
    const loop = Step.loop("again", body, { until: () => false, maxIterations: 9 });
    const runner = jobRunner(Pipeline.of("p", loop, step("z")), store, {
      stopConditions: { twice: holdsAt("Go x y x") },
    });
    const { output } = await runner.run("Go", { runId: "r-1", spec: jobSpec({ stopConditions: ["twice"] }) });
    expect(output).toBe("Go x y x");
    expect(entered).toEqual(["x(Go)", "y(Go x)", "x(Go x y)"]);
    expect(await stepsOf(store)).toEqual([
      "again succeeded",
      "again[1]/body/x succeeded",
      "again[1]/body/y succeeded",
      "again[2]/body/x succeeded",
      "again[2]/body/y skipped",
      "z skipped",
    ]);
  });

  it("continues while one of them does not hold", async () => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const stopConditions = { at_a: holdsAt("Go a"), always: () => true, at_c: holdsAt("Go a b c") };
    const runner = jobRunner(Pipeline.of("p", step("a"), step("b"), step("c")), store, { stopConditions });
    await failureOf(runner.run("Go", { spec: jobSpec({ stopConditions: ["at_a", "at_c"] }) }));
    expect(entered).toHaveLength(3);
  });

  it("continues until the expected outputs exist: the step that makes them is entered", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const { step, entered } = entering();
    const pipeline = Pipeline.of(
      "p",
      Step.run("send", (_input, ctx) => ctx.call(note, { text: "sent" }).then(() => "Go")),
      Step.run("report", (input: string, ctx) => ctx.artifact("report.md", "Sent.").then(() => input)),
      step("extra"),
    );
    const runner = jobRunner(pipeline, store, { stopConditions: { sent: succeededOnce("note") } });
    const spec = jobSpec({ stopConditions: ["sent"], artifacts: { expectedOutputs: ["report.md"] } });
    expect((await runner.run("Go", { runId: "r-1", spec })).status).toBe("succeeded");
    expect(await stepsOf(store)).toEqual(["send succeeded", "report succeeded", "extra skipped"]);
    expect([done, entered]).toEqual([["sent"], []]);
  });

  it("runs to its last step if its spec names none, whatever is registered", async () => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const pipeline = Pipeline.stoppingWhen(Pipeline.of("p", step("a"), step("b")), { always: () => true });
    await jobRunner(pipeline, store, { stopConditions: { too: () => true } }).run("Go", { spec: jobSpec() });
    await jobRunner(pipeline, store).run("Go", { runId: "r-2" });
    expect(entered).toHaveLength(4);
  });
});

describe("a skipped step", () => {
  /** Its output cites a page that was never fetched, so the job is not done after its steps. */
  const START = "https://never.example/";

  /**
   * A job that skipped its second step and then failed its checks; later runners may evaluate the condition
   * differently.
   */
  async function skipped() {
    const store = await memoryStore();
    const { step, entered } = entering();
    const workspaceRoot = temporaryFolder();
    const make = (done: boolean) =>
      jobRunner(Pipeline.of("p", step("a"), step("b"), step("c")), store, {
        workspaceRoot,
        stopConditions: { done: ({ output }) => done || output === `${START} a b c` },
      });
    const spec = jobSpec({ stopConditions: ["done"], constraints: { mustCiteSources: true } });
    const error = await failureAs(UnmetConditionsError, make(true).run(START, { runId: "r-1", spec }));
    expect(error.details.unmet).toEqual([expect.stringContaining("which was never fetched")]);
    return { store, entered, make };
  }

  it("stays skipped when the run is resumed", async () => {
    const { store, entered, make } = await skipped();
    await failureAs(UnmetConditionsError, make(true).resume("r-1"));
    expect(entered).toEqual([`a(${START})`]);
    expect(await stepsOf(store)).toEqual(["a succeeded", "b skipped", "c skipped"]);
  });

  it("is entered with the previous step's output once the conditions do not hold any more", async () => {
    const { entered, make } = await skipped();
    await failureAs(UnmetConditionsError, make(false).resume("r-1"));
    expect(entered).toEqual([`a(${START})`, `b(${START} a)`, `c(${START} a b)`]);
  });
});

describe("a job whose steps are done while a stop condition does not hold", () => {
  it("fails, names it, and succeeds once it holds: no step is entered again", async () => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const held = { uploaded: false, mailed: false, always: true };
    const stopConditions = {
      uploaded: () => held.uploaded,
      mailed: async () => Promise.resolve(held.mailed),
      always: () => held.always,
    };
    const runner = jobRunner(Pipeline.of("p", step("a"), step("b")), store, { stopConditions });
    const spec = jobSpec({ stopConditions: ["uploaded", "always", "mailed"] });

    const error = await failureAs(UnmetConditionsError, runner.run("Go", { runId: "r-1", spec }));
    expect(error.details.unmet).toEqual([
      "stop condition uploaded does not hold",
      "stop condition mailed does not hold",
    ]);
    expect(error.message).toContain("uploaded does not hold; stop condition mailed does not hold");
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", output: null });

    held.uploaded = true;
    expect((await failureAs(UnmetConditionsError, runner.resume("r-1"))).details.unmet).toHaveLength(1);
    held.mailed = true;
    expect((await runner.resume("r-1")).output).toBe("Go a b");
    expect(entered).toEqual(["a(Go)", "b(Go a)"]);
  });
});

describe("a resumed job whose stop conditions hold already", () => {
  /** A job that is done when its second step has sent its note; a last step follows. */
  async function interrupted(at: Parameters<typeof crashAt>[0], nth: number) {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => "a"),
      Pipeline.of(
        "send",
        Step.run("b", async (input: string, ctx) => {
          await ctx.call(note, { text: input });
          return "b";
        }),
      ),
      Step.run("c", () => "c"),
    );
    const options = { stopConditions: { noted: succeededOnce("note") }, workspaceRoot: temporaryFolder() };
    const spec = jobSpec({ stopConditions: ["noted"] });
    await failureOf(
      jobRunner(pipeline, store, { ...options, probe: crashAt(at, nth) }).run("Go", { runId: "r-1", spec }),
    );
    const { output } = await jobRunner(pipeline, store, options).resume("r-1");
    return { output, done, steps: await stepsOf(store) };
  }

  it.each([
    ["in the step that made them hold", "tool:receipt-stored", 1],
    ["after the step that made them hold", "step:finished", 2],
    ["at its end", "run:before-finish", 1],
  ] as const)("that was interrupted %s ends as it would have", async (_when, at, nth) => {
    const { output, done, steps } = await interrupted(at, nth);
    expect([output, done]).toEqual(["b", ["a"]]);
    expect(steps).toEqual(["a succeeded", "send/b succeeded", "c skipped"]);
  });
});

describe("a stop condition", () => {
  it("sees the receipts, the artifacts, the session and the output of the run", async () => {
    const store = await memoryStore();
    const { say } = sayTool();
    const seen: unknown[] = [];
    const write = Step.run("write", async (text: string, ctx) => {
      await ctx.artifact("report.md", text);
      return { text };
    });
    const { agent } = scriptedAgent([saying("hello"), { text: "Said." }], { tools: { say } });
    const stopConditions = {
      looks: ({ runId, calls, artifacts, session, output }: StopState) => {
        const [call] = calls;
        seen.push([runId, call?.tool, call?.receipt?.output.value, artifacts.map(({ name }) => name)]);
        seen.push([session.query(words).all(), output]);
        return artifacts.length > 0;
      },
    };
    const runner = jobRunner(Pipeline.of("p", Step.granular("talk", agent), write), store, {
      stopConditions,
      slices: [words],
    });
    await runner.run("Go", { runId: "r-1", spec: jobSpec({ stopConditions: ["looks"] }) });
    expect(seen).toEqual([
      ["r-1", "say", "said hello", []],
      [["hello"], "Said."],
      ["r-1", "say", "said hello", ["report.md"]],
      [["hello"], { text: "Said." }],
    ]);
  });

  it("of the pipeline takes precedence over one of the configuration with the same name", async () => {
    const store = await memoryStore();
    const pipeline = Pipeline.stoppingWhen(
      Pipeline.of(
        "p",
        Step.run("a", () => 1),
      ),
      { done: () => true },
    );
    const runner = jobRunner(pipeline, store, { stopConditions: { done: () => false } });
    const { status } = await runner.run("Go", { spec: jobSpec({ stopConditions: ["done"] }) });
    expect(status).toBe("succeeded");
  });

  it("may be artifactKept or succeededOnce", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), noting("two"), { text: "End." }], { tools: { note } });
    const stopConditions = { noted_once: succeededOnce("note"), kept: artifactKept("report.md") };
    const spec = jobSpec({ stopConditions: ["noted_once", "kept"] });
    const error = await failureAs(
      UnmetConditionsError,
      jobRunner(agent, store, { stopConditions }).run("Go", { runId: "r-1", spec }),
    );
    expect(error.details.unmet).toHaveLength(2);

    const short = scriptedAgent([noting("one"), { text: "End." }], { tools: { note } }).agent;
    const keep = Step.run("keep", (text: string, ctx) => ctx.artifact("report.md", text));
    const pipeline = Pipeline.of("p", Step.granular("talk", short), keep);
    expect((await jobRunner(pipeline, store, { stopConditions }).run("Go", { spec })).status).toBe(
      "succeeded",
    );
  });

  it.each<[string, () => never | boolean, RegExp]>([
    ["throws", () => must<boolean>(null), /stop condition strange.*Expected a value/i],
    ["returns no boolean", () => "yes" as unknown as boolean, /stop condition strange.*string/i],
    ["returns nothing", () => undefined as unknown as boolean, /stop condition strange.*undefined/i],
  ])("that %s fails the run with its name, and the run can be resumed", async (_what, condition, message) => {
    const store = await memoryStore();
    const { step, entered } = entering();
    const pipeline = Pipeline.of("p", step("a"), step("b"));
    const workspaceRoot = temporaryFolder();
    const make = (strange: () => boolean) =>
      jobRunner(pipeline, store, { workspaceRoot, stopConditions: { strange } });
    const spec = jobSpec({ stopConditions: ["strange"] });
    const error = await failureAs(StepFailedError, make(condition).run("Go", { runId: "r-1", spec }));
    expect(error.message).toMatch(message);
    expect((await store.getRun("r-1"))?.status).toBe("failed");
    expect((await make(() => true).resume("r-1")).output).toBe("Go a");
    expect(entered).toEqual(["a(Go)"]);
  });

  it("that throws in a loop is named too", async () => {
    const store = await memoryStore();
    const { step } = entering();
    const loop = Step.loop("again", step("a"), { until: () => false, maxIterations: 3 });
    const options: RunnerOptions = { stopConditions: { strange: () => must<boolean>(null) } };
    const run = jobRunner(loop, store, options).run("Go", { spec: jobSpec({ stopConditions: ["strange"] }) });
    expect((await failureAs(StepFailedError, run)).message).toMatch(/stop condition strange/i);
  });

  it("that is no function is refused when the pipeline is made", () => {
    const pipeline = Pipeline.of(
      "p",
      Step.run("a", () => 1),
    );
    const wrong = { done: true } as never;
    expect(() => Pipeline.stoppingWhen(pipeline, wrong)).toThrow(ConfigurationError);
  });
});

// Control errors pass through as they were thrown; other errors are wrapped with the step that failed.

import { describe, expect, it } from "vitest";
import {
  InfiniteRedirectError,
  PausedError,
  type PawlError,
  Pipeline,
  PipelineAbortError,
  Runner,
  Step,
  StepFailedError,
  type StepNode,
  type Store,
} from "../../../src/index.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import { failureAs, failureOf, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const thrown = [
  ["PausedError", () => new PausedError("Wait for Ann.", { who: "ann" }), "waiting", "blocked"],
  ["PipelineAbortError", () => new PipelineAbortError("Stop."), "cancelled", "failed"],
  ["InfiniteRedirectError", () => new InfiniteRedirectError("Round and round."), "failed", "failed"],
] as const;

/** Each place where user code can throw, as a step that throws there. */
const places: readonly [string, (error: Error) => StepNode][] = [
  [
    "a code step",
    (error) =>
      Step.run("a", () => {
        throw error;
      }),
  ],
  [
    "a tool of an agent",
    (error) => {
      const { note } = noteTool(() => Promise.reject(error));
      return scriptedStep("a", note);
    },
  ],
  [
    "a tool of a code step, behind a catch",
    (error) => {
      const { note } = noteTool(() => Promise.reject(error));
      return Step.run("a", (_input, ctx) => ctx.call(note, { text: "one" }).catch(() => "swallowed"));
    },
  ],
  [
    "`until` of a loop",
    (error) =>
      Step.loop(
        "a",
        Step.run("body", () => 1),
        {
          until: () => {
            throw error;
          },
          maxIterations: 2,
        },
      ),
  ],
  [
    "a step deep inside",
    (error) => {
      const deep = Step.run("deep", () => Promise.reject(error));
      const body = Pipeline.of("body", deep);
      return Pipeline.of("outer", Step.loop("a", body, { until: () => true, maxIterations: 2 }));
    },
  ],
  [
    "a completion predicate",
    (error) => {
      const { agent } = scriptedAgent([{ text: "Hello" }]);
      const completion = () => {
        throw error;
      };
      return Step.granular("a", agent, { completion });
    },
  ],
];

function scriptedStep(name: string, note: ReturnType<typeof noteTool>["note"]) {
  const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
  return Step.granular(name, agent);
}

const runnerOf = (store: Store, step: StepNode) =>
  new Runner(
    Pipeline.of(
      "p",
      step,
      Step.run("never", () => expect.unreachable()),
    ),
    { store },
  );

describe.each(thrown)("a %s", (_name, make, status, stepStatus) => {
  it.each(places)(
    "thrown by %s passes through unchanged, and determines the status of the run",
    async (_place, stepOf) => {
      const store = await memoryStore();
      const error: PawlError = make();

      expect(await failureOf(runnerOf(store, stepOf(error)).run("Go", { runId: "r-1" }))).toBe(error);

      const { code, message, details } = error;
      expect(await store.getRun("r-1")).toMatchObject({
        status,
        error: { code, message, details },
        owner: null,
        reserved: { tokens: 0 },
      });
      const steps = await store.listSteps("r-1");
      expect(steps.some((step) => step.status === stepStatus)).toBe(true);
      expect(steps.every((step) => step.status !== "running")).toBe(true);
    },
  );
});

describe("a paused run", () => {
  it("is returned as it is by `run`, and continued by `resume`", async () => {
    const store = await memoryStore();
    let paused = true;
    const step = Step.run("a", () => {
      if (paused) throw new PausedError("Wait for Ann.");
      return "continued";
    });
    const runner = new Runner(step, { store });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    expect(await runner.run("Go", { runId: "r-1" })).toMatchObject({ status: "waiting", output: null });
    paused = false;
    expect(await runner.resume("r-1")).toMatchObject({ status: "succeeded", output: "continued" });
    expect((await store.getRun("r-1"))?.error).toBeNull();
  });

  it("that one of several tools paused keeps the receipts of the others", async () => {
    const store = await memoryStore();
    const { note } = noteTool((text) => {
      if (text === "b") throw new PausedError();
      return text;
    });
    const toolCalls = ["a", "b", "c"].map((text) => ({ name: "note", input: { text } }));
    const { agent } = scriptedAgent([{ toolCalls }], { tools: { note } });
    await failureAs(PausedError, new Runner(agent, { store }).run("Go", { runId: "r-1" }));
    const calls = await store.listToolCalls("r-1");
    expect(calls.map((call) => call.status)).toEqual(["succeeded", "in_doubt", "succeeded"]);
  });
});

describe("an opaque tool that throws a control error", () => {
  /** Throws the first time, and works from then on. */
  async function steering(error: PawlError) {
    const store = await memoryStore();
    let attempts = 0;
    const { note } = noteTool((text) => {
      if (++attempts === 1) throw error;
      return `${text} noted`;
    });
    const runner = () => new Runner(scriptedStep("a", note), { store });
    expect(await failureOf(runner().run("Go", { runId: "r-1" }))).toBe(error);
    return { store, runner, attempts: () => attempts };
  }

  it.each([
    ["pauses the run with applied: false", new PausedError("The bank is closed.", { applied: false })],
    ["aborts the run with applied: false", new PipelineAbortError("Stop.", { applied: false })],
    ["redirects the run with applied: false", new InfiniteRedirectError("Round.", { applied: false })],
  ])("and %s runs again when the run is resumed, without a question", async (_how, error) => {
    const { store, runner, attempts } = await steering(error);
    expect(await store.listToolCallAttempts("r-1")).toMatchObject([
      { attempt: 1, outcome: "not_applied", errorCode: error.code, errorDetail: error.message },
    ]);
    expect(await runner().resume("r-1")).toMatchObject({ status: "succeeded", output: "Hello", waits: [] });
    expect(attempts()).toBe(2);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it.each([
    ["pauses the run without `applied`", new PausedError("Wait.")],
    ["aborts the run without `applied`", new PipelineAbortError("Stop.")],
  ])("and %s is in doubt, and a person is asked", async (_how, error) => {
    const { runner, attempts } = await steering(error);
    expect(await runner().resume("r-1")).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt" }] });
    expect(attempts()).toBe(1);
  });

  it("is in doubt if the process crashes before that is stored", async () => {
    const store = await memoryStore();
    const { note } = noteTool(() => Promise.reject(new PausedError("Closed.", { applied: false })));
    const probe: CrashProbe = (point) => {
      if (point === "tool:before-try-end") throw new Error("The process crashed.");
    };
    const runner = (more = {}) => new Runner(scriptedStep("a", note), { store, ...more });
    await failureOf(runner({ probe }).run("Go", { runId: "r-1" }));
    expect(await runner().resume("r-1")).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt" }] });
  });
});

describe("any other error", () => {
  it("of a code step is the cause of a StepFailedError that names the step", async () => {
    const store = await memoryStore();
    const cause = new RangeError("Out of range.");
    const deep = Pipeline.of(
      "inner",
      Step.run("deep", () => Promise.reject(cause)),
    );
    const error = await failureAs(
      StepFailedError,
      new Runner(Pipeline.of("p", deep), { store }).run("Go", { runId: "r-1" }),
    );
    expect(error.cause).toBe(cause);
    expect(error.details).toEqual({ step: "inner/deep" });
    expect(error.message).toBe("Step inner/deep failed: Out of range.");
    expect((await store.listSteps("r-1"))[0]).toMatchObject({
      status: "failed",
      errorCode: "step_failed",
      errorDetail: error.message,
    });
  });

  it.each<[string, unknown]>([
    ["a text", "just words"],
    ["nothing", undefined],
    ["an error with half a character", new Error("bad \ud83d")],
    ["an AbortError of its own", new DOMException("The request was aborted.", "AbortError")],
  ])("%s: the run fails with it, and can be resumed", async (_name, value) => {
    const store = await memoryStore();
    let broken = true;
    const step = Step.run("a", () => {
      if (broken) throw value;
      return "continued";
    });
    const runner = new Runner(Pipeline.of("p", step), { store });
    const error = await failureAs(StepFailedError, runner.run("Go", { runId: "r-1" }));
    expect(error.cause).toBe(value);
    expect(error.details).toEqual({ step: "a" });
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", error: { code: "step_failed" } });
    broken = false;
    expect((await runner.resume("r-1")).output).toBe("continued");
  });

  it("whose details are not JSON still leaves a failed run behind", async () => {
    const store = await memoryStore();
    const details = { at: new Date(0), nothing: undefined } as unknown as { [key: string]: string };
    const step = Step.run("a", () => {
      throw new PausedError("Wait.", details);
    });
    await failureAs(PausedError, new Runner(step, { store }).run("Go", { runId: "r-1" }));
    expect(await store.getRun("r-1")).toMatchObject({ status: "waiting", error: { message: "Wait." } });
  });
});

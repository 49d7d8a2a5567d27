// A loop: every iteration is an instance, every decision is stored.

import { describe, expect, it } from "vitest";
import {
  MaxIterationsExceededError,
  PausedError,
  Pipeline,
  Runner,
  Step,
  StepFailedError,
} from "../../../src/index.ts";
import { failureAs, failureOf, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

describe("Step.loop", () => {
  it("runs its body on its own output until `until` returns true", async () => {
    const store = await memoryStore();
    const asked: unknown[] = [];
    const loop = Step.loop(
      "grow",
      Step.run("double", (n: number) => n * 2),
      {
        until: (output, context) => {
          asked.push([output, context]);
          return output >= 8;
        },
        maxIterations: 5,
      },
    );

    expect((await new Runner(loop, { store }).run(1, { runId: "r-1" })).output).toBe(8);

    expect(asked).toEqual([
      [2, {}],
      [4, {}],
      [8, {}],
    ]);
    expect((await store.listSteps("r-1")).map(({ path, input, output }) => [path, input, output])).toEqual([
      ["grow", 1, 8],
      ["grow[1]/double", 1, 2],
      ["grow[2]/double", 2, 4],
      ["grow[3]/double", 4, 8],
    ]);
  });

  it("accepts a promise from `until`", async () => {
    const store = await memoryStore();
    const body = Step.run("next", (n: number) => n + 1);
    const loop = Step.loop("l", body, { until: async (n) => n === 3, maxIterations: 9 });
    expect((await new Runner(loop, { store }).run(0)).output).toBe(3);
  });

  it("fails after maxIterations, and continues when it is resumed with more", async () => {
    const store = await memoryStore();
    const entered: number[] = [];
    const runner = (maxIterations: number) => {
      const body = Step.run("next", (n: number) => {
        entered.push(n);
        return n + 1;
      });
      const loop = Step.loop("l", body, { until: (n) => n === 4, maxIterations });
      return new Runner(loop, { store });
    };

    const error = await failureAs(MaxIterationsExceededError, runner(2).run(0, { runId: "r-1" }));

    expect(error.details).toEqual({ maxIterations: 2, step: "l" });
    expect((await store.getRun("r-1"))?.status).toBe("failed");
    expect((await runner(4).resume("r-1")).output).toBe(4);
    expect(entered).toEqual([0, 1, 2, 3]);
  });

  it("calls `until` again if it threw, and enters no finished iteration again", async () => {
    const store = await memoryStore();
    const entered: number[] = [];
    const judged: number[] = [];
    let broken = true;
    const body = Step.run("next", (n: number) => {
      entered.push(n);
      return n + 1;
    });
    const loop = Step.loop("l", body, {
      until: (n) => {
        judged.push(n);
        if (n === 2 && broken) throw new TypeError("until is broken");
        return n === 3;
      },
      maxIterations: 5,
    });
    const runner = new Runner(loop, { store });
    const error = await failureAs(StepFailedError, runner.run(0, { runId: "r-1" }));
    expect(error.details.step).toBe("l");
    expect(error.cause).toBeInstanceOf(TypeError);
    broken = false;
    expect((await runner.resume("r-1")).output).toBe(3);
    expect(entered).toEqual([0, 1, 2]);
    expect(judged).toEqual([1, 2, 2, 3]); // the decision about 1 was stored
  });

  it("fails if `until` returns neither true nor false", async () => {
    const store = await memoryStore();
    const until = (() => "yes") as unknown as () => boolean;
    const loop = Step.loop(
      "l",
      Step.run("a", () => 1),
      { until, maxIterations: 2 },
    );
    const error = await failureAs(StepFailedError, new Runner(loop, { store }).run(0));
    expect(error.message).toContain("return true or false");
  });

  it("stops at an iteration that fails, and resumes inside it", async () => {
    const store = await memoryStore();
    const entered: string[] = [];
    let broken = true;
    const step = (name: string) =>
      Step.run(name, (n: number, ctx) => {
        entered.push(ctx.stepPath);
        if (ctx.stepPath === "l[2]/body/b" && broken) throw new Error("Not yet.");
        return n + 1;
      });
    const loop = Step.loop("l", Pipeline.of("body", step("a"), step("b")), {
      until: (n) => n >= 6,
      maxIterations: 5,
      onFailure: "abort",
    });
    const runner = new Runner(loop, { store });
    await failureOf(runner.run(0, { runId: "r-1" }));
    broken = false;
    expect((await runner.resume("r-1")).output).toBe(6);
    expect(entered).toEqual([
      "l[1]/body/a",
      "l[1]/body/b",
      "l[2]/body/a",
      "l[2]/body/b",
      "l[2]/body/b",
      "l[3]/body/a",
      "l[3]/body/b",
    ]);
  });

  it("inside a loop has instances for each iteration of the outer one", async () => {
    const store = await memoryStore();
    const inner = Step.loop(
      "inner",
      Step.run("next", (n: number) => n + 1),
      {
        until: (n) => n % 2 === 0,
        maxIterations: 5,
      },
    );
    const outer = Step.loop("outer", inner, { until: (n) => n === 4, maxIterations: 5 });
    expect((await new Runner(outer, { store }).run(0, { runId: "r-1" })).output).toBe(4);
    expect((await store.listSteps("r-1")).map(({ path }) => path)).toEqual([
      "outer",
      "outer[1]/inner",
      "outer[1]/inner[1]/next",
      "outer[1]/inner[2]/next",
      "outer[2]/inner",
      "outer[2]/inner[1]/next",
      "outer[2]/inner[2]/next",
    ]);
  });
});

describe("an agent inside a loop of three iterations", () => {
  it("has turns, keys and a history for each, and the first is not run again", async () => {
    const store = await memoryStore();
    let paused = true;
    const { note, done, calls } = noteTool(
      (_text, call) => {
        if (paused && call.stepId === "r-1/polish[2]/draft") throw new PausedError();
      },
      { recovery: "repeat" },
    );
    const { agent, prompts } = scriptedAgent([noting("same"), { text: "Hello" }], { tools: { note } });
    let judged = 0;
    const loop = Step.loop("polish", Step.granular("draft", agent), {
      until: () => ++judged === 3,
      maxIterations: 3,
    });
    const runner = new Runner(loop, { store });
    await failureAs(PausedError, runner.run("Go", { runId: "r-1" }));
    expect(done).toHaveLength(2);
    paused = false;

    expect((await runner.resume("r-1")).output).toBe("Hello");

    expect(done).toHaveLength(4); // the second was repeated, as it may be; the first was not
    expect(prompts).toHaveLength(6);
    expect(new Set(calls.map((call) => call.idempotencyKey)).size).toBe(3);
    for (const iteration of [1, 2, 3]) {
      const history = await store.readHistory("r-1", `polish[${iteration}]/draft`);
      expect(history.map((message) => message.role)).toEqual([
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
      ]);
      expect(history[1]?.content).toBe(iteration === 1 ? "Go" : "Hello");
    }
    const turns = (await store.listTurns("r-1")).map(({ stepPath, turnIndex }) => `${stepPath} ${turnIndex}`);
    expect(turns).toEqual([1, 2, 3].flatMap((n) => [1, 2].map((turn) => `polish[${n}]/draft ${turn}`)));
  });
});

// The registry: a custom kind of step, and a replaced executor for a built-in kind.

import { describe, expect, it } from "vitest";
import {
  ConfigurationError,
  type Json,
  Pipeline,
  Runner,
  Step,
  type StepExecutor,
  StepFailedError,
  type StepNode,
} from "../../../src/index.ts";
import { failureAs, failureOf, memoryStore, scriptedAgent } from "../run-fixture.ts";

interface ShoutStep extends StepNode<string> {
  readonly kind: "shout";
  readonly times: number;
}
const shout = (name: string, times = 1): ShoutStep => ({ kind: "shout", name, times });

/** Enters its children one after the other until one succeeds. */
interface FirstOfStep extends StepNode {
  readonly kind: "first-of";
  readonly children: readonly StepNode[];
}

function shouting() {
  const entered: string[] = [];
  const executor: StepExecutor<ShoutStep> = {
    storage: "instance",
    execute: async (step, execution) => {
      entered.push(execution.path);
      execution.context.value = { ...execution.context.value, shouted: true };
      return `${(execution.input as string).toUpperCase()}${"!".repeat(step.times)}`;
    },
  };
  return { executor, entered };
}

describe("a custom kind of step", () => {
  it("is executed by its registered executor, with its output and context stored", async () => {
    const store = await memoryStore();
    const { executor, entered } = shouting();
    const pipeline = Pipeline.of(
      "p",
      shout("loud", 3),
      Step.run("look", (input: string, ctx) => [input, ctx.context]),
    );
    const runner = new Runner(pipeline, { store, executors: { shout: executor } });

    expect((await runner.run("hey", { runId: "r-1" })).output).toEqual(["HEY!!!", { shouted: true }]);

    expect(entered).toEqual(["loud"]);
    expect((await store.listSteps("r-1"))[0]).toMatchObject({
      path: "loud",
      kind: "shout",
      status: "succeeded",
      output: "HEY!!!",
    });
  });

  it("is not entered again once it has finished", async () => {
    const store = await memoryStore();
    const { executor, entered } = shouting();
    let broken = true;
    const pipeline = Pipeline.of(
      "p",
      shout("loud"),
      Step.run("b", (input: string, ctx) => {
        if (broken) throw new Error("Not yet.");
        return [input, ctx.context];
      }),
    );
    const runner = new Runner(pipeline, { store, executors: { shout: executor } });
    await failureOf(runner.run("hey", { runId: "r-1" }));
    broken = false;
    expect((await runner.resume("r-1")).output).toEqual(["HEY!", { shouted: true }]);
    expect(entered).toEqual(["loud"]);
  });

  it("can have child steps, which it enters through the registry", async () => {
    const store = await memoryStore();
    const tried: string[] = [];
    const firstOf: StepExecutor<FirstOfStep> = {
      storage: "instance",
      execute: async (step, { run, path, input, context, enter }) => {
        for (const child of step.children) {
          try {
            return await enter(child, { run, path, input, context });
          } catch (error) {
            if (!(error instanceof StepFailedError)) throw error;
          }
        }
        return null;
      },
    };
    const attempt = (name: string, works: boolean) =>
      Step.run(name, (input: Json) => {
        tried.push(name);
        if (!works) throw new Error("No.");
        return [name, input];
      });
    const children = [attempt("a", false), attempt("b", true), attempt("c", true)];
    const step: FirstOfStep = { kind: "first-of", name: "any", children };
    const runner = new Runner(step, { store, executors: { "first-of": firstOf } });
    expect((await runner.run("Go", { runId: "r-1" })).output).toEqual(["b", "Go"]);
    expect(tried).toEqual(["a", "b"]);
    expect((await store.listSteps("r-1")).map(({ path }) => path)).toEqual(["any", "any/a", "any/b"]);
  });

  it("works inside a loop, with one instance per iteration", async () => {
    const store = await memoryStore();
    const { executor, entered } = shouting();
    const loop = Step.loop("l", shout("loud"), { until: (text) => text.length > 5, maxIterations: 9 });
    const runner = new Runner(loop, { store, executors: { shout: executor } });
    expect((await runner.run("hey")).output).toBe("HEY!!!");
    expect(entered).toEqual(["l[1]/loud", "l[2]/loud", "l[3]/loud"]);
  });

  it("that fails is named in the error, and its output must be JSON", async () => {
    const store = await memoryStore();
    const failing = (execute: () => Promise<Json>): Runner =>
      new Runner(shout("loud"), { store, executors: { shout: { storage: "instance", execute } } });
    const error = await failureAs(StepFailedError, failing(() => Promise.reject(new Error("No."))).run("Go"));
    expect(error.message).toBe("Step loud failed: No.");
    const odd = failing(async () => ({ at: new Date(0) }) as unknown as Json).run("Go", { fresh: true });
    expect(await failureOf(odd)).toMatchObject({ code: "not_json", details: { path: "$.at" } });
  });
});

describe("a kind without an executor", () => {
  it("is refused when the runner is made, at any depth", () => {
    expect(() => new Runner(shout("loud"))).toThrow(ConfigurationError);
    const deep = Pipeline.of(
      "p",
      Step.loop("l", Pipeline.of("q", shout("loud")), { until, maxIterations: 1 }),
    );
    expect(() => new Runner(deep)).toThrow('There is no executor for steps of kind "shout" (step loud)');
    expect(() => new Runner({ kind: "toString", name: "odd" })).toThrow(ConfigurationError);
  });
});

const until = () => true;

describe("a built-in kind", () => {
  it("can have another executor", async () => {
    const store = await memoryStore();
    const { agent, prompts } = scriptedAgent([{ text: "Hello" }]);
    const dryRun: StepExecutor = {
      storage: "instance",
      execute: async (step) => `would run ${step.name}`,
    };
    const pipeline = Pipeline.of(
      "p",
      Step.granular("work", agent),
      Step.run("b", (input: string) => [input]),
    );
    const runner = new Runner(pipeline, { store, executors: { "turn-loop": dryRun } });
    expect((await runner.run("Go")).output).toEqual(["would run work"]);
    expect(prompts).toEqual([]);
  });
});

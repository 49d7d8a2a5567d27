// The context: each step works on a copy, which is merged only on success.

import { describe, expect, it } from "vitest";
import { type CodeStepContext, type JsonObject, Pipeline, Runner, Step } from "../../../src/index.ts";
import { failureOf, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const change = (name: string, what: (context: CodeStepContext["context"]) => void) =>
  Step.run(name, (input: string, ctx) => {
    what(ctx.context);
    return input;
  });

/** Returns the context that it sees. */
const look = (name = "look") => Step.run(name, (_input, ctx) => ctx.context);

describe("the context", () => {
  it("is the result of the earlier steps, and is in the result", async () => {
    const store = await memoryStore();
    const pipeline = Pipeline.of(
      "p",
      change("a", (context) => {
        context.a = 1;
      }),
      change("b", (context) => {
        context.b = { a: context.a ?? null };
      }),
      look(),
    );
    const { output, context } = await new Runner(pipeline, { store }).run("Go", { runId: "r-1" });
    expect(output).toEqual({ a: 1, b: { a: 1 } });
    expect(context).toEqual({ a: 1, b: { a: 1 } });
    // It is returned again with the stored result.
    expect((await new Runner(pipeline, { store }).run("Go", { runId: "r-1" })).context).toEqual(context);
  });

  it("is unchanged by a step that fails, and the same when that step runs again", async () => {
    const store = await memoryStore();
    const seen: JsonObject[] = [];
    let broken = true;
    const pipeline = Pipeline.of(
      "p",
      change("a", (context) => {
        context.list = ["a"];
      }),
      change("b", (context) => {
        seen.push(structuredClone(context));
        (context.list as string[]).push("b");
        context.half = "done";
        if (broken) throw new Error("Not yet.");
      }),
      look(),
    );
    const runner = new Runner(pipeline, { store });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    broken = false;
    expect((await runner.resume("r-1")).output).toEqual({ list: ["a", "b"], half: "done" });
    expect(seen).toEqual([{ list: ["a"] }, { list: ["a"] }]);
  });

  it("is not changed by a step that keeps its copy and writes to it later", async () => {
    let kept: CodeStepContext["context"] = {};
    const store = await memoryStore({
      onCommit: (intents) => {
        if (intents.includes("finishStep")) kept.n = 99;
      },
    });
    const pipeline = Pipeline.of(
      "p",
      change("a", (context) => {
        context.n = 1;
        kept = context;
      }),
      look(),
    );
    expect((await new Runner(pipeline, { store }).run("Go")).output).toEqual({ n: 1 });
  });

  it("can be replaced by another object, and by nothing else", async () => {
    const store = await memoryStore();
    const replace = (context: unknown) =>
      Pipeline.of(
        "p",
        Step.run("a", (_input, ctx) => {
          ctx.context = context as JsonObject;
        }),
        look(),
      );
    expect((await new Runner(replace({ fresh: true }), { store }).run("Go")).output).toEqual({ fresh: true });
    for (const bad of [null, [], "text"])
      expect(await failureOf(new Runner(replace(bad), { store }).run("Go", { fresh: true }))).toMatchObject({
        code: "configuration",
      });
    const notJson = failureOf(new Runner(replace({ at: new Date(0) }), { store }).run("Go", { fresh: true }));
    expect(await notJson).toMatchObject({ code: "not_json", details: { path: "$.at" } });
  });

  it("is restored from the finished steps when the run is resumed", async () => {
    const store = await memoryStore();
    let broken = true;
    const pipeline = Pipeline.of(
      "p",
      change("a", (context) => {
        context.a = 1;
      }),
      change("b", () => undefined), // does not change it
      Pipeline.of(
        "inner",
        change("c", (context) => {
          delete context.a;
          context.c = 3;
        }),
      ),
      change("d", () => {
        if (broken) throw new Error("Not yet.");
      }),
      look(),
    );
    const runner = new Runner(pipeline, { store });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    broken = false;
    expect((await runner.resume("r-1")).output).toEqual({ c: 3 });
  });
});

describe("the context of a loop", () => {
  const count = Step.run("count", (input: string, ctx) => {
    ctx.context.n = Number(ctx.context.n ?? 0) + 1;
    return input;
  });

  it("is passed from iteration to iteration and to `until`, and is merged at the end", async () => {
    const store = await memoryStore();
    const loop = Step.loop("l", count, { until: (_output, context) => context.n === 3, maxIterations: 5 });
    expect((await new Runner(Pipeline.of("p", loop, look()), { store }).run("Go")).output).toEqual({ n: 3 });
  });

  it("is not changed by `until`", async () => {
    const store = await memoryStore();
    const until = (_output: unknown, context: JsonObject) => {
      (context as { n: number }).n += 100;
      return true;
    };
    const loop = Step.loop("l", count, { until, maxIterations: 5 });
    expect((await new Runner(Pipeline.of("p", loop, look()), { store }).run("Go")).output).toEqual({ n: 1 });
  });

  it.each(["until", "the body"])("is kept across a failure of %s, and merged at the end", async (where) => {
    const store = await memoryStore();
    let broken = true;
    const fail = (place: string, n: unknown) => {
      if (broken && place === where && n === 2) throw new Error("Not yet.");
    };
    const body = Step.run("count", (input: string, ctx) => {
      ctx.context.n = Number(ctx.context.n ?? 0) + 1;
      fail("the body", ctx.context.n);
      return input;
    });
    const until = (_output: unknown, context: JsonObject) => {
      fail("until", context.n);
      return context.n === 3;
    };
    const loop = Step.loop("l", body, { until, maxIterations: 5 });
    const runner = new Runner(Pipeline.of("p", loop, look()), { store });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    expect((await store.listSteps("r-1"))[0]).toMatchObject({ path: "l", status: "failed", context: null });
    broken = false;
    expect((await runner.resume("r-1")).output).toEqual({ n: 3 });
    expect(await store.listSteps("r-1")).toHaveLength(1 + 3 + 1);
  });
});

describe("the context around an agent", () => {
  it("is unchanged by a turn, whether that fails or succeeds", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    let broken = true;
    const { agent } = scriptedAgent(
      ({ turn }) => {
        if (turn === 1) return noting("one");
        if (broken) throw new Error("Not yet.");
        return { text: "Hello" };
      },
      { tools: { note } },
    );
    const pipeline = Pipeline.of(
      "p",
      change("a", (context) => {
        context.a = 1;
      }),
      Step.granular("work", agent),
      look(),
    );
    const runner = new Runner(pipeline, { store });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    expect((await store.getRun("r-1"))?.context).toBeNull();
    broken = false;
    const result = await runner.resume("r-1");
    expect(result.output).toEqual({ a: 1 });
    expect(result.context).toMatchObject({ a: 1, granularState: { turnIndex: 2 } });
  });
});

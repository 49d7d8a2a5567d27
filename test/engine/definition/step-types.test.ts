import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type Agent,
  agent,
  type DurableMainLoop,
  type EarlierSteps,
  type Json,
  openStore,
  Pipeline,
  Runner,
  type RunResult,
  Step,
  type StepNode,
  type WiredStep,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

const model = scriptedModel([{ text: "Done." }]);
const scorer: Agent<{ score: number }> = agent({
  name: "scorer",
  model,
  output: z.object({ score: z.number() }),
});
const score = Step.granular("score", scorer);

describe("the types of a pipeline", () => {
  it("give the code of a step the output of the step before it, as JSON stores it", () => {
    const report = Pipeline.of(
      "report",
      score,
      Step.run("date", ({ score: points }) => {
        expectTypeOf(points).toEqualTypeOf<number>();
        return { at: new Date(0).toISOString(), points, pair: [1, "a"] as [number, string] };
      }),
      Step.run("show", (dated, ctx) => {
        expectTypeOf(dated).toEqualTypeOf<{ at: string; points: number; pair: [number, string] }>();
        return `${ctx.runId} ${dated.at}`;
      }),
    );
    expectTypeOf(report).toExtend<WiredStep<string, Json>>();
    expect(report.children).toHaveLength(3);
  });

  it("refuse a step that does not fit, at that step", () => {
    Pipeline.of(
      "report",
      score,
      // @ts-expect-error The agent's output has no `totally`.
      Step.run("two", (input: { totally: "wrong" }) => input.totally),
      Step.run("three", (input: string) => input),
    );
    Pipeline.of(
      "report",
      score,
      Step.run("two", (input) => input.score),
      // @ts-expect-error A number is no string.
      Step.run("three", (input: string) => input.length),
      Step.run("four", (input: number) => input),
    );
    const missing = Step.run("missing", (input: { score: number; reason: string }) => input.reason);
    // @ts-expect-error The output has a score and no reason.
    expect(Pipeline.of("report", score, missing).children).toHaveLength(2);
  });

  it("refuse code whose output cannot be stored", () => {
    // @ts-expect-error A date is not JSON.
    Step.run("dated", () => ({ at: new Date() }));
    // @ts-expect-error Nor is a big number.
    Step.run("counted", async () => [1n]);
    // @ts-expect-error Nor is a Map, which JSON would store as an empty object.
    Step.run("mapped", () => new Map([["a", 1]]));
    // @ts-expect-error Nor a Set, however deep.
    Step.run("set", async () => ({ seen: [{ ids: new Set([1]) }] }));
    // @ts-expect-error Nor bytes.
    Step.run("bytes", () => new Uint8Array(2));
    // @ts-expect-error Nor a function,
    Step.run("code", () => () => 1);
    // @ts-expect-error not even as a property.
    Step.run("method", () => ({ size: 1, count: () => 1 }));
    // @ts-expect-error Nor a list with a gap.
    Step.run("gap", (): (string | undefined)[] => ["a", undefined]);
    interface Found {
      readonly name: string;
      readonly note?: string;
    }
    const found = Step.run("find", async (): Promise<Found[]> => [{ name: "a" }]);
    expectTypeOf(found).toExtend<WiredStep<Found[], Json>>();
    expectTypeOf(Step.run("log", () => undefined)).toExtend<WiredStep<null, Json>>();
  });

  it("accept what can be stored", () => {
    type Tree = { readonly name: string; readonly kids: Tree[] };
    type Id = string & { readonly brand: "id" };
    Step.run("tree", (): Tree => ({ name: "", kids: [] }));
    Step.run("branded", (): { id: Id } => ({ id: "x" as Id }));
    Step.run("pair", (): readonly [string, number | null] => ["a", 1]);
    Step.run("never", (): never => {
      throw new Error("Never.");
    });
    const loose = Step.run("loose", (): Record<string, unknown> => ({}));
    expectTypeOf(loose).toExtend<WiredStep<{ [name: string]: Json }, Json>>();
    const partial = Step.run("partial", (): { a: string | undefined; b: number } => ({ a: undefined, b: 1 }));
    expectTypeOf(partial).toExtend<WiredStep<{ a?: string; b: number }, Json>>();
    expectTypeOf(Step.run("maybe", (): string | undefined => undefined)).toExtend<
      WiredStep<string | null, Json>
    >();
  });

  it("take an annotated input that is wider than the output", () => {
    const wide = Step.run("wide", (input: { score: number; reason?: string }) => input.reason ?? "none");
    const any = Step.run("any", (input) => {
      expectTypeOf(input).toEqualTypeOf<Json>();
      return 1;
    });
    expectTypeOf(Pipeline.of("report", score, wide, any)).toExtend<WiredStep<number, Json>>();
  });

  it("wire up to ten steps, and take more", () => {
    const add = (name: string) => Step.run(name, (n: number) => n + 1);
    const ten = Pipeline.of(
      "ten",
      add("1"),
      add("2"),
      add("3"),
      add("4"),
      add("5"),
      add("6"),
      add("7"),
      add("8"),
      add("9"),
      Step.run("10", (n) => n.toFixed(2)),
    );
    expectTypeOf(ten).toExtend<WiredStep<string, number>>();
    const eleven = Pipeline.of(
      "eleven",
      add("1"),
      add("2"),
      add("3"),
      add("4"),
      add("5"),
      add("6"),
      add("7"),
      add("8"),
      add("9"),
      add("10"),
      Step.run("11", () => "end"),
    );
    expectTypeOf(eleven).toExtend<WiredStep<string, number>>();
  });

  it("take a list of steps, whose types are not known", () => {
    const steps: StepNode[] = [score, Step.run("two", (input: { score: number }) => input.score)];
    expectTypeOf(Pipeline.of("listed", ...steps)).toExtend<WiredStep<unknown, Json>>();
    expect(Pipeline.of("listed", ...steps).children).toHaveLength(2);
  });

  it("take step kinds of one's own, whose input is not stated, anywhere", () => {
    interface ShoutStep extends StepNode<string> {
      readonly kind: "shout";
    }
    const shout: ShoutStep = { kind: "shout", name: "shout" };
    const pipeline = Pipeline.of(
      "loud",
      score,
      shout,
      Step.run("length", (text) => text.length),
    );
    expectTypeOf(pipeline).toExtend<WiredStep<number, Json>>();
    const double = Step.run("double", (n: number) => n * 2);
    // @ts-expect-error A shout is a text.
    Pipeline.of("loud", shout, double);
  });

  it("wire nested pipelines and loops", () => {
    const inner = Pipeline.of(
      "inner",
      Step.run("first", (n: number) => `${n}`),
    );
    // @ts-expect-error The inner pipeline takes a number.
    Pipeline.of("outer", score, inner);
    const outer = Pipeline.of(
      "outer",
      score,
      Pipeline.of(
        "inner",
        Step.run("first", (input) => input.score),
        Step.run("second", (points) => points.toFixed(1)),
      ),
      Step.loop(
        "longer",
        Step.run("grow", (text) => `${text.trim()}!`),
        { until: (text) => text.length > 9, maxIterations: 9 },
      ),
      Step.granular("judge", scorer, { input: (text) => text.toUpperCase() }),
    );
    expectTypeOf(outer).toExtend<WiredStep<{ score: number }, Json>>();
  });

  it("refuse a loop whose body cannot take its own output", () => {
    const until = () => true;
    const text = Step.run("body", (n: number) => `${n}`);
    // @ts-expect-error The second iteration would get a text.
    Step.loop("text", text, { until, maxIterations: 2 });
  });

  it("give a question's choices as its answer, and any JSON without them", () => {
    const asked = Step.human("ask", { question: "Send it?", choices: ["yes", "no"] });
    expectTypeOf(asked).toExtend<WiredStep<"yes" | "no", Json>>();
    expectTypeOf(Step.human("ask", { question: "Why?" })).toExtend<WiredStep<Json, Json>>();
    Pipeline.of(
      "sending",
      score,
      Step.human("check", { question: (given) => `Send ${given.score}?`, choices: ["yes", "no"] }),
      Step.run("act", (answer) => {
        expectTypeOf(answer).toEqualTypeOf<"yes" | "no">();
        // @ts-expect-error There is no such choice.
        return answer === "maybe";
      }),
    );
  });

  it("refuse an undefined step when the pipeline is made", () => {
    expect(() => Pipeline.of("some", undefined)).toThrow("has undefined where a step belongs");
  });
});

describe("the types of a runner", () => {
  const priced = Pipeline.of(
    "priced",
    Step.run("read", (order: { id: string; at?: number }) => ({ ...order, on: new Date().toISOString() })),
    Step.run("price", ({ id, on }) => ({ id, on, cents: 5 })),
  );

  it("give run and stream the input of the first step, and the output as JSON", async () => {
    const store = await openStore(":memory:");
    const runner = new Runner(priced, { store });
    expectTypeOf(runner).toEqualTypeOf<
      Runner<{ id: string; on: string; cents: number }, { id: string; at?: number }>
    >();
    expectTypeOf<(typeof runner)["run"]>().parameter(0).toEqualTypeOf<{ id: string; at?: number }>();
    expectTypeOf<(typeof runner)["stream"]>().parameter(0).toEqualTypeOf<{ id: string; at?: number }>();
    const result = await runner.run({ id: "a1" });
    expectTypeOf(result).toEqualTypeOf<RunResult<{ id: string; on: string; cents: number }>>();
    expect(result.output).toMatchObject({ id: "a1", cents: 5, on: expect.any(String) });
    // @ts-expect-error The id is a text.
    expect(() => runner.run({ id: 1 })).toBeTypeOf("function");
    await store.close();
  });

  it("give an output only if the run has succeeded", async () => {
    const store = await openStore(":memory:");
    const asked = Step.human("check", { question: "Pay?", choices: ["yes", "no"] });
    const result = await new Runner(asked, { store }).run("Order 7");
    expectTypeOf(result.output).toEqualTypeOf<"yes" | "no" | null>();
    if (result.status === "succeeded") expectTypeOf(result.output).toEqualTypeOf<"yes" | "no">();
    else expectTypeOf(result.output).toEqualTypeOf<null>();
    expect(result).toMatchObject({ status: "waiting", output: null });
    await store.close();
  });

  it("take an interface as the input, which is no Json by its type", async () => {
    interface Order {
      id: string;
    }
    const order: Order = { id: "a1" };
    const store = await openStore(":memory:");
    const read = Step.run("read", (given: Order) => given.id);
    expect((await new Runner(read, { store }).run(order)).output).toBe("a1");
    await store.close();
  });

  it("take any JSON for an agent, and for a step that does not state its input", () => {
    expectTypeOf(new Runner(scorer)).toEqualTypeOf<Runner<{ score: number }, Json>>();
    expectTypeOf(new Runner(score)).toEqualTypeOf<Runner<{ score: number }, Json>>();
    const unstated: StepNode<string> = Step.run("read", (given: { id: string }) => given.id);
    expectTypeOf(new Runner(unstated)).toEqualTypeOf<Runner<string>>();
  });

  it("fit an annotation with the output alone", () => {
    const start = (runner: Runner<{ id: string; on: string; cents: number }>) => runner;
    expect(start(new Runner(priced))).toBeInstanceOf(Runner);
  });

  it("type the requests of a DurableMainLoop in the same way", () => {
    expectTypeOf<DurableMainLoop<string, { id: string }>["execute"]>()
      .parameter(0)
      .toEqualTypeOf<{ id: string }>();
    expectTypeOf<DurableMainLoop<Date>["execute"]>().returns.resolves.toHaveProperty("output");
  });
});

describe("outputOf", () => {
  const dated = Step.run("dated", () => ({ at: new Date(0).toISOString(), n: 1 }));
  const inner = Pipeline.of(
    "inner",
    dated,
    Step.run("last", ({ n }) => n + 1),
  );

  it("has the output type of a step, and Json for a name", () => {
    expectTypeOf<EarlierSteps["outputOf"]>().toBeCallableWith("dated");
    const read = async (ctx: EarlierSteps) => ({
      step: await ctx.outputOf(dated),
      pipeline: await ctx.outputOf(inner),
      name: await ctx.outputOf("dated"),
    });
    expectTypeOf(read).returns.resolves.toEqualTypeOf<{
      step: { readonly output: { at: string; n: number } } | null;
      pipeline: { readonly output: number } | null;
      name: { readonly output: Json } | null;
    }>();
  });

  it("finds the output of a step, of a nested pipeline, and of an agent", async () => {
    const store = await openStore(":memory:");
    const pipeline = Pipeline.of(
      "all",
      Step.granular("talk", agent({ name: "talker", model: scriptedModel([{ text: "Hello." }]) })),
      inner,
      Step.run("collect", async (_, ctx) => ({
        talked: (await ctx.outputOf("talk"))?.output ?? null,
        inner: (await ctx.outputOf(inner))?.output ?? null,
        dated: (await ctx.outputOf(dated)) ?? "not a sibling",
      })),
    );
    const { output } = await new Runner(pipeline, { store }).run("go");
    expect(output).toEqual({ talked: "Hello.", inner: 2, dated: "not a sibling" });
    await store.close();
  });
});

// The agent's state in the context of later steps.

import { describe, expect, it } from "vitest";
import { ConfigurationError, Pipeline, Runner, Step } from "../../../src/index.ts";
import { failureOf, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

function working() {
  const { note } = noteTool();
  return scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } }).agent;
}

describe("ctx.context.granularState", () => {
  it("is the same for the steps after an agent as result.context at the end", async () => {
    const seen: unknown[] = [];
    const look = (name: string) =>
      Step.run(name, (_input, { context }) => {
        seen.push(context.granularState);
        context[name] = true;
        return null;
      });
    const pipeline = Pipeline.of("p", look("before"), Step.granular("work", working()), look("a"), look("b"));
    const result = await new Runner(pipeline, { store: await memoryStore() }).run("Go");
    expect(seen).toEqual([undefined, result.context.granularState, result.context.granularState]);
    expect(result.context).toMatchObject({
      a: true,
      b: true,
      granularState: { turnIndex: 2, isComplete: true, finalOutput: "Hello" },
    });
  });

  it("is available in a new process too, and is not stored with a step or the run", async () => {
    const store = await memoryStore();
    let isBroken = true;
    const pipeline = Pipeline.of(
      "p",
      Step.granular("work", working()),
      Step.run("look", (_input, ctx) => {
        ctx.context = { ...ctx.context, copied: structuredClone(ctx.context) };
        if (isBroken) throw new Error("Not yet.");
        return ctx.context.granularState ?? null;
      }),
      Step.run("use", (_input, { context }) => [
        context.granularState?.turnIndex ?? null,
        context.copied ?? 0,
      ]),
    );
    await failureOf(new Runner(pipeline, { store }).run("Go", { runId: "r-1" }));
    isBroken = false;
    const result = await new Runner(pipeline, { store }).resume("r-1");
    expect(result.output).toEqual([2, {}]);
    expect((await store.getRun("r-1"))?.context).toEqual({ copied: {} });
    for (const { context } of await store.listSteps("r-1"))
      expect(JSON.stringify(context)).not.toContain("granularState");
  });

  it("is that of the last agent before, and of each iteration in a loop", async () => {
    const turns: unknown[] = [];
    const drafts = ["a", "b"];
    const pass = Pipeline.of(
      "pass",
      Step.granular("draft", scriptedAgent(() => ({ text: drafts.shift() ?? "" })).agent),
      Step.run("note", (input, { context }) => {
        turns.push(context.granularState?.finalOutput);
        return input;
      }),
    );
    const loop = Step.loop("polish", pass, {
      maxIterations: 3,
      until: (output, context) => {
        turns.push((context.granularState as { finalOutput?: unknown } | undefined)?.finalOutput);
        return output === "b";
      },
    });
    await new Runner(Pipeline.of("p", Step.granular("outline", working()), loop), {
      store: await memoryStore(),
    }).run("Go");
    expect(turns).toEqual(["a", "a", "b", "b"]);
  });

  it("cannot be changed, and the error suggests another name", async () => {
    const errors: unknown[] = [];
    const attempt = (work: () => unknown) => {
      try {
        work();
      } catch (error) {
        errors.push(error);
      }
    };
    const pipeline = Pipeline.of(
      "p",
      Step.granular("work", working()),
      Step.run("change", (_input, { context }) => {
        attempt(() => Object.assign(context, { granularState: 1 }));
        attempt(() => Object.assign(context.granularState ?? {}, { turnIndex: 9 }));
        return context.granularState?.turnIndex ?? null;
      }),
    );
    expect((await new Runner(pipeline, { store: await memoryStore() }).run("Go")).output).toBe(2);
    expect(errors).toEqual([expect.any(ConfigurationError), expect.any(TypeError)]);
    expect(String(errors[0])).toMatch(/keep yours under another name/);
  });
});

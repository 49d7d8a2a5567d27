// Forks of runs whose session and steps did not proceed in a straight line: in loops, and in new lineages.

import { describe, expect, it } from "vitest";
import { ConfigurationError, Pipeline, type RunnerOptions, Step } from "../../../src/index.ts";
import { jobRunner, stepsOf } from "../job-fixture.ts";
import { failureAs, failureOf, memoryStore, must, scriptedAgent, toolResults } from "../run-fixture.ts";
import { loudly, said, saying, sayTool, stopsBefore, storedSlice, words } from "../session-fixture.ts";

describe("a fork in an iteration of a loop", () => {
  /** Two iterations of two turns each; the session records every word. */
  async function looped(phase?: string) {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const entered: string[] = [];
    const body = (end: string) => {
      const { agent } = scriptedAgent([saying("word"), saying("more"), { text: end }], { tools: { say } });
      const count = Step.run("count", async (input: string, ctx) => {
        entered.push(`${ctx.stepPath}(${input})`);
        ctx.session.dispatch(said("counted"));
        return input;
      });
      return Pipeline.of("body", count, Step.granular("talk", agent));
    };
    const make = (end: string) => {
      const until = (_output: unknown, context: { n?: unknown }) => context.n === 2;
      const tick = Step.run("tick", (input: string, ctx) => {
        ctx.context.n = Number(ctx.context.n ?? 0) + 1;
        return input;
      });
      const options = { until, maxIterations: 5, ...(phase === undefined ? {} : { phase }) };
      return jobRunner(
        Pipeline.of(
          "p",
          Step.loop("again", Pipeline.of("whole", body(end), tick), options),
          Step.run("end", () => 1),
        ),
        store,
        { slices: [words] },
      );
    };
    await make("said").run("Go", { runId: "r-1" });
    expect(entered).toHaveLength(2);
    return { store, spoken, entered, make };
  }

  it("keeps the earlier iterations, and continues in this one", async () => {
    const { store, spoken, entered, make } = await looped();
    const runner = make("said");
    const step = "again[2]/whole/body/talk";
    await runner.fork("r-1", { atTurn: 1, step, runId: "r-2" });
    expect((await runner.resume("r-2")).output).toBe(1);
    expect(entered).toHaveLength(2);
    expect(spoken).toEqual(["word", "more", "word", "more", "more"]);
    expect((await stepsOf(store, "r-2")).filter((each) => each.includes("talk"))).toEqual([
      "again[1]/whole/body/talk succeeded",
      "again[2]/whole/body/talk succeeded",
    ]);
    expect((await store.verify("r-2")).problems).toEqual([]);
  });

  it.each([[undefined], ["polish"]])("has the session of that iteration (phase %s)", async (phase) => {
    const { store, entered, make } = await looped(phase);
    const runner = make("said");
    await runner.fork("r-1", { atTurn: 1, step: "again[1]/whole/body/talk", runId: "r-2" });
    expect(await storedSlice(store, "words", "r-2")).toEqual(["counted", "word"]);
    await runner.fork("r-1", { atTurn: 1, step: "again[2]/whole/body/talk", runId: "r-3" });
    expect(await storedSlice(store, "words", "r-3")).toEqual(["counted", "word", "more", "counted", "word"]);
    await runner.resume("r-2");
    expect(entered.slice(2)).toEqual(["again[2]/whole/body/count(said)"]);
    expect(await storedSlice(store, "words", "r-2")).toEqual(await storedSlice(store));
  });
});

describe("a fork of a run that began a new lineage", () => {
  /** One turn and a milestone, one abandoned turn, and the words of the new lineage. */
  async function rolledBack(from: "milestone" | "beginning") {
    const store = await memoryStore();
    const { say, spoken } = sayTool();
    const make = (all: readonly string[], options: RunnerOptions = {}) => {
      const script = [...all.map((word) => saying(word)), { text: "End." }];
      const { agent, prompts } = scriptedAgent(script, { tools: { say } });
      const runner = jobRunner(agent, store, { slices: [words], checkpointTrigger: loudly, ...options });
      return { runner, prompts };
    };
    const first = make(["one!", "left"], { probe: stopsBefore(3) });
    await failureOf(first.runner.run("Go", { runId: "r-1" }));
    await make(["three", "four"]).runner.resume("r-1", { from });
    return { store, spoken, make };
  }

  it.each([
    ["milestone", ["one!", "three", "four"]],
    ["beginning", ["three", "four"]],
  ] as const)(
    "from its %s has the session of that lineage, without the abandoned turn",
    async (from, all) => {
      const { store, spoken, make } = await rolledBack(from);
      expect(await storedSlice(store)).toEqual(all);
      const { runner, prompts } = make(["three", "five"]);
      await runner.fork("r-1", { atTurn: 3, runId: "r-2" });
      expect(await storedSlice(store, "words", "r-2")).toEqual(all.slice(0, -1));
      await runner.resume("r-2");
      expect(await storedSlice(store, "words", "r-2")).toEqual([...all.slice(0, -1), "five"]);
      expect(toolResults(must(prompts[0]))).toHaveLength(1);
      expect(spoken).toEqual(["one!", "left", "three", "four", "five"]);
      expect((await store.verify("r-2")).problems).toEqual([]);
    },
  );

  it("cannot be made at an abandoned turn", async () => {
    const { store, make } = await rolledBack("milestone");
    await failureAs(ConfigurationError, make([]).runner.fork("r-1", { atTurn: 2 }));
    expect(await store.listRuns()).toHaveLength(1);
  });
});

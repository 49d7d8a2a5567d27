// What the engine reports to telemetry, and that a failing exporter cannot harm a run.

import { describe, expect, it } from "vitest";
import type { SpanFacts, SpanStart, Telemetry, TracedRun } from "../../../src/engine/ports/telemetry-port.ts";
import { type Json, LeaseLostError, Pipeline, type RunEvent, Runner, Step } from "../../../src/index.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import { acting, actTool, crashAt } from "../call/call-fixture.ts";
import { databaseFile, failureOf, fileStore, memoryStore, scriptedAgent } from "../run-fixture.ts";

type Recorded = {
  begun: TracedRun[];
  spans: [SpanStart, SpanFacts[]][];
  events: RunEvent[];
  ends: unknown[];
};

function recording(traceParent: (n: number) => string | null = () => null) {
  const recorded: Recorded = { begun: [], spans: [], events: [], ends: [] };
  const telemetry: Telemetry = {
    begin: (run) => {
      recorded.begun.push(run);
      return {
        traceParent: traceParent(recorded.begun.length),
        during: (work) => work(),
        within: (start, work) => {
          const facts: SpanFacts[] = [];
          recorded.spans.push([start, facts]);
          return work({
            headers: { traceparent: `span ${recorded.spans.length}` },
            record: (fact) => facts.push(fact),
          });
        },
        onEvent: (event) => recorded.events.push(event),
        end: (error) => recorded.ends.push(error),
      };
    },
  };
  return { telemetry, recorded };
}

function workOf(...parameters: Parameters<typeof actTool>) {
  const { act, calls } = actTool(...parameters);
  const { agent } = scriptedAgent([acting("a"), { text: "End." }], { tools: { act } });
  const code = Step.run("code", (input: Json, ctx) =>
    ctx.call(act, { what: `code ${JSON.stringify(input)}` }),
  );
  return { pipeline: Pipeline.of("p", Step.granular("work", agent), code), calls };
}

describe("telemetry", () => {
  it("gets agents, model calls, tools and code steps, with the ids of the store", async () => {
    const store = await memoryStore();
    const { telemetry, recorded } = recording();
    const { pipeline, calls } = workOf();
    await new Runner(pipeline, { store, telemetry }).run("Go", { runId: "r-1" });
    expect(recorded.begun).toEqual([{ runId: "r-1", pipeline: "p", resumed: false, earlier: [] }]);
    expect(recorded.ends).toEqual([null]);
    expect(
      recorded.spans.map(([start]) => [
        start.kind,
        start.stepId,
        "toolCallId" in start ? start.toolCallId : null,
      ]),
    ).toEqual([
      ["agent", "r-1/work", null],
      ["chat", "r-1/work", null],
      ["tool", "r-1/work", "r-1/work#1.1"],
      ["chat", "r-1/work", null],
      ["step", "r-1/code", null],
      ["tool", "r-1/code", "r-1/code#0.1"],
    ]);
    expect(recorded.spans[1]?.[1]).toMatchObject([
      { usage: { inputTokens: 10, outputTokens: 5 }, finishReason: "tool-calls" },
    ]);
    expect(recorded.spans[2]?.[1]).toEqual([{ status: "succeeded", output: "done 1" }]);
    expect(calls.map(({ traceHeaders }) => traceHeaders)).toEqual([
      { traceparent: "span 3" },
      { traceparent: "span 6" },
    ]);
    expect(recorded.events.map(({ type }) => type)).toContain("turn.committed");
  });

  it("gets failures as span facts", async () => {
    const store = await memoryStore();
    const { telemetry, recorded } = recording();
    const { pipeline } = workOf((n) => {
      if (n === 1) throw new Error("The server is on fire.");
      return "put out";
    });
    await new Runner(pipeline, { store, telemetry }).run("Go");
    expect(recorded.spans[2]?.[1]).toEqual([{ status: "failed", problem: "The server is on fire." }]);
    const { agent } = scriptedAgent([]);
    await expect(new Runner(agent, { store, telemetry }).run("Go")).rejects.toThrow("no answer");
    expect(String(recorded.spans.at(-1)?.[1][0]?.problem)).toContain("The script has no answer for turn 1.");
    expect(recorded.ends.at(-1)).toBeInstanceOf(Error);
  });

  it("links the traces of earlier workers, oldest first", async () => {
    const file = databaseFile();
    const { telemetry, recorded } = recording((n) => `trace ${n}`);
    const { pipeline } = workOf(undefined, { recovery: "repeat" });
    const run = (probe: CrashProbe = () => undefined) =>
      fileStore(file).then((store) => new Runner(pipeline, { store, telemetry, probe }));
    await expect((await run(crashAt("turn:journaled"))).run("Go", { runId: "r-1" })).rejects.toThrow(
      "crashed",
    );
    await expect((await run(crashAt("turn:committed"))).resume("r-1")).rejects.toThrow("crashed");
    await (await run()).resume("r-1");
    expect(recorded.begun.map(({ resumed, earlier }) => [resumed, earlier])).toEqual([
      [false, []],
      [true, ["trace 1"]],
      [true, ["trace 1", "trace 2"]],
    ]);
    const store = await fileStore(file);
    expect((await store.listAttempts("r-1")).map(({ traceParent }) => traceParent)).toEqual([
      "trace 1",
      "trace 2",
      "trace 3",
    ]);
  });

  it("reports the calls that the previous worker left in progress, and that this worker lost the run", async () => {
    const file = databaseFile();
    const [before, after] = [recording(), recording()];
    const inTool = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<string>();
    const hanging = workOf(
      () => {
        inTool.resolve();
        return answer.promise;
      },
      { recovery: "repeat" },
    );
    const first = new Runner(hanging.pipeline, { store: await fileStore(file), telemetry: before.telemetry });
    const lost = failureOf(first.run("Go", { runId: "r-1" }));
    await inTool.promise;
    let monotonic = 0;
    const later = await fileStore(file, { monotonic: () => (monotonic += 60_000) });
    expect(await later.isHeld("r-1"), "the first look starts the watch").toBe(true);
    const { pipeline } = workOf(undefined, { recovery: "repeat" });
    await new Runner(pipeline, { store: later, telemetry: after.telemetry }).resume("r-1");
    answer.resolve("too late");
    expect(await lost).toBeInstanceOf(LeaseLostError);
    expect(after.recorded.events.filter(({ type }) => type === "tool.in_doubt")).toEqual([
      { type: "tool.in_doubt", runId: "r-1", toolCallId: "r-1/work#1.1" },
    ]);
    expect(before.recorded.events.filter(({ type }) => type === "lease.lost")).toEqual([
      { type: "lease.lost", runId: "r-1", epoch: 1 },
    ]);
  });

  const boom = () => {
    throw new Error("The exporter is on fire.");
  };
  const fine = recording().telemetry.begin({ runId: "", pipeline: "", resumed: false, earlier: [] });

  it.each<[string, Telemetry]>([
    ["begin", { begin: boom }],
    ["during", { begin: () => ({ ...fine, during: boom }) }],
    ["during, afterwards", { begin: () => ({ ...fine, during: async (work) => (await work(), boom()) }) }],
    ["within", { begin: () => ({ ...fine, within: boom }) }],
    [
      "within, afterwards",
      {
        begin: () => ({
          ...fine,
          within: async (_, work) => (await work({ headers: {}, record: boom }), boom()),
        }),
      },
    ],
    [
      "within, calling it twice",
      {
        begin: () => ({
          ...fine,
          within: async (_, work) => (
            await work({ headers: {}, record: () => undefined }),
            work({ headers: {}, record: () => undefined })
          ),
        }),
      },
    ],
    ["onEvent", { begin: () => ({ ...fine, onEvent: boom }) }],
    ["end", { begin: () => ({ ...fine, end: boom }) }],
    [
      "traceParent, with a value that cannot be stored",
      { begin: () => ({ ...fine, traceParent: 7n as never }) },
    ],
  ])("that fails in %s does not fail the run, and nothing is executed twice", async (_, telemetry) => {
    const store = await memoryStore();
    const { pipeline, calls } = workOf();
    const types: string[] = [];
    const onEvent = ({ type }: RunEvent) => void types.push(type);
    const result = await new Runner(pipeline, { store, telemetry, onEvent }).run("Go");
    expect(result).toMatchObject({ status: "succeeded", output: "done 2" });
    expect(calls).toHaveLength(2);
    expect(types).toContain("run.finished");
  });

  it("passes on an error of the work unchanged", async () => {
    const store = await memoryStore();
    const { telemetry } = recording();
    const error = new Error("The roof is open.");
    const step = Step.run("code", () => Promise.reject(error));
    await expect(new Runner(step, { store, telemetry }).run("Go")).rejects.toMatchObject({ cause: error });
  });
});

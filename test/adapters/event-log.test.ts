import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { logEvents } from "../../src/adapters/event-log.ts";
import { NotApplied, Pipeline, Runner, Step, secret, tool } from "../../src/index.ts";
import { acting, actTool } from "../engine/call/call-fixture.ts";
import { memoryStore, scriptedAgent } from "../engine/run-fixture.ts";

type Line = { readonly [name: string]: unknown };

function logAt(level: string) {
  const lines: Line[] = [];
  const logger = pino(
    { level, base: null, timestamp: false },
    { write: (line) => lines.push(JSON.parse(line)) },
  );
  return { onEvent: logEvents(logger), lines };
}

async function linesOf(level: string): Promise<Line[]> {
  const { onEvent, lines } = logAt(level);
  const { act } = actTool(
    (n) => {
      if (n === 1) throw new NotApplied("Busy.");
      return "a result";
    },
    { recovery: "keyed" },
  );
  const { agent } = scriptedAgent([{ ...acting("an argument"), text: "Some words." }, { text: "End." }], {
    tools: { act },
  });
  const store = await memoryStore();
  const runner = new Runner(Pipeline.of("p", Step.granular("work", agent)), {
    store,
    onEvent,
    random: () => 0,
  });
  await runner.run("Go", { runId: "r-1" });
  return lines;
}

describe("a run's log", () => {
  test("has one line per event, with the ids of the store", async () => {
    const lines = await linesOf("info");
    expect(lines.map(({ event, msg }) => [event, msg])).toEqual([
      ["run.started", "run started"],
      ["step.started", "step started"],
      ["tool.finished", "tool failed"],
      ["tool.retrying", "tool is retried: Busy."],
      ["tool.finished", "tool done"],
      ["turn.committed", "turn committed"],
      ["turn.committed", "turn committed"],
      ["step.finished", "step done"],
      ["run.finished", "run succeeded"],
    ]);
    expect(lines[2]).toEqual({
      level: 40,
      event: "tool.finished",
      runId: "r-1",
      toolCallId: "r-1/work#1.1",
      attempt: 1,
      tool: "act",
      status: "not_applied",
      msg: "tool failed",
    });
    expect(lines[5]).toMatchObject({ runId: "r-1", stepId: "r-1/work", turn: 1, isComplete: false });
    expect(lines.at(-1)).toMatchObject({ status: "succeeded", tokens: 30, modelCalls: 2, waits: 0 });
  });

  test("has more lines at debug, and content only at trace", async () => {
    const debug = await linesOf("debug");
    expect(debug.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["turn.started", "tool.started", "usage.settled"]),
    );
    const words = /an argument|Some words|a result/;
    expect(JSON.stringify(debug)).not.toMatch(words);
    const trace = JSON.stringify(await linesOf("trace"));
    expect(trace).toContain("an argument");
    expect(trace).toContain("Some words");
  });

  test("never has the run's secrets", async () => {
    const { onEvent, lines } = logAt("trace");
    const store = await memoryStore();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ card: z.string() }),
      execute: ({ card }) => `paid with ${card}`,
    });
    const step = Step.run("pay", (_: null, ctx) => ctx.call(pay, { card: secret("4111-1111") }));
    await new Runner(step, { store, onEvent }).run(null);
    expect(lines.map(({ event }) => event)).toContain("tool.started");
    expect(JSON.stringify(lines)).not.toContain("4111-1111");
  });
});

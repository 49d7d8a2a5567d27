// Warnings for an estimate that is far from what the provider counts: once, with the figures and a remedy.

import { describe, expect, it } from "vitest";
import {
  Pipeline,
  type RunEvent,
  Runner,
  type RunnerOptions,
  Step,
  type StepNode,
} from "../../../src/index.ts";
import { collect, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const long = "A word of the page. ".repeat(1_000);

/** The warnings of a run whose provider counts this many tokens in every request. */
async function warnings(
  counted: number | null,
  options: RunnerOptions = {},
  stepsOf = (step: StepNode): StepNode => step,
): Promise<string[]> {
  const { note } = noteTool();
  const usage = counted === null ? null : { inputTokens: counted, outputTokens: 5 };
  const { agent } = scriptedAgent(
    [
      { ...noting("one"), usage },
      { ...noting("two"), usage },
      { text: "End.", usage },
    ],
    { tools: { note } },
  );
  const pipeline = Pipeline.of("all", stepsOf(Step.granular("talk", agent)));
  const runner = new Runner(pipeline, { store: await memoryStore(), ...options });
  const events: RunEvent[] = await collect(runner.stream(long));
  expect(events.at(-1)).toMatchObject({ type: "run.finished", result: { status: "succeeded" } });
  return events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
}

describe("the warning about a wrong estimate", () => {
  it("is emitted once per step and model, and names both figures and the option", async () => {
    const [message, ...more] = await warnings(90_000);
    expect(message).toMatch(
      /^Step talk: scripted\/scripted-model counted 90000 input tokens where \d+ were estimated, [\d.]+ times too few\. .*`estimateTokens`/,
    );
    expect(more).toEqual([]);
  });

  it("is emitted if far fewer tokens were counted, too", async () => {
    expect(await warnings(2_000)).toEqual([expect.stringContaining("times too many")]);
  });

  it.each([6_000, 10, 0, null])("is not emitted if %d were counted", async (counted) => {
    expect(await warnings(counted)).toEqual([]);
  });

  it("is not repeated for each iteration of a loop", async () => {
    let iterations = 0;
    const twice = (body: StepNode) =>
      Step.loop("again", body, { until: () => ++iterations >= 2, maxIterations: 3 });
    expect(await warnings(90_000, {}, twice)).toHaveLength(1);
    expect(iterations).toBe(2);
  });

  it("is not emitted with an `estimateTokens` that counts like the model", async () => {
    expect(await warnings(90_000, { estimateTokens: (text) => text.length * 4 })).toEqual([]);
  });
});

describe("an estimator", () => {
  it("gets the provider and the id of the model that will see the text", async () => {
    const models = new Set<string>();
    await warnings(6_000, {
      estimateTokens: (text, model) => {
        models.add(JSON.stringify(model));
        return text.length / 4;
      },
    });
    expect([...models]).toEqual(['{"provider":"scripted","modelId":"scripted-model"}']);
  });
});

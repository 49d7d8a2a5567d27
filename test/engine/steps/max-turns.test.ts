import { expect, it } from "vitest";
import { z } from "zod";
import { agent, MaxTurnsExceededError, Pipeline, Runner, Step, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { memoryStore } from "../run-fixture.ts";

const note = tool({
  description: "Notes.",
  inputSchema: z.object({}),
  effect: "read_only",
  execute: () => "noted",
});
const noting = { toolCalls: [{ name: "note", input: {} }] };

function writer(asked: number[], maxTurns: number) {
  const model = scriptedModel(({ turn }) => {
    asked.push(turn);
    return turn < 3 ? noting : { text: "Written." };
  });
  return agent({ name: "writer", model, tools: { note }, maxTurns });
}

it.each([
  ["the agent", (asked: number[], maxTurns: number) => writer(asked, maxTurns)],
  [
    "its step",
    (asked: number[], maxTurns: number) =>
      Pipeline.of("writer", Step.granular("write", writer(asked, 1), { maxTurns })),
  ],
])("a run that took too many turns is resumed with a higher maxTurns of %s", async (_, target) => {
  const store = await memoryStore();
  const asked: number[] = [];
  const failed = new Runner<unknown>(target(asked, 2), { store }).run("Go", { runId: "r-1" });
  await expect(failed).rejects.toThrow(MaxTurnsExceededError);
  await expect(failed).rejects.toThrow(
    "was not done after 2 turns: raise maxTurns of its agent({ … }) or Step.granular(name, agent, { … }) and resume; every turn so far is kept.",
  );
  const { output } = await new Runner<unknown>(target(asked, 3), { store }).resume("r-1");
  expect({ output, asked }).toEqual({ output: "Written.", asked: [1, 2, 3] });
});

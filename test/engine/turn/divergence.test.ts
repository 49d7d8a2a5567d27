import { expect, test } from "vitest";
import {
  agent,
  MaxIterationsExceededError,
  openStore,
  ResumeError,
  Runner,
  Step,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

/** A loop over one granular step, with a model that records its prompts. */
function loopOf(maxIterations: number, instructions: string, asked: string[]) {
  const model = scriptedModel(({ options }) => {
    asked.push(JSON.stringify(options.prompt));
    return { text: `draft ${asked.length}` };
  });
  const writer = agent({ name: "writer", model, instructions });
  return Step.loop("polish", Step.granular("draft", writer), {
    until: (output) => output === "draft 3",
    maxIterations,
  });
}

test("a loop does not resume with another prompt in its next iteration, and makes no model call to find out", async () => {
  const store = await openStore(":memory:");
  const asked: string[] = [];
  const first = new Runner(loopOf(1, "Write.", asked), { store });
  await expect(first.run("a poem", { runId: "poem" })).rejects.toBeInstanceOf(MaxIterationsExceededError);
  expect(asked).toHaveLength(1);

  const changed = new Runner(loopOf(5, "Write badly.", asked), { store }).resume("poem");
  const error = await changed.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ResumeError);
  expect(error).toMatchObject({
    irrecoverable: true,
    details: { changes: [{ what: "prompt", was: "Write.", is: "Write badly." }] },
  });
  expect(asked).toHaveLength(1);

  const { output } = await new Runner(loopOf(5, "Write.", asked), { store }).resume("poem");
  expect(output).toBe("draft 3");
  expect(asked).toHaveLength(3);
  await store.close();
});

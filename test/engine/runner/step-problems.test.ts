// Problems with a step of a blueprint are reported before the first step of the run begins.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkAnswer } from "../../../src/adapters/net/foreign-schema.ts";
import { assertRunSpec } from "../../../src/core/job/run-spec.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { makeToolSource } from "../../../src/engine/definition/tool-source.ts";
import { buildPipeline } from "../../../src/engine/steps/blueprint/blueprint-pipeline.ts";
import { whenExecutor } from "../../../src/engine/steps/blueprint/blueprint-when.ts";
import { ConfigurationError, Runner, tool } from "../../../src/index.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

/**
 * A blueprint with these steps, a tool `note` and a server `files` with the tool `save`; both record what they do.
 */
function made(steps: readonly JsonObject[]) {
  const done: string[] = [];
  const writing = (name: string) =>
    tool({
      description: name,
      inputSchema: z.object({ text: z.string() }),
      execute: ({ text }) => {
        done.push(`${name} ${text}`);
        return text;
      },
    });
  const usesServer = JSON.stringify(steps).includes("files/");
  const { pipeline } = assertRunSpec({
    objective: "Do it",
    pipeline: { name: "p", ...(usesServer ? { mcpServers: { files: { command: "x" } } } : {}), steps },
  });
  if (typeof pipeline !== "object" || pipeline === null) throw new Error("There is no blueprint.");
  const built = buildPipeline(pipeline, {
    check: checkAnswer,
    model: () => {
      throw new Error("No model is needed.");
    },
    tool: () => writing("note"),
    source: (server) =>
      makeToolSource({
        name: server,
        open: (name) => {
          done.push(`open ${name}`);
          return Promise.resolve({
            tools: { [`${name}__save`]: writing("save") },
            close: async () => undefined,
          });
        },
      }),
  });
  return { built, done };
}

async function ran(steps: readonly JsonObject[]) {
  const { built, done } = made(steps);
  const store = await memoryStore();
  const runner = new Runner(built, { store, executors: { when: whenExecutor } });
  return { store, runner, done };
}

describe("a step that cannot be executed", () => {
  it("is found before the first step begins, with all others, also if its tool is a server's", async () => {
    const { store, runner, done } = await ran([
      { name: "a", tool: "note", with: { text: "first" } },
      { name: "b", tool: "note", with: { txt: "{{ previous }}" } },
      { name: "c", tool: "files/save", with: { text: 5 } },
    ]);
    const error = await failureAs(ConfigurationError, runner.run("Go", { runId: "r-1" }));
    expect(error.message).toBe(
      "No step of run r-1 was begun: Step b: with has no text, and note needs it. Step b: with.txt is no argument of note: did you mean text? Step c: with.text is 5, which files/save does not take there: it is of type string. Correct that, and start a new run.",
    );
    expect(done).toEqual(["open files"]);
    expect([await store.listSteps("r-1"), (await store.getRun("r-1"))?.status]).toEqual([[], "failed"]);
  });

  it("is checked only when it begins if it may be skipped", async () => {
    const { runner, done } = await ran([
      { name: "a", tool: "note", with: { text: "first" } },
      { name: "b", tool: "files/save", with: { text: 5 }, when: { step: "a", equals: "other" } },
    ]);
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(done).toEqual(["note first"]);
  });

  it("is not checked again in a run that has begun: its servers are opened when they are needed", async () => {
    const { store, runner, done } = await ran([
      { name: "a", ask: "Well?" },
      { name: "b", tool: "files/save", with: { text: "{{ previous }}" } },
    ]);
    const { waits } = await runner.run("Go", { runId: "r-1" });
    expect(done).toEqual(["open files"]);
    await store.answer(waits[0]?.waitId ?? "", "yes");
    expect((await runner.resume("r-1")).output).toBe("yes");
    expect(done).toEqual(["open files", "open files", "save yes"]);
  });
});

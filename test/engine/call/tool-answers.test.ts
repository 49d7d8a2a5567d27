// What a tool can report beside a result: a final failure, a presentation for the model, and an approval decision.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { makeTool, type Tool } from "../../../src/engine/definition/tool.ts";
import { zodInput } from "../../../src/engine/definition/value-schema.ts";
import { FinalFailure, type Json, Runner, Step } from "../../../src/index.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import { memoryStore, must, scriptedAgent, toolResults } from "../run-fixture.ts";
import { NOWHERE } from "../runner/forecast/forecast-world.ts";
import { acting, actTool, crashAt, jumpingClock, ledger, openWait, runnerOf } from "./call-fixture.ts";

const GO = { runId: "r-1" } as const;

describe("a tool that throws FinalFailure", () => {
  const refusing = () => {
    throw new FinalFailure("There is no such page.");
  };

  it.each([
    { recovery: "repeat", effect: "read_only", uncertain: false },
    { recovery: "keyed", effect: "external", uncertain: true },
    { recovery: "opaque", effect: "external", uncertain: true },
  ] as const)("is not retried if it is $recovery", async ({ recovery, effect, uncertain }) => {
    const store = await memoryStore();
    const clock = jumpingClock();
    const { act, calls } = actTool(refusing, { recovery, effect });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")], { clock });
    expect(await runner.run("Go", GO)).toMatchObject({ status: "succeeded" });
    expect(calls).toHaveLength(1);
    expect(clock.slept).toEqual([]);
    expect(toolResults(prompts[1])).toEqual([{ type: "error-text", value: "There is no such page." }]);
    expect(must((await store.listToolCalls("r-1"))[0]).receipt).toMatchObject({
      status: "failed",
      uncertain,
    });
  });

  it("leaves nothing uncertain with applied: false", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool((n) => {
      if (n === 1) throw new FinalFailure("Refused.", { applied: false });
      return "done";
    });
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("a")]);
    expect(await runner.run("Go", GO)).toMatchObject({ status: "succeeded" });
    expect(calls).toHaveLength(2);
    expect(
      (await store.listToolCalls("r-1")).map(({ receipt }) => [receipt?.status, receipt?.uncertain]),
    ).toEqual([
      ["failed", false],
      ["succeeded", false],
    ]);
  });

  it("is looked up first if possible, and is not retried either", async () => {
    const store = await memoryStore();
    const clock = jumpingClock();
    const reconcile = () => ({ status: "absent" }) as const;
    const { act, calls } = actTool(refusing, { recovery: "reconcile", reconcile });
    const { runner } = runnerOf(store, { act }, [acting("a")], { clock });
    await runner.run("Go", GO);
    expect(calls).toHaveLength(1);
    expect(must((await store.listToolCalls("r-1"))[0]).receipt).toMatchObject({
      status: "failed",
      uncertain: false,
    });
  });

  it("does not use up the retries of a job", async () => {
    const store = await memoryStore();
    const { act } = actTool(refusing, { recovery: "repeat" });
    const { runner } = runnerOf(store, { act }, [acting("a"), acting("b")], { workspaceRoot: NOWHERE });
    const spec = { objective: "o", budgets: { maxRetriesPerToolCall: 1 } };
    expect(await runner.run("Go", { ...GO, spec })).toMatchObject({ status: "succeeded" });
    expect(await ledger(store)).toEqual([
      ["failed", 1, "tool"],
      ["failed", 1, "tool"],
    ]);
  });

  it("still counts towards the limit of repeated errors", async () => {
    const store = await memoryStore();
    const { act } = actTool(refusing, { recovery: "repeat" });
    const turns = [acting("a"), acting("b"), acting("c")];
    const { runner } = runnerOf(store, { act }, turns, { workspaceRoot: NOWHERE });
    const spec = { objective: "o", budgets: { maxSameErrorRepeats: 2 } };
    expect(await runner.run("Go", { ...GO, spec })).toMatchObject({ status: "waiting" });
    expect((await openWait(store)).kind).toBe("escalation");
  });
});

const drawn = { picture: "cGF3bA==", caption: "A pawl." };

/** A tool that shows the model something other than its result. */
function drawing(present: Tool["present"]): Tool {
  return makeTool({
    name: "draw",
    description: "Draws.",
    input: zodInput(z.object({ what: z.string() })),
    effect: "read_only",
    execute: () => drawn,
    present,
  });
}

const draws = { toolCalls: [{ name: "draw", input: { what: "a pawl" } }] };

const asContent: Tool["present"] = ({ result }) => ({
  type: "content",
  value: [
    { type: "text", text: (result as typeof drawn).caption },
    { type: "file", data: { type: "data", data: (result as typeof drawn).picture }, mediaType: "image/png" },
  ],
});

describe("a tool with `present`", () => {
  it.each([20_000, 10])(
    "shows the model the same content in a new process, with results of over %i bytes as blobs",
    async (blobThresholdBytes) => {
      const store = await memoryStore();
      const start = (probe: CrashProbe) => {
        const { agent, prompts } = scriptedAgent([draws, { text: "End." }], {
          tools: { draw: drawing(asContent) },
        });
        const step = Step.granular("work", agent, { blobThresholdBytes });
        return { runner: new Runner(step, { store, probe }), prompts };
      };
      await expect(start(crashAt("turn:committed")).runner.run("Go", GO)).rejects.toThrow("crashed");
      const { runner, prompts } = start(() => undefined);
      await runner.resume("r-1");
      expect(must((await store.listToolCalls("r-1"))[0]).receipt?.blob !== null).toBe(
        blobThresholdBytes === 10,
      );
      expect(toolResults(prompts[0])).toMatchObject([
        {
          type: "content",
          value: [
            { type: "text", text: "A pawl." },
            { type: "file", mediaType: "image/png" },
          ],
        },
      ]);
    },
  );

  it("gets the call, and code steps get the plain result", async () => {
    const store = await memoryStore();
    const shown: unknown[] = [];
    const draw = drawing((each) => {
      shown.push(each);
      return { type: "text", value: "A drawing." };
    });
    await runnerOf(store, { draw }, [draws]).runner.run("Go", GO);
    expect(shown).toEqual([{ toolCallId: "r-1/worker#1.1", input: { what: "a pawl" }, result: drawn }]);
    expect(must((await store.listToolCalls("r-1"))[0]).receipt?.output).toEqual({
      type: "text",
      value: "A drawing.",
    });
    const step = Step.run("code", (_: Json, ctx) => ctx.call(draw, { what: "a pawl" }));
    expect((await new Runner(step, { store }).run(null)).output).toEqual(drawn);
    expect(shown).toHaveLength(1);
  });

  it("counts as executed even if `present` throws: the model gets an error, and the tool is not run again", async () => {
    const store = await memoryStore();
    const draw = drawing(() => {
      throw new Error("The printer is out of ink.");
    });
    const { runner, prompts } = runnerOf(store, { draw }, [draws]);
    expect(await runner.run("Go", GO)).toMatchObject({ status: "succeeded" });
    expect(JSON.stringify(toolResults(prompts[1]))).toContain("cannot be shown (The printer is out of ink.)");
    expect(await ledger(store)).toEqual([["failed", 1, "tool"]]);
  });

  it("may present a result that could not be stored as JSON", async () => {
    const store = await memoryStore();
    const circle: { self?: unknown } = {};
    circle.self = circle;
    const draw = { ...drawing(() => ({ type: "text", value: "A circle." })), execute: () => circle };
    await runnerOf(store, { draw }, [draws]).runner.run("Go", GO);
    expect(must((await store.listToolCalls("r-1"))[0]).receipt).toMatchObject({
      status: "succeeded",
      output: { type: "text", value: "A circle." },
    });
  });
});

describe("a tool with an `approval` function", () => {
  it("may decide asynchronously", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(undefined, { approval: async ({ what }) => what === "dangerous" });
    const { runner } = runnerOf(store, { act }, [acting("harmless"), acting("dangerous")]);
    expect(await runner.run("Go", GO)).toMatchObject({ status: "waiting" });
    expect(calls).toHaveLength(1);
    await store.approve((await openWait(store)).waitId);
    expect(await runner.resume("r-1")).toMatchObject({ status: "succeeded" });
    expect(calls).toHaveLength(2);
  });

  it("may deny the call: the model gets the reason, and nothing runs", async () => {
    const store = await memoryStore();
    const { act, calls } = actTool(undefined, { approval: () => ({ denied: "The office is closed." }) });
    const { runner, prompts } = runnerOf(store, { act }, [acting("a")]);
    expect(await runner.run("Go", GO)).toMatchObject({ status: "succeeded" });
    expect(calls).toHaveLength(0);
    expect(toolResults(prompts[1])).toEqual([
      { type: "error-text", value: "act may not run: The office is closed." },
    ]);
  });

  it("needs an approval if the function throws", async () => {
    const store = await memoryStore();
    const { act } = actTool(undefined, { approval: () => Promise.reject(new Error("Unknown.")) });
    const { runner } = runnerOf(store, { act }, [acting("a")]);
    expect(await runner.run("Go", GO)).toMatchObject({ status: "waiting" });
  });
});

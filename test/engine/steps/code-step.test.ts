// Plain code with a ledger: what it does through ctx.call has a receipt, and is not done twice.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  BlobMissingError,
  type CodeStepContext,
  ConfigurationError,
  type Json,
  Pipeline,
  ResumeError,
  Runner,
  Step,
  type Store,
  ToolFailedError,
  tool,
} from "../../../src/index.ts";
import type { CrashProbe } from "../../../src/testing/index.ts";
import { failureAs, failureOf, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

/** Runs code as a step; it can be run again, as after an interruption. */
function runnerOf(
  store: Store,
  code: (ctx: CodeStepContext) => unknown,
  probe: CrashProbe = () => undefined,
) {
  const step = Step.run("code", async (_input: Json, ctx) => (await code(ctx)) as Json);
  return new Runner(step, { store, probe });
}

describe("ctx.call", () => {
  it("runs a tool, returns its result, and leaves a row with a receipt", async () => {
    const store = await memoryStore();
    const { note, calls } = noteTool();
    const runner = runnerOf(store, async (ctx) => [await ctx.call(note, { text: "one" }), ctx.stepPath]);

    const { output } = await runner.run("Go", { runId: "r-1" });

    expect(output).toEqual([{ noted: "one" }, "code"]);
    expect(await store.listToolCalls("r-1")).toMatchObject([
      {
        toolCallId: "r-1/code#0.1",
        tool: "note",
        turnIndex: 0,
        status: "succeeded",
        attempt: 1,
        occurrence: 1,
        request: { text: "one" },
        receipt: { output: { type: "json", value: { noted: "one" } } },
      },
    ]);
    expect(calls[0]).toMatchObject({ runId: "r-1", stepName: "code", turnIndex: 0 });
  });

  it("answers from the receipts when the step runs again, by arguments and not by position", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool((text) => `did ${text}`);
    let first = true;
    const runner = runnerOf(store, async (ctx) => {
      const order = first ? ["a", "b", "c"] : ["c", "a", "d", "b"];
      const results = await Promise.all(order.map((text) => ctx.call(note, { text })));
      if (first) throw new Error("Interrupted.");
      return results;
    });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    first = false;

    expect((await runner.resume("r-1")).output).toEqual(["did c", "did a", "did d", "did b"]);

    expect([...done].sort()).toEqual(["a", "b", "c", "d"]);
  });

  it("counts equal calls: a wanted repeat is a separate call in both executions", async () => {
    const store = await memoryStore();
    let n = 0;
    const { note, done } = noteTool(() => ++n);
    let wanted = 2;
    const runner = runnerOf(store, async (ctx) => {
      const results: Json[] = [];
      for (let i = 0; i < wanted; i++) results.push(await ctx.call(note, { text: "same" }));
      if (wanted === 2) throw new Error("Interrupted.");
      return results;
    });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    wanted = 3;
    expect((await runner.resume("r-1")).output).toEqual([1, 2, 3]);
    expect(done).toHaveLength(3);
    expect((await store.listToolCalls("r-1")).map((call) => call.occurrence)).toEqual([1, 2, 3]);
  });

  it("throws a ToolFailedError for a tool that throws, from the receipt too", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool(() => {
      throw new Error("The mailbox is full.");
    });
    const caught: unknown[] = [];
    let last = false;
    const runner = runnerOf(store, async (ctx) => {
      await ctx.call(note, { text: "one" }).catch((error: unknown) => caught.push(error));
      if (!last) throw new Error("Interrupted.");
      return "continued";
    });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    last = true;
    expect((await runner.resume("r-1")).output).toBe("continued");
    expect(done).toEqual(["one"]);
    expect(caught).toHaveLength(2);
    for (const error of caught) {
      expect(error).toBeInstanceOf(ToolFailedError);
      expect(error).toMatchObject({
        message: "Tool note failed: The mailbox is full.",
        details: { toolCallId: "r-1/code#0.1", tool: "note" },
      });
    }
  });

  it("fails the run with the tool's failure if the code does not catch it", async () => {
    const store = await memoryStore();
    const { note } = noteTool(() => Promise.reject(new Error("The mailbox is full.")));
    const run = runnerOf(store, (ctx) => ctx.call(note, { text: "one" })).run("Go", { runId: "r-1" });
    await failureAs(ToolFailedError, run);
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", error: { code: "tool_failed" } });
  });

  it("stores large results as blobs, and returns them whole", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool((text) => text.repeat(30_000));
    let broken = true;
    const runner = runnerOf(store, async (ctx) => {
      const text = JSON.stringify(await ctx.call(note, { text: "x" }));
      if (broken) throw new Error("Interrupted.");
      return text.length;
    });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.blob?.size).toBe(30_002);
    broken = false;
    expect((await runner.resume("r-1")).output).toBe(30_002);
    expect(done).toHaveLength(1);
  });

  it("names the missing blob if a large result was deleted", async () => {
    const store = await memoryStore();
    const { note } = noteTool((text) => text.repeat(30_000));
    const runner = runnerOf(store, async (ctx) => {
      await ctx.call(note, { text: "x" }).catch(() => "a catch cannot swallow that");
      throw new Error("Interrupted.");
    });
    await failureOf(runner.run("Go", { runId: "r-1" }));
    await store.collectBlobs({ olderThanMs: -1, maxBytes: 0 });
    await failureAs(BlobMissingError, runner.resume("r-1"));
  });
});

describe("an invalid call", () => {
  it.each<[string, (ctx: CodeStepContext) => Promise<Json>, RegExp]>([
    ["of a tool without a name", (ctx) => ctx.call(unnamed, {}), /has no name: give it one/],
    ["with input that does not fit", (ctx) => ctx.call(noteTool().note, { text: 1 }), /text/],
    [
      "with input that is not JSON",
      (ctx) => ctx.call(noteTool().note, { text: new Date(0) as unknown as string }),
      /\$\.text is a Date/,
    ],
  ])("%s is refused, and nothing is written or run", async (_name, call, words) => {
    const store = await memoryStore();
    const error = await failureOf(runnerOf(store, call).run("Go", { runId: "r-1" }));
    expect(String(error)).toMatch(words);
    expect(error).toHaveProperty("code", expect.stringMatching("configuration|not_json"));
    expect(await store.listToolCalls("r-1")).toEqual([]);
  });

  it("can be caught by the code", async () => {
    const store = await memoryStore();
    const runner = runnerOf(store, async (ctx) => {
      const error = await failureAs(ConfigurationError, ctx.call(unnamed, {}));
      return error.code;
    });
    expect((await runner.run("Go")).output).toBe("configuration");
  });
});

const unnamed = tool({ description: "Has no name.", inputSchema: z.object({}), execute: () => null });

describe("an interrupted call", () => {
  const cut: CrashProbe = (point) => {
    if (point === "tool:executed") throw new Error("The process crashed.");
  };

  it("is repeated with the same key if the tool's recovery class allows that", async () => {
    const store = await memoryStore();
    const { note, calls } = noteTool(undefined, { recovery: "keyed" });
    const code = (ctx: CodeStepContext) => ctx.call(note, { text: "one" });
    await failureOf(runnerOf(store, code, cut).run("Go", { runId: "r-1" }));
    expect((await runnerOf(store, code).resume("r-1")).output).toEqual({ noted: "one" });
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  it("waits for a person otherwise, whatever the code catches", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    const code = (ctx: CodeStepContext) => ctx.call(note, { text: "one" }).catch(() => "swallowed");
    await failureOf(runnerOf(store, code, cut).run("Go", { runId: "r-1" }));
    const { status, waits } = await runnerOf(store, code).resume("r-1");
    expect(status).toBe("waiting");
    expect(waits).toMatchObject([
      { kind: "in_doubt", toolCallId: "r-1/code#0.1", subject: { tool: "note", recovery: "opaque" } },
    ]);
    expect(done).toEqual(["one"]);
  });
});

describe("calls that are running when the code has ended", () => {
  it("are awaited if it failed, and have their receipts", async () => {
    const store = await memoryStore();
    const slow = Promise.withResolvers<string>();
    const { note, done } = noteTool((text) =>
      text === "slow" ? slow.promise : Promise.reject(new Error("No.")),
    );
    let broken = true;
    const runner = runnerOf(store, (ctx) =>
      Promise.all([ctx.call(note, { text: "slow" }), broken && ctx.call(note, { text: "bad" })]),
    );
    const run = failureAs(ToolFailedError, runner.run("Go", { runId: "r-1" }));
    while (done.length < 2) await new Promise(setImmediate);
    setTimeout(() => slow.resolve("finally done"), 20);
    await run;
    expect((await store.listToolCalls("r-1")).map((call) => [call.request, call.status])).toEqual([
      [{ text: "slow" }, "succeeded"],
      [{ text: "bad" }, "failed"],
    ]);
    broken = false;
    expect((await runner.resume("r-1")).output).toEqual(["finally done", false]);
    expect(done).toEqual(["slow", "bad"]);
  });

  it("are awaited if the code did not await them", async () => {
    const store = await memoryStore();
    const { note } = noteTool(() => new Promise((resolve) => setTimeout(resolve, 20, "late")));
    const runner = runnerOf(store, (ctx) => void ctx.call(note, { text: "forgotten" }));
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect((await store.listToolCalls("r-1")).map((call) => call.status)).toEqual(["succeeded"]);
  });

  it("are not started any more", async () => {
    const store = await memoryStore();
    const { note, done } = noteTool();
    let kept: CodeStepContext | undefined;
    const pipeline = Pipeline.of(
      "p",
      Step.run("first", (_input, ctx) => void (kept = ctx)),
      Step.run("second", async () => {
        void kept?.call(note, { text: "too late" });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }),
    );
    await new Runner(pipeline, { store }).run("Go", { runId: "r-1" });
    expect(done).toEqual([]);
    expect(await store.listToolCalls("r-1")).toEqual([]);
  });
});

describe("ctx.granularState", () => {
  it("returns the state of an earlier agent", async () => {
    const store = await memoryStore();
    const { note } = noteTool();
    const { agent } = scriptedAgent([noting("one"), { text: "Hello" }], { tools: { note } });
    const pipeline = Pipeline.of(
      "p",
      Step.granular("work", agent),
      Step.run("look", async (_input, ctx) => {
        const state = await ctx.granularState("work");
        return [state?.turnIndex, state?.finalOutput, await ctx.granularState("unknown")] as Json;
      }),
    );
    expect((await new Runner(pipeline, { store }).run("Go")).output).toEqual([2, "Hello", null]);
  });
});

describe("a changed pipeline", () => {
  it("is refused before any code runs", async () => {
    const store = await memoryStore();
    const entered: string[] = [];
    const step = (name: string) =>
      Step.run(name, () => {
        entered.push(name);
        if (name === "b") throw new Error("Not yet.");
      });
    await failureOf(
      new Runner(Pipeline.of("p", step("a"), step("b")), { store }).run("Go", { runId: "r-1" }),
    );
    const changed = new Runner(Pipeline.of("p", step("a"), step("x"), step("b")), { store });
    const error = await failureAs(ResumeError, changed.resume("r-1"));
    expect(error.irrecoverable).toBe(true);
    expect(error.message).toMatch(/b \(run\).+x \(run\)/);
    expect(entered).toEqual(["a", "b"]);
    // Later steps may differ.
    const longer = new Runner(Pipeline.of("p", step("a"), step("b"), step("c")), { store });
    await failureOf(longer.resume("r-1"));
    expect(entered).toEqual(["a", "b", "b"]);
  });
});

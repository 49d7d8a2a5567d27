// Code that needs a person: its call does not settle, no catch swallows it, and it resumes from its receipts.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type CodeStepContext,
  type Json,
  NeedsHuman,
  Runner,
  type RunnerOptions,
  Step,
  type Tool,
  ToolFailedError,
  tool,
} from "../../../src/index.ts";
import {
  actTool,
  crashAt,
  drainEventLoop,
  jumpingClock,
  ledger,
  openWait,
  timedStore,
} from "../call/call-fixture.ts";
import { failureAs, failureOf, memoryStore } from "../run-fixture.ts";

type Code = (ctx: CodeStepContext, act: Tool) => unknown;

/** Code with a tool; each new runner acts as another process. */
async function codeOf(
  code: Code,
  options: NonNullable<Parameters<typeof actTool>[1]> = {},
  execute?: (n: number) => unknown,
) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { act, calls, whats } = actTool(execute, options);
  const step = Step.run("code", async (_input: Json, ctx) => (await code(ctx, act)) as Json);
  const make = (more: RunnerOptions = {}) => new Runner(step, { store, clock, ...more });
  return { store, clock, act, calls, whats, make };
}

const only = (...dear: string[]) => ({ approval: ({ what }: { what: string }) => dear.includes(what) });

describe("a code step's call that needs approval", () => {
  it("does not settle: neither catch nor finally is called", async () => {
    const called: string[] = [];
    const { store, calls, make } = await codeOf(
      (ctx, act) =>
        ctx
          .call(act, { what: "a" })
          .catch(() => called.push("catch"))
          .finally(() => called.push("finally")),
      { approval: true },
    );
    const { status, waits } = await make().run("Go", { runId: "r-1" });
    expect([status, calls, called]).toEqual(["waiting", [], []]);
    expect(waits).toMatchObject([
      { kind: "approval", toolCallId: "r-1/code#0.1", subject: { tool: "act", arguments: { what: "a" } } },
    ]);
    expect(await ledger(store)).toEqual([["prepared", 0, null]]);
  });

  it("runs once when approved; earlier calls of the code are answered from their receipts", async () => {
    const { store, whats, make } = await codeOf(
      async (ctx, act) => [await ctx.call(act, { what: "a" }), await ctx.call(act, { what: "b" })],
      only("b"),
    );
    await make().run("Go", { runId: "r-1" });
    expect(whats).toEqual(["a"]);
    await store.approve((await openWait(store)).waitId);
    expect((await make().resume("r-1")).output).toEqual(["done 1", "done 2"]);
    expect(whats).toEqual(["a", "b"]);
    expect(await ledger(store)).toEqual([
      ["succeeded", 1, "tool"],
      ["succeeded", 1, "tool"],
    ]);
  });

  it("fails when denied, and the code gets the reason and a code for it", async () => {
    const { store, calls, make } = await codeOf(
      async (ctx, act) => {
        const { message, details } = await failureAs(ToolFailedError, ctx.call(act, { what: "a" }));
        return [message, details.errorCode];
      },
      { approval: true },
    );
    await make().run("Go", { runId: "r-1" });
    await store.deny((await openWait(store)).waitId, "Too dear.");
    const { output } = await make().resume("r-1");
    expect(output).toEqual(["Tool act failed: A person denied act: Too dear.", "denied"]);
    expect(calls).toEqual([]);
  });

  it("lets parallel calls finish with their receipts", async () => {
    const { store, whats, make } = await codeOf(
      (ctx, act) => Promise.all(["a", "b", "c"].map((what) => ctx.call(act, { what }))),
      only("b", "c"),
    );
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(whats).toEqual(["a"]);
    expect(waits.map(({ subject }) => subject.arguments)).toEqual([{ what: "b" }, { what: "c" }]);
    for (const { waitId } of waits) await store.approve(waitId);
    expect((await make().resume("r-1")).output).toEqual(["done 1", "done 2", "done 3"]);
  });

  it("needs its own approval for each equal call", async () => {
    const { store, calls, make } = await codeOf(
      async (ctx, act) => [await ctx.call(act, { what: "a" }), await ctx.call(act, { what: "a" })],
      { approval: true },
    );
    await make().run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    expect((await make().resume("r-1")).waits).toMatchObject([
      { waitId: "r-1~2", toolCallId: "r-1/code#0.2" },
    ]);
    expect(calls).toHaveLength(1);
  });

  it("needs a new approval if a default has changed since", async () => {
    const store = await memoryStore();
    const sent: string[] = [];
    const make = (day: string) => {
      const post = tool({
        name: "post",
        description: "Posts.",
        inputSchema: z.object({ day: z.string().default(day) }),
        approval: true,
        execute: (input) => sent.push(input.day),
      });
      return new Runner(
        Step.run("code", (_input, ctx) => ctx.call(post, {})),
        { store },
      );
    };
    await make("Monday").run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    expect((await make("Tuesday").resume("r-1")).waits).toMatchObject([
      { waitId: "r-1~2", subject: { arguments: { day: "Tuesday" } } },
    ]);
    expect(sent).toEqual([]);
    await store.approve("r-1~2");
    expect((await make("Tuesday").resume("r-1")).status).toBe("succeeded");
    expect(sent).toEqual(["Tuesday"]);
  });
});

describe("a code step's call whose tool throws NeedsHuman", () => {
  it("fails with the person's answer as the message", async () => {
    const { store, calls, make } = await codeOf(
      async (ctx, act) => (await failureAs(ToolFailedError, ctx.call(act, { what: "a" }))).message,
      {},
      () => {
        throw new NeedsHuman("captcha", "Read this picture.");
      },
    );
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("waiting");
    await store.answer((await openWait(store)).waitId, "It says 7QX.");
    expect((await make().resume("r-1")).output).toMatch(/It says 7QX\./);
    expect(calls).toHaveLength(1);
  });
});

describe("code that runs again and makes another call", () => {
  /** Interrupted after one call with "a"; the next execution makes these calls. */
  async function again(next: readonly string[], options: Parameters<typeof codeOf>[1] = {}) {
    let whats: readonly string[] = ["a"];
    let broken = true;
    const made = await codeOf(async (ctx, act) => {
      const calls = whats.map((what) => ctx.call(act, { what }).catch((error: unknown) => String(error)));
      // Time passes in which further calls may still be made.
      if (!broken) void drainEventLoop().then(() => made.clock.advance(2_000));
      const results = await Promise.all(calls);
      if (broken) throw new Error("Interrupted.");
      return results;
    }, options);
    await failureOf(made.make().run("Go", { runId: "r-1" }));
    whats = next;
    broken = false;
    return { ...made, result: await made.make().resume("r-1") };
  }

  it("of the same tool needs approval, which names the leftover call", async () => {
    const { store, whats, result } = await again(["b"]);
    expect([result.status, whats]).toEqual(["waiting", ["a"]]);
    expect(await openWait(store)).toMatchObject({
      kind: "possible_duplicate",
      toolCallId: "r-1/code#0.2",
      question: expect.stringMatching(
        /This step called act before .+\(r-1\/code#0\.1\).+other arguments/,
      ) as string,
      subject: { earlier: "r-1/code#0.1", arguments: { what: "b" } },
    });
  });

  it("runs it when approved, and gets an error when denied", async () => {
    const approved = await again(["b"]);
    await approved.store.approve("r-1~1");
    expect((await approved.make().resume("r-1")).output).toEqual(["done 2"]);
    const denied = await again(["b"]);
    await denied.store.deny("r-1~1", "The same mail.");
    expect((await denied.make().resume("r-1")).output).toEqual([expect.stringContaining("The same mail.")]);
    expect(denied.whats).toEqual(["a"]);
  });

  it("next to its earlier call needs no approval, in either order", async () => {
    for (const next of [
      ["a", "b"],
      ["b", "a"],
    ]) {
      const { result, whats } = await again(next);
      expect([result.status, whats]).toEqual(["succeeded", ["a", "b"]]);
    }
  });

  it("and its earlier call a moment later needs no approval", async () => {
    let broken = true;
    const made = await codeOf(async (ctx, act) => {
      if (broken) {
        await ctx.call(act, { what: "a" });
        throw new Error("Interrupted.");
      }
      const other = ctx.call(act, { what: "b" });
      await drainEventLoop();
      await made.clock.advance(1_999);
      return [await ctx.call(act, { what: "a" }), await other];
    });
    await failureOf(made.make().run("Go", { runId: "r-1" }));
    broken = false;
    expect((await made.make().resume("r-1")).output).toEqual(["done 1", "done 2"]);
  });

  it.each(["read_only", "local"] as const)("of a tool that is %s needs no approval", async (effect) => {
    const { result, whats } = await again(["b"], { effect });
    expect([result.status, whats]).toEqual(["succeeded", ["a", "b"]]);
  });

  it("leaves a call in doubt behind, which is asked about before the step ends", async () => {
    let asks = true;
    const { store, make } = await codeOf(async (ctx, act) =>
      asks ? ctx.call(act, { what: "a" }) : "skipped",
    );
    await failureOf(make({ probe: crashAt("tool:executed") }).run("Go", { runId: "r-1" }));
    asks = false;
    const { status, waits } = await make().resume("r-1");
    expect(status).toBe("waiting");
    expect(waits).toMatchObject([
      { kind: "in_doubt", toolCallId: "r-1/code#0.1", subject: { arguments: { what: "a" } } },
    ]);
    await store.settle("r-1/code#0.1", { as: "succeeded", result: null });
    expect((await make().resume("r-1")).output).toBe("skipped");
  });
});

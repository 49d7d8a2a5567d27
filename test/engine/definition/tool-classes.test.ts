// The classification of a tool and its effect on failures: by its declaration, by the policy, or by its name.

import { tool as aiSdkTool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, type Policy, Runner, Step, tool } from "../../../src/index.ts";
import { asking, jumpingClock, runnerOf, timedStore } from "../call/call-fixture.ts";
import { failureAs, memoryStore, must } from "../run-fixture.ts";

type Declared = Partial<Pick<Parameters<typeof tool>[0], "effect" | "recovery" | "namespace">>;

/** Effect, recovery class and number of attempts of a failing tool with this name. */
async function classify(name: string, declared: Declared = {}, policy: Policy = {}) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const failing = tool({
    name,
    description: "Fails.",
    inputSchema: z.object({ n: z.number() }),
    ...declared,
    reconcile: () => ({ status: "unknown" }),
    execute: () => must(null),
  });
  const { runner } = runnerOf(store, { [name]: failing }, [asking([name, { n: 1 }])], { clock, policy });
  await runner.run("Go", { runId: "r-1" });
  const { effect, recovery, attempt } = must((await store.listToolCalls("r-1"))[0]);
  return [effect, recovery, attempt];
}

describe("a tool", () => {
  it("without declarations is classified by its name", async () => {
    expect(await classify("get_weather")).toEqual(["read_only", "repeat", 3]);
    expect(await classify("send_email")).toEqual(["external", "opaque", 1]);
    expect(await classify("frobnicate")).toEqual(["external", "opaque", 1]);
    expect(await classify("write_local_file")).toEqual(["local", "opaque", 1]);
    expect(await classify("archival_memory_insert")).toEqual(["memory", "opaque", 1]);
  });

  it("that declares its effect is classified by that, whatever its name", async () => {
    expect(await classify("send_email", { effect: "read_only" })).toEqual(["read_only", "repeat", 3]);
    expect(await classify("get_weather", { effect: "external" })).toEqual(["external", "opaque", 1]);
  });

  it("that declares its recovery class is classified by that, whatever its effect", async () => {
    expect(await classify("send_email", { recovery: "keyed" })).toEqual(["external", "keyed", 3]);
    expect(await classify("get_weather", { recovery: "opaque" })).toEqual(["read_only", "opaque", 1]);
    expect(await classify("send_email", { recovery: "reconcile" })).toEqual(["external", "reconcile", 1]);
  });

  it("is classified by the policy's lists unless it declares otherwise; the stricter list wins", async () => {
    const deny: Policy = { sideEffectDenylist: ["get_*"] };
    const allow: Policy = { readOnlyAllowlist: ["frobnicate"] };
    expect(await classify("get_weather", {}, deny)).toEqual(["external", "opaque", 1]);
    expect(await classify("get_weather", { effect: "read_only" }, deny)).toEqual(["read_only", "repeat", 3]);
    expect(await classify("frobnicate", {}, allow)).toEqual(["read_only", "repeat", 3]);
    expect(await classify("frobnicate", {}, { ...allow, sideEffectDenylist: ["frobnicate"] })).toEqual([
      "external",
      "opaque",
      1,
    ]);
    expect(await classify("frobnicate", { effect: "local" }, allow)).toEqual(["local", "opaque", 1]);
  });

  it("called by code is classified in the same way", async () => {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const frobnicate = tool({
      name: "frobnicate",
      description: "Fails.",
      inputSchema: z.object({}),
      execute: () => must(null),
    });
    const step = Step.run("code", (_input, ctx) => ctx.call(frobnicate, {}).catch(() => null));
    await new Runner(step, { store, clock, policy: { readOnlyAllowlist: ["frob*"] } }).run("Go", {
      runId: "r-1",
    });
    expect((await store.listToolCalls("r-1"))[0]).toMatchObject({ effect: "read_only", attempt: 3 });
  });
});

describe("a plain tool of the AI SDK", () => {
  it.each([
    ["getWeather", "read_only", "repeat", 3],
    ["sendEmail", "external", "opaque", 1],
    ["GMAIL_FETCH_EMAILS", "read_only", "repeat", 3],
    ["mcp__composio__GMAIL_SEND_EMAIL", "external", "opaque", 1],
    ["getOrCreateUser", "external", "opaque", 1],
  ] as const)(
    "named %s is %s and %s, so it is attempted %i times",
    async (name, effect, recovery, attempt) => {
      const clock = jumpingClock();
      const store = await timedStore(clock);
      const plain = aiSdkTool({
        description: "Fails.",
        inputSchema: z.object({}),
        execute: async () => must<string>(null),
      });
      const { runner } = runnerOf(store, { [name]: plain as never }, [asking([name, {}])], { clock });
      await runner.run("Go", { runId: "r-1" });
      expect((await store.listToolCalls("r-1"))[0]).toMatchObject({ effect, recovery, attempt });
    },
  );
});

describe("an invalid tool", () => {
  const make = (more: object) =>
    tool({ description: "Acts.", inputSchema: z.object({}), execute: () => null, ...more });

  it.each<[string, object, RegExp]>([
    ["has recovery reconcile and no reconcile function", { recovery: "reconcile" }, /no reconcile function/],
    ["has an unknown recovery class", { recovery: "retry" }, /recovery "retry": use repeat, keyed/],
    ["has an unknown effect", { effect: "none" }, /effect "none": use external/],
    ["has a timeout of zero", { timeoutMs: 0 }, /timeoutMs 0: give whole milliseconds/],
    ["has a timeout that is too long", { timeoutMs: 2 ** 31 }, /timeoutMs 2147483648/],
    ["has a negative landing time", { landsWithinMs: -1 }, /landsWithinMs -1/],
    ["has an unknown inDoubt", { inDoubt: "ignore" }, /inDoubt "ignore": use ask, tell/],
    ["has an unknown dedupe", { dedupe: "once" }, /dedupe "once": use effect, call/],
  ])("that %s is refused when it is made", (_name, more, words) => {
    expect(() => make(more)).toThrow(ConfigurationError);
    expect(() => make(more)).toThrow(words);
  });

  it("that requires a key without a parameter for it is refused before code calls it", async () => {
    const store = await memoryStore();
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ amount: z.number() }),
      requiresIdempotencyKey: true,
      execute: () => "paid",
    });
    const step = Step.run("code", (_input, ctx) => ctx.call(pay, { amount: 5 }));
    const error = await failureAs(
      ConfigurationError,
      new Runner(step, { store }).run("Go", { runId: "r-1" }),
    );
    expect(error.message).toMatch(/no property for it/);
    expect(await store.listToolCalls("r-1")).toEqual([]);
  });

  it("whose schema drops the key is refused before anything is sent", async () => {
    const store = await memoryStore();
    const paid: unknown[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z
        .object({ amount: z.number(), idempotencyKey: z.string() })
        .transform(({ amount }) => ({ amount })),
      requiresIdempotencyKey: true,
      execute: (input) => paid.push(input),
    });
    const { runner } = runnerOf(store, { pay }, [asking(["pay", { amount: 5 }])]);
    const error = await failureAs(ConfigurationError, runner.run("Go", { runId: "r-1" }));
    expect(error.message).toMatch(/must carry the call's idempotency key, and its payload has none/);
    expect(paid).toEqual([]);
    expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["prepared"]);
  });
});

// A secret is not stored, so it is lost with the process that knew it: a call that needs it is not made without it.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isJson } from "../../../src/core/canonical-json.ts";
import { withoutDigests } from "../../../src/core/secret/secret-mark.ts";
import {
  type CodeStepContext,
  type Json,
  type RecoveryClass,
  Runner,
  type RunnerOptions,
  Step,
  secret,
  tool,
} from "../../../src/index.ts";
import { asking, crashAt, ledger, openWait, runnerOf } from "../call/call-fixture.ts";
import { failureOf, memoryStore, toolResults } from "../run-fixture.ts";

const KEY = "k-123456-abcdef";
const bare = (value: unknown) => withoutDigests(value as Json);
const policy = { secretKeys: ["apiKey"] };

/** A tool that takes a key, and a record of its inputs. */
function loginTool(recovery: RecoveryClass = "keyed", approval = false) {
  const given: Json[] = [];
  const login = tool({
    name: "login",
    description: "Logs in.",
    inputSchema: z.object({ apiKey: z.string().optional(), url: z.string() }),
    effect: "external",
    recovery,
    approval,
    reconcile: () => ({ status: "unknown" as const }),
    execute: (input): string => {
      given.push(input as Json);
      return `welcome ${given.length}`;
    },
  });
  return { login, given };
}

describe("a model's call with a secret", () => {
  type DyingOptions = {
    readonly recovery?: RecoveryClass;
    readonly approval?: boolean;
    readonly limit?: number;
  };

  /** Dies at a point; the next worker does not know the secret. */
  async function dying(
    inputs: readonly Json[],
    probe: RunnerOptions["probe"],
    { recovery = "keyed", approval = false, limit = 8 }: DyingOptions = {},
  ) {
    const store = await memoryStore();
    const { login, given } = loginTool(recovery, approval);
    const turns = [asking(...inputs.map((input) => ["login", input] as const))];
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { login }, turns, { policy, maxParallelToolCalls: limit, ...more });
    const { runner } = make(probe === undefined ? {} : { probe });
    await runner.run("Go", { runId: "r-1" }).catch(() => null);
    return { store, given, make, ...make() };
  }
  const withSecret = { apiKey: KEY, url: "https://example.org" };

  it("that was not dispatched is cancelled, and the model is asked to make it again", async () => {
    const plain = { url: "https://example.org" };
    const { store, given, runner, prompts } = await dying(
      [plain, withSecret, plain],
      crashAt("tool:executed"),
      {
        limit: 1,
      },
    );
    expect(given).toEqual([plain]);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(given).toEqual([plain, plain, plain]);
    expect(toolResults(prompts[0])[1]).toEqual({
      type: "error-text",
      value: expect.stringMatching(
        /^The arguments of login held a secret, .+: ask for it again\.$/,
      ) as string,
    });
    expect((await store.listToolCalls("r-1"))[1]).toMatchObject({
      status: "cancelled",
      attempt: 0,
      receipt: { errorCode: "secret_lost" },
    });
  });

  it("that waited for approval is cancelled, approved or not", async () => {
    const { store, given, runner } = await dying([withSecret], undefined, { approval: true });
    const { waitId, subject } = await openWait(store);
    expect(subject.hidden).toEqual([
      expect.stringMatching(/^arguments\.apiKey is hidden because/),
      expect.stringMatching(/cannot run after an answer: .+ the model is asked to make the call again\.$/),
    ]);
    await store.approve(waitId);
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(given).toEqual([]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt?.errorCode).toBe("secret_lost");
  });

  it.each(["repeat", "keyed", "reconcile", "opaque"] as const)(
    "that is in doubt waits for a person, though it is %s",
    async (recovery) => {
      const { store, given, runner } = await dying([withSecret], crashAt("tool:executed"), { recovery });
      expect((await runner.resume("r-1")).status).toBe("waiting");
      expect(given).toEqual([withSecret]);
      expect(bare(await openWait(store))).toMatchObject({
        kind: "in_doubt",
        subject: { arguments: { apiKey: "[secret]", url: "https://example.org" } },
      });
      await store.settle("r-1/worker#1.1", { as: "succeeded", result: "by hand" });
      expect((await runner.resume("r-1")).output).toBe("End.");
      expect(given).toHaveLength(1);
    },
  );

  it("is never run with the mark in place of the secret, not even after a person's retry", async () => {
    const { store, given, runner } = await dying([withSecret], crashAt("tool:executed"));
    await runner.resume("r-1");
    await store.settle("r-1/worker#1.1", { as: "retry" });
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(given).toEqual([withSecret]);
    expect((await store.listToolCalls("r-1"))[0]?.receipt).toMatchObject({
      status: "failed",
      errorCode: "secret_lost",
      uncertain: true,
    });
  });

  it("inside of a text is not run either", async () => {
    const inText = { url: `https://example.org/?apiKey=${KEY}` };
    const { given, runner } = await dying([inText], crashAt("turn:journaled"));
    await runner.resume("r-1");
    expect(given).toEqual([]);
  });
});

describe("a model's call that quotes a mark as models see it", () => {
  const quoted = { url: "the token is [secret], as hidden" };
  const forged = { url: "[secret:000000000000] and [secret:default]" };
  const plain = { url: "[secret] and [secret:default]" };

  it.each([
    ["without a digest", quoted, quoted],
    ["with an invented one", forged, plain],
  ])("runs after approval: %s", async (_, input, sent) => {
    const store = await memoryStore();
    const { login, given } = loginTool("keyed", true);
    const { runner } = runnerOf(store, { login }, [asking(["login", input])], { policy });
    await runner.run("Go", { runId: "r-1" });
    const { subject } = await openWait(store);
    expect(subject.arguments).toEqual(sent);
    expect(subject.hidden).toEqual([
      "arguments.url has the text [secret]: it was written that way, or hidden by an earlier version.",
    ]);
    await store.approve("r-1~1");
    expect((await runner.resume("r-1")).output).toBe("End.");
    expect(given).toEqual([sent]);
  });

  it.each(["turn:journaled", "tool:executed"] as const)(
    "runs with the same arguments after a crash (%s) as before it",
    async (point) => {
      const store = await memoryStore();
      const { login, given } = loginTool("keyed");
      const make = (more: RunnerOptions = {}) =>
        runnerOf(store, { login }, [asking(["login", forged])], { policy, ...more }).runner;
      await make({ probe: crashAt(point) })
        .run("Go", { runId: "r-1" })
        .catch(() => null);
      expect((await make().resume("r-1")).output).toBe("End.");
      expect(given).not.toEqual([]);
      expect(new Set(given.map((each) => JSON.stringify(each)))).toEqual(new Set([JSON.stringify(plain)]));
    },
  );

  it("is not run if an earlier version stored it with a hidden secret", async () => {
    const store = await memoryStore();
    const { login, given } = loginTool("keyed");
    const input = { url: "https://example.org", apiKey: KEY };
    const make = (more: RunnerOptions = {}) =>
      runnerOf(store, { login }, [asking(["login", input])], { policy, ...more }).runner;
    await make({ probe: crashAt("turn:journaled") })
      .run("Go", { runId: "r-1" })
      .catch(() => null);
    // As earlier versions stored it: with bare marks.
    const older = new Proxy(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, args);
          const isRead = typeof name === "string" && /^(?:list|read|load|find|get)/.test(name);
          return isRead && result instanceof Promise
            ? result.then((each) => (isJson(each) ? withoutDigests(each) : each))
            : result;
        };
      },
    });
    await runnerOf(older, { login }, [asking(["login", input])], { policy })
      .runner.resume("r-1")
      .catch(() => null);
    expect(given).toEqual([]);
  });
});

describe("calls that differ only in their secret", () => {
  it("are two effects, and both happen", async () => {
    const store = await memoryStore();
    const given: string[] = [];
    const pay = tool({
      name: "pay",
      description: "Pays.",
      inputSchema: z.object({ account: z.string(), amount: z.number() }),
      dedupe: "effect",
      execute: ({ account }) => given.push(account),
    });
    const turns = ["DE-111111", "DE-222222", "DE-111111"].map((account) =>
      asking(["pay", { account, amount: 5 }]),
    );
    const { runner } = runnerOf(store, { pay }, turns, { policy: { secretKeys: ["account"] } });
    await runner.run("Go", { runId: "r-1" });
    expect(given).toEqual(["DE-111111", "DE-222222"]);
  });

  it("each get their own receipt back when the code runs again, in any order", async () => {
    const store = await memoryStore();
    const { login } = loginTool();
    let keys = ["key-aaaaa", "key-bbbbb"];
    let broken = true;
    const step = Step.run("code", async (_input: Json, ctx) => {
      const results: Json[] = [];
      for (const key of keys) results.push([key, await ctx.call(login, { apiKey: secret(key), url: "u" })]);
      if (broken) throw new Error("Interrupted.");
      return results;
    });
    await failureOf(new Runner(step, { store }).run("Go", { runId: "r-1" }));
    broken = false;
    keys = keys.toReversed();
    const { output } = await new Runner(step, { store }).resume("r-1");
    expect(bare(output)).toEqual([
      ["[secret]", "welcome 2"],
      ["[secret]", "welcome 1"],
    ]);
  });
});

describe("a code step's call with a secret", () => {
  async function codeOf(code: (ctx: CodeStepContext) => unknown) {
    const store = await memoryStore();
    const step = Step.run("code", async (_input: Json, ctx) => (await code(ctx)) as Json);
    const make = (more: RunnerOptions = {}) => new Runner(step, { store, ...more });
    return { store, make };
  }

  it.each(["tool:executed", "tool:before-execute"] as const)(
    "that was interrupted (%s) resumes with the secret that the code passes again",
    async (point) => {
      const { login, given } = loginTool("keyed");
      const { store, make } = await codeOf((ctx) => ctx.call(login, { apiKey: secret(KEY), url: "u" }));
      await failureOf(make({ probe: crashAt(point) }).run("Go", { runId: "r-1" }));
      expect((await make().resume("r-1")).output).toBe(`welcome ${given.length}`);
      expect(new Set(given.map((input) => JSON.stringify(input)))).toEqual(
        new Set([JSON.stringify({ apiKey: KEY, url: "u" })]),
      );
      expect(await ledger(store)).toEqual([["succeeded", 2, "tool"]]);
      expect(bare((await store.listToolCalls("r-1"))[0]?.request)).toEqual({ apiKey: "[secret]", url: "u" });
    },
  );

  it("that needs approval runs with the secret when approved", async () => {
    const { login, given } = loginTool("opaque", true);
    const { store, make } = await codeOf((ctx) => ctx.call(login, { apiKey: secret(KEY), url: "u" }));
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(bare(waits[0]?.subject.arguments)).toEqual({ apiKey: "[secret]", url: "u" });
    await store.approve("r-1~1");
    expect((await make().resume("r-1")).output).toBe("welcome 1");
    expect(given).toEqual([{ apiKey: KEY, url: "u" }]);
  });

  it("with a new secret is another call, which needs its own approval", async () => {
    const { login, given } = loginTool("opaque", true);
    let key = KEY;
    const { store, make } = await codeOf((ctx) => ctx.call(login, { apiKey: secret(key), url: "u" }));
    await make().run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    key = "k-another-one";
    const { status, waits } = await make().resume("r-1");
    expect([status, waits.map(({ toolCallId }) => toolCallId)]).toEqual(["waiting", ["r-1/code#0.2"]]);
    expect(given).toEqual([]);
  });

  it("with a new secret is not run after the first one had its effect: a person is asked", async () => {
    const { login, given } = loginTool();
    let key = KEY;
    const { make } = await codeOf(async (ctx) => {
      const result = await ctx.call(login, { apiKey: secret(key), url: "u" });
      if (key === KEY) throw new Error("Interrupted.");
      return result;
    });
    await failureOf(make().run("Go", { runId: "r-1" }));
    key = "k-another-one";
    const { status, waits } = await make().resume("r-1");
    expect([status, waits.map(({ kind }) => kind)]).toEqual(["waiting", ["possible_duplicate"]]);
    expect(given).toHaveLength(1);
  });
});

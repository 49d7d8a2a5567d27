// Hidden values leave evidence: which were equal, how long they were and why they are hidden. Only the operator and
// the run's own code can have a text hidden that is not under a secret name.

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  ConfigurationError,
  type Json,
  type Policy,
  Runner,
  Step,
  StoreUnavailableError,
  secret,
  tool,
} from "../../../src/index.ts";
import { asking, openWait, runnerOf } from "../call/call-fixture.ts";
import { databaseFile, failureAs, failureOf, fileStore, memoryStore, toolResults } from "../run-fixture.ts";

const policy = { secretKeys: ["password"] };
const NAMED = /^\[secret:([0-9a-f]{12}),(\d+)-characters\]$/;

/** Returns its input, under its names and in a text. */
const echo = (approval = false) =>
  tool({
    name: "echo",
    description: "Says it again.",
    inputSchema: z.looseObject({}),
    effect: "external",
    recovery: "keyed",
    dedupe: "call",
    approval,
    execute: (input) => ({ ...input, said: `it was ${Object.values(input).join()}` }),
  });

describe("a value under a secret name from a model", () => {
  it("is hidden there and nowhere else", async () => {
    const store = await memoryStore();
    const turns = [
      asking(["echo", { password: "attacker.test", to: "attacker.test" }]),
      asking(["echo", { to: "attacker.test" }]),
    ];
    const { runner, prompts } = runnerOf(store, { echo: echo() }, turns, { policy });
    await runner.run("Go", { runId: "r-1" });
    const [first, second] = await store.listToolCalls("r-1");
    expect(first?.request).toEqual({ password: expect.stringMatching(NAMED), to: "attacker.test" });
    expect(second?.request).toEqual({ to: "attacker.test" });
    expect(second?.receipt?.output).toMatchObject({ value: { said: "it was attacker.test" } });
    expect(toolResults(prompts[1])[0]).toMatchObject({
      value: { password: "[secret]", said: "it was attacker.test,attacker.test" },
    });
  });
});

describe("a value under a secret name from code", () => {
  it("is hidden in the result of that call, but not in other calls", async () => {
    const store = await memoryStore();
    const step = Step.run("code", async (_input: Json, ctx) => {
      const first = await ctx.call(echo(), { password: "hunter-22" });
      return [first, await ctx.call(echo(), { to: "hunter-22" })];
    });
    const { output } = await new Runner(step, { store, policy }).run("Go", { runId: "r-1" });
    expect(output).toEqual([
      {
        password: expect.stringMatching(NAMED),
        said: expect.stringMatching(/^it was \[secret:[0-9a-f]{12}\]$/),
      },
      { to: "hunter-22", said: "it was hunter-22" },
    ]);
  });
});

describe("the digest of a hidden value", () => {
  async function marks(values: readonly string[], given: Policy = policy, file = databaseFile()) {
    const store = await fileStore(file);
    const turns = values.map((password) => asking(["echo", { password }]));
    const { runner } = runnerOf(store, { echo: echo() }, turns, { policy: given });
    const { runId } = await runner.run("Go", { fresh: true });
    const calls = await store.listToolCalls(runId);
    await store.close();
    return { file, marks: calls.map(({ request }) => (request as { readonly password: string }).password) };
  }

  it("is the same for equal values in every process with the store, and differs for other values", async () => {
    const first = await marks(["one-1", "two-22", "one-1"]);
    expect(first.marks[0]).toMatch(NAMED);
    expect([first.marks[1] === first.marks[0], first.marks[2] === first.marks[0]]).toEqual([false, true]);
    const later = await marks(["two-22"], policy, first.file);
    expect(later.marks[0]).toBe(first.marks[1]);
    const elsewhere = await marks(["two-22"]);
    expect(elsewhere.marks[0]).not.toBe(first.marks[1]);
  });

  it("is the same in all stores with the operator's key, and then needs no key file", async () => {
    const key = { ...policy, redactionKey: secret("a key of 16 or more characters") };
    const [one, other] = [await marks(["two-22"], key), await marks(["two-22"], key)];
    expect(one.marks).toEqual(other.marks);
    expect(existsSync(`${one.file}-key`)).toBe(false);
  });

  it("uses a key that only its owner can read and that is not in the database", async () => {
    const { file } = await marks(["one-1"]);
    const key = readFileSync(`${file}-key`, "utf8").trim();
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    if (process.platform !== "win32") expect(statSync(`${file}-key`).mode & 0o777).toBe(0o600);
    for (const bytes of [key, Buffer.from(key, "hex")])
      expect(readFileSync(file).includes(bytes)).toBe(false);
  });

  it("is not made with a damaged key: the run fails and names the file", async () => {
    const { file } = await marks(["one-1"]);
    writeFileSync(`${file}-key`, "half of a k");
    const error = await failureAs(StoreUnavailableError, marks(["one-1"], policy, file));
    expect(error.message).toMatch(/-key, is not what was written there: put it back/);
  });

  it("needs no key and no file if nothing is hidden", async () => {
    const file = databaseFile();
    const store = await fileStore(file);
    const { runner } = runnerOf(store, { echo: echo() }, [asking(["echo", { to: "ann" }])], { policy });
    await runner.run("Go", { runId: "r-1" });
    expect(existsSync(`${file}-key`)).toBe(false);
  });

  it.each([["short"], [7], [null]])("cannot use the key %j", async (redactionKey) => {
    const store = await memoryStore();
    const make = () =>
      new Runner(
        Step.run("code", () => null),
        { store, policy: { redactionKey } as never },
      );
    const error = await failureAs(ConfigurationError, (async () => make())());
    expect(error.message).toMatch(/^policy\.redactionKey is not a text of at least 16 characters/);
  });
});

describe("the approval of a call with hidden arguments", () => {
  it("shows where they are, why they are hidden, how long they are, and their digests", async () => {
    const store = await memoryStore();
    const known = { ...echo(true), secrets: [secret("k-123456-abcdef")] };
    const input = { password: "x".repeat(23), list: [{ to: "of k-123456-abcdef" }] };
    const { runner } = runnerOf(store, { echo: known }, [asking(["echo", input])], { policy });
    await runner.run("Go", { runId: "r-1" });
    const { subject } = await openWait(store);
    expect(subject.hidden).toEqual([
      expect.stringMatching(
        /^arguments\.password is hidden because policy\.secretKeys has its name: 23 characters, digest [0-9a-f]{12}\.$/,
      ),
      expect.stringMatching(
        /^arguments\.list\[0\]\.to is hidden because it contains a secret of the operator or of the run's code: digest [0-9a-f]{12}\.$/,
      ),
      expect.stringMatching(
        /^Hidden values are not stored, .+: if it is approved, the model is asked to make the call again/,
      ),
    ]);
  });

  it("stays valid if another key makes other digests, or an earlier version made none", async () => {
    const store = await memoryStore();
    const step = Step.run("code", (_input: Json, ctx) =>
      ctx.call(echo(true), { key: secret("k-123456-abcdef") }),
    );
    const keyed = (redactionKey: string) => new Runner(step, { store, policy: { redactionKey } });
    await keyed("the first key of this store").run("Go", { runId: "r-1" });
    await store.approve("r-1~1");
    const { status } = await keyed("another key of this store").resume("r-1");
    expect(status).toBe("succeeded");
  });
});

describe("policy.secrets", () => {
  it("are hidden in every text, from the first step on", async () => {
    const store = await memoryStore();
    const step = Step.run("code", () => Promise.reject(new Error("The key is K-123456-ABCDEF.")));
    const runner = new Runner(step, { store, policy: { secrets: [secret("k-123456-abcdef")] } });
    const error = await failureOf(runner.run("Go", { runId: "r-1" }));
    expect((error as Error).message).toMatch(/The key is \[secret:[0-9a-f]{12}\]\.$/);
  });

  it("are refused if they are no secret() values", async () => {
    const make = async () =>
      new Runner(
        Step.run("code", () => null),
        { policy: { secrets: ["plain"] as never } },
      );
    expect((await failureAs(ConfigurationError, make())).message).toMatch(/^policy\.secrets is not a list/);
  });
});

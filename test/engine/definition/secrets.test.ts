// Values under configured names, and values that code marks, reach the tool but neither the store, nor an event, nor
// an error.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { withoutDigests } from "../../../src/core/secret/secret-mark.ts";
import {
  ConfigurationError,
  type Json,
  NeedsHuman,
  NotApplied,
  PausedError,
  Runner,
  type RunnerOptions,
  Step,
  secret,
  type Tool,
  type ToolDefinition,
  tool,
} from "../../../src/index.ts";
import { asking, jumpingClock, runnerOf } from "../call/call-fixture.ts";
import { collect, failureAs, failureOf, must, scriptedAgent, toolResults } from "../run-fixture.ts";
import { leaksIn, OTHER_SECRET, SECRET, shown, storeToSearch } from "../secret-fixture.ts";

const policy = { secretKeys: ["api_key", "password"] };
/** A second secret of the tool's operator. */
const HOST = "hunter-2-hunter";
const ARGUMENTS = { apiKey: SECRET, to: "ann" };

type Input = { readonly apiKey: string; readonly to: string; readonly note?: string | undefined };
type Definition = Partial<ToolDefinition<Input, unknown, Input>>;

/** Stored values with bare marks; the digests are tested in secret-digest.test.ts. */
const bare = (value: unknown) => withoutDigests(value as Json);

/** A tool that takes a key, which is also one of its own secrets, and a record of its inputs. */
function loginTool(
  execute: ToolDefinition<Input, unknown>["execute"] = () => "welcome",
  more: Definition = {},
) {
  const given: Input[] = [];
  const login = tool<Input, unknown, Input>({
    name: "login",
    description: "Logs in.",
    inputSchema: z.object({ apiKey: z.string(), to: z.string(), note: z.string().optional() }),
    effect: "external",
    secrets: [secret(SECRET), secret(HOST)],
    ...more,
    execute: (input: Input, call) => {
      given.push(input);
      return execute(input, call);
    },
  });
  return { login, given };
}

/** Runs one call with a secret among its arguments, and searches everything that the run leaves behind. */
async function runAndSearch(login: Tool, options: RunnerOptions = {}, input: Json = ARGUMENTS) {
  const clock = jumpingClock();
  const { store, dump } = await storeToSearch();
  const { runner, prompts } = runnerOf(store, { login }, [asking(["login", input])], {
    clock,
    policy,
    ...options,
  });
  const events: unknown[] = [];
  let thrown: unknown = null;
  try {
    for await (const event of runner.stream("Go", { runId: "r-1" })) events.push(event);
  } catch (error) {
    thrown = error;
  }
  const found = { database: leaksIn(dump()), events: leaksIn(shown(events)), error: leaksIn(shown(thrown)) };
  expect(found).toEqual({ database: [], events: [], error: [] });
  expect(events.length).toBeGreaterThan(3);
  return { store, runner, events, thrown, seen: bare(toolResults(prompts[1])[0]), prompts, dump };
}

describe("a secret among a model's arguments", () => {
  it("reaches the tool, and is stored, emitted and shown to the model as [secret]", async () => {
    const { login, given } = loginTool();
    const { store, prompts, events } = await runAndSearch(login);
    expect(given).toEqual([ARGUMENTS]);
    expect(bare((await store.listToolCalls("r-1"))[0]?.request)).toEqual({ apiKey: "[secret]", to: "ann" });
    expect(bare(events)).toContainEqual(
      expect.objectContaining({ type: "tool.started", input: { apiKey: "[secret]", to: "ann" } }),
    );
    expect(leaksIn(JSON.stringify(prompts[1]))).toEqual([]);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("is hidden everywhere else too, in every encoding", async () => {
    const forms = [SECRET, encodeURIComponent(SECRET), Buffer.from(`ann:${SECRET}`).toString("base64")];
    const { login, given } = loginTool();
    const input = { ...ARGUMENTS, note: forms.join(" and ") };
    await runAndSearch(login, {}, input);
    expect(given).toEqual([input]);
  });

  it("is hidden in the error about invalid arguments", async () => {
    const { login, given } = loginTool(undefined, {
      inputSchema: z.object({
        apiKey: z.string().refine(() => false, { error: ({ input }) => `${String(input)} is no key` }),
        to: z.string(),
      }),
    });
    const { seen } = await runAndSearch(login);
    expect(given).toEqual([]);
    expect(seen).toMatchObject({ value: expect.stringContaining("is no key") });
  });

  it("is hidden in later texts of the model", async () => {
    const { login } = loginTool();
    const { store, dump } = await storeToSearch();
    const turns = [asking(["login", ARGUMENTS]), { text: `The key is ${SECRET}.`, toolCalls: [] }];
    const { runner } = runnerOf(store, { login }, turns, { policy });
    const events = await collect(runner.stream("Go", { runId: "r-1" }));
    expect(bare((await store.getRun("r-1"))?.output)).toBe("The key is [secret].");
    expect([leaksIn(dump()), leaksIn(shown(events))]).toEqual([[], []]);
  });
});

describe("a secret in the input of a run", () => {
  it("is refused, since the input is stored for resuming", async () => {
    const { store, dump } = await storeToSearch();
    const runner = new Runner(
      Step.run("code", () => null),
      { store, policy },
    );
    const error = await failureAs(ConfigurationError, runner.run({ user: { API_KEY: SECRET } }));
    expect(error.message).toMatch(/policy\.secretKeys/);
    expect([leaksIn(dump()), leaksIn(shown(error))]).toEqual([[], []]);
    expect(await store.listRuns()).toEqual([]);
  });
});

describe("a secret in the result of a tool", () => {
  it.each<[string, unknown]>([
    ["under its name", { apiKey: OTHER_SECRET, n: 1 }],
    ["deep inside", [{ users: [{ Password: OTHER_SECRET }] }]],
    ["in a text", `Welcome ${SECRET}`],
    ["in a text that is JSON", JSON.stringify({ api_key: OTHER_SECRET })],
    ["in an address", `https://example.org/?api-key=${encodeURIComponent(OTHER_SECRET)}&q=1`],
    ["in a large result", { apiKey: OTHER_SECRET, text: `${"x".repeat(30_000)}${SECRET}` }],
    ["as a name", { [SECRET]: true }],
  ])("(%s) is hidden in the receipt", async (_name, result) => {
    const { login } = loginTool(() => result);
    const { seen } = await runAndSearch(login);
    expect(JSON.stringify(seen)).toContain("[secret]");
  });

  it("is hidden in an error, in every attempt, and in their events", async () => {
    const { login, given } = loginTool(({ apiKey }) => {
      throw new NotApplied(`The key ${apiKey} is busy.`);
    });
    const { store, seen } = await runAndSearch(login);
    expect(given).toHaveLength(3);
    expect(seen).toEqual({ type: "error-text", value: "The key [secret] is busy." });
    expect(bare(await store.listToolCallAttempts("r-1"))).toMatchObject([
      { errorDetail: "The key [secret] is busy." },
      { errorDetail: "The key [secret] is busy." },
    ]);
  });

  it("is hidden in a thrown value that is no proper error", async () => {
    const { login } = loginTool(({ apiKey }) => {
      throw Object.assign(new Error(), { message: { apiKey } });
    });
    const { seen } = await runAndSearch(login);
    expect(seen).toEqual({ type: "error-text", value: '{"apiKey":"[secret]"}' });
  });

  it("is hidden in a result that does not fit its schema", async () => {
    const outputSchema = z
      .string()
      .refine(() => false, { error: ({ input }) => `${String(input)} is too long` });
    const { login } = loginTool(({ apiKey }) => apiKey, { outputSchema });
    const { seen } = await runAndSearch(login);
    expect(seen).toMatchObject({ value: expect.stringContaining("[secret] is too long") });
  });

  it("is hidden in the correlation id", async () => {
    const { login } = loginTool(({ apiKey }, call) => call.correlate(`${apiKey}/17`));
    const { store } = await runAndSearch(login);
    expect(bare((await store.listToolCalls("r-1"))[0]?.receipt?.correlationId)).toBe("[secret]/17");
  });

  it("is hidden in the result or the error of a look-up", async () => {
    const reset = () => must<string>(null);
    const found = { status: "done", result: { apiKey: OTHER_SECRET, echo: SECRET } } as const;
    await runAndSearch(loginTool(reset, { recovery: "reconcile", reconcile: () => found }).login);
    const failing = ({ apiKey }: Input) => Promise.reject(new Error(`No mail of ${apiKey}.`));
    const { store } = await runAndSearch(
      loginTool(reset, { recovery: "reconcile", reconcile: failing }).login,
    );
    expect(bare((await store.listWaits("r-1"))[0]?.subject.problem)).toBe("No mail of [secret].");
  });

  it("is hidden in the reason for a refused connection", async () => {
    const throwing = ({ apiKey }: Input) => {
      throw new Error(`No address for ${apiKey}.`);
    };
    const { seen } = await runAndSearch(loginTool(undefined, { urls: throwing }).login);
    expect(seen).toMatchObject({ value: expect.stringContaining("No address for [secret].") });
    const host = ({ note }: Input) => [`http://${note}.internal/`];
    const input = { apiKey: SECRET, to: "ann", note: HOST };
    const { dump } = await runAndSearch(loginTool(undefined, { urls: host }).login, {}, input);
    expect(dump()).not.toContain(HOST);
  });
});

describe("a secret in a question to a person", () => {
  it("is hidden in the arguments", async () => {
    const { store } = await runAndSearch(loginTool(undefined, { approval: true }).login);
    expect(bare(await store.listWaits("r-1"))).toMatchObject([
      { kind: "approval", subject: { arguments: { apiKey: "[secret]", to: "ann" } } },
    ]);
  });

  it("is hidden in the tool's message", async () => {
    const { login } = loginTool(({ apiKey }) => {
      throw new NeedsHuman(`expired ${apiKey}`, `Renew ${apiKey}, please.`);
    });
    const { store } = await runAndSearch(login);
    expect(bare(await store.listWaits("r-1"))).toMatchObject([
      { kind: "escalation", question: "Renew [secret], please.", subject: { code: "expired [secret]" } },
    ]);
  });
});

describe("a secret in an error that fails a run", () => {
  it("is hidden in the stored and in the thrown error, with all causes", async () => {
    const { login } = loginTool(({ apiKey }) => {
      throw new PausedError(`Wait for ${apiKey}.`, { key: apiKey }, { cause: new Error(`It is ${apiKey}.`) });
    });
    const { store, thrown } = await runAndSearch(login);
    expect(bare((thrown as Error).message)).toBe("Wait for [secret].");
    expect(bare((await store.getRun("r-1"))?.error?.message)).toBe("Wait for [secret].");
  });

  it("is hidden in a provider's error and its event", async () => {
    const { login } = loginTool();
    const { store, dump } = await storeToSearch();
    const { agent } = scriptedAgent(
      ({ turn }) => {
        if (turn === 1) return asking(["login", ARGUMENTS]);
        throw new Error(`We do not like ${SECRET}.`);
      },
      { tools: { login } },
    );
    const events: unknown[] = [];
    const runner = new Runner(agent, { store, policy, clock: jumpingClock() });
    const error = await failureOf(
      (async () => {
        for await (const event of runner.stream("Go", { runId: "r-1" })) events.push(event);
      })(),
    );
    expect(bare(events)).toContainEqual(
      expect.objectContaining({ type: "model.failed", message: expect.stringContaining("like [secret]") }),
    );
    expect([leaksIn(dump()), leaksIn(shown(events)), leaksIn(shown(error))]).toEqual([[], [], []]);
  });

  it("is hidden in an error that code throws", async () => {
    const { login, given } = loginTool();
    const { store, dump } = await storeToSearch();
    const step = Step.run("code", async (_input: Json, ctx) => {
      await ctx.call(login, { apiKey: secret(SECRET), to: "ann" });
      throw new Error(`Nothing resulted from ${SECRET}.`);
    });
    const error = await failureOf(new Runner(step, { store }).run("Go", { runId: "r-1" }));
    expect(given).toEqual([ARGUMENTS]);
    expect([leaksIn(dump()), leaksIn(shown(error))]).toEqual([[], []]);
    expect(bare((error as Error).message)).toBe("Step code failed: Nothing resulted from [secret].");
  });
});

describe("secret() in a code step's call", () => {
  it("reaches the tool at any depth, and is stored nowhere", async () => {
    const { store, dump } = await storeToSearch();
    const given: unknown[] = [];
    const send = tool({
      name: "send",
      description: "Sends.",
      inputSchema: z.object({ headers: z.array(z.object({ value: z.string() })) }),
      execute: (input) => {
        given.push(input);
        return { echo: input };
      },
    });
    const step = Step.run("code", (_input: Json, ctx) =>
      ctx.call(send, { headers: [{ value: secret(SECRET) }, { value: "plain" }] }),
    );
    const events = await collect(new Runner(step, { store }).stream("Go", { runId: "r-1" }));
    expect(given).toEqual([{ headers: [{ value: SECRET }, { value: "plain" }] }]);
    expect([leaksIn(dump()), leaksIn(shown(events))]).toEqual([[], []]);
    // The code gets the same value as after a restart.
    const echo = { headers: [{ value: "[secret]" }, { value: "plain" }] };
    expect(bare((await store.getRun("r-1"))?.output)).toEqual({ echo });
  });

  it("is hidden in the error that the code gets for a failed call", async () => {
    const { store, dump } = await storeToSearch();
    const errors: string[] = [];
    const { login } = loginTool(({ apiKey }) => {
      throw new Error(`Bad key ${apiKey}`);
    });
    const step = Step.run("code", async (_input: Json, ctx) => {
      errors.push(String(await failureOf(ctx.call(login, { apiKey: secret(SECRET), to: "ann" }))));
      return errors[0] ?? null;
    });
    await new Runner(step, { store }).run("Go", { runId: "r-1" });
    expect(bare(errors)).toEqual(["ToolFailedError: Tool login failed: Bad key [secret]"]);
    expect(leaksIn(dump())).toEqual([]);
  });
});

// A run that failed because its model was not called, or rejected the request, continues when it is run again.

import { createOpenAI } from "@ai-sdk/openai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  agent,
  ConfigurationError,
  ModelCallError,
  Pipeline,
  ResumeError,
  RunBusyError,
  Runner,
  type RunnerOptions,
  Step,
  StepFailedError,
  type Store,
} from "../../../src/index.ts";
import { answer, FakeOpenAiServer, refusal } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { collect, databaseFile, failureAs, fileStore, memoryStore, noteTool } from "../run-fixture.ts";

const NAMED = { runId: "r-1" };
const NOTE = { toolCalls: [{ id: "c-1", name: "note", arguments: { text: "one" } }] };

let server: FakeOpenAiServer;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
});

/** The README's program: a new runner each time, and the key of the provider in the environment. */
function program(store: Store, model = "gpt-5", options: RunnerOptions = {}) {
  const { note, done } = noteTool();
  const clerk = agent({
    name: "clerk",
    instructions: "You work.",
    model: createOpenAI({ baseURL: server.baseUrl }).chat(model),
    tools: { note },
  });
  return { runner: new Runner(clerk, { store, ...options }), done };
}

const attemptsOf = async (store: Store) =>
  (await store.listAttempts("r-1")).map(({ endStatus, reason }) => [endStatus, reason]);

describe("a run without an API key", () => {
  it("continues when it is run again with one, and only the request that was sent is charged", async () => {
    const store = await memoryStore();
    vi.stubEnv("OPENAI_API_KEY", undefined);
    const missing = await failureAs(ModelCallError, program(store).runner.run("Go", NAMED));
    expect([missing.details.kind, missing.runId, server.requests.length]).toEqual(["not_sent", "r-1", 0]);
    const stillMissing = await failureAs(ModelCallError, program(store).runner.run("Go", NAMED));
    expect(stillMissing.message).toBe(missing.message);

    vi.stubEnv("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    server.next(
      answer({ text: "Hello", usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }),
    );
    const result = await program(store).runner.run("Go", NAMED);

    expect(result).toMatchObject({ status: "succeeded", output: "Hello", resumed: true });
    expect(result.usage.charged.tokens).toBe(15);
    expect(server.requests).toHaveLength(1);
    expect(await attemptsOf(store)).toEqual([
      ["failed", null],
      ["failed", "failed: model_call"],
      ["succeeded", "failed: model_call"],
    ]);
  });

  it("that is named by a key, or streamed, continues as well", async () => {
    const store = await memoryStore();
    vi.stubEnv("OPENAI_API_KEY", undefined);
    await failureAs(ModelCallError, program(store).runner.run("Go", { key: "order 7" }));
    vi.stubEnv("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    server.next(answer("Hello"));
    const events = await collect(program(store).runner.stream("Go", { key: "order 7" }));
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["run.started", "run.finished"]));
    expect(await store.listRuns()).toHaveLength(1);
  });
});

describe("a run whose request was rejected", () => {
  beforeEach(() => vi.stubEnv("OPENAI_API_KEY", "sk-test-0123456789abcdef"));

  it("continues after its last call, which is not made again", async () => {
    const store = await memoryStore();
    server.next(answer(NOTE), refusal(401, "The key was revoked."), answer("Noted."));
    const { runner, done } = program(store);
    const error = await failureAs(ModelCallError, runner.run("Go", NAMED));
    expect(error.message).toContain("Check the API key and its permissions, then resume.");

    expect((await runner.run("Go", NAMED)).output).toBe("Noted.");
    expect([done, server.requests.length]).toEqual([["one"], 3]);
  });

  it("continues with another model only if the change is accepted", async () => {
    const store = await memoryStore();
    server.next(refusal(404, "No such model."), answer("Hello"));
    await failureAs(ModelCallError, program(store, "gpt-55").runner.run("Go", NAMED));
    const { runner } = program(store);
    await failureAs(ResumeError, runner.run("Go", NAMED));
    expect(server.requests).toHaveLength(1);
    const acceptDivergence = "The model id was misspelt.";
    expect((await runner.resume("r-1", { acceptDivergence })).output).toBe("Hello");
  });

  it("is continued by one of two processes that run it at the same time", async () => {
    const file = databaseFile();
    const [one, two] = [await fileStore(file), await fileStore(file)];
    server.next(refusal(401, "Wrong key."), answer("Hello", 300), answer("Hello"));
    await failureAs(ModelCallError, program(one).runner.run("Go", NAMED));
    const both = [one, two].map((store) => program(store).runner.run("Go", NAMED));
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [lost] = outcomes.filter((each) => each.status === "rejected");
    expect([lost?.reason instanceof RunBusyError, lost?.reason.runId]).toEqual([true, "r-1"]);
    expect((await program(two).runner.run("Go", { ...NAMED, wait: true })).output).toBe("Hello");
    expect(server.requests).toHaveLength(2);
  });

  it("is not continued by a process that waited for it if it then failed in another way", async () => {
    const file = databaseFile();
    const [one, two] = [await fileStore(file), await fileStore(file)];
    server.next(refusal(401, "Wrong key."), refusal(500, "Broken."));
    await failureAs(ModelCallError, program(one).runner.run("Go", NAMED));
    const first = program(one, "gpt-5", { maxModelAttempts: 1 }).runner;
    const failing = failureAs(ModelCallError, first.run("Go", NAMED));
    await server.received(2);
    const waited = failureAs(ModelCallError, program(two).runner.run("Go", { ...NAMED, wait: true }));
    expect((await failing).details.status).toBe(500);
    expect((await waited).message).toMatch(/^Run r-1 failed earlier .*\(500\)/);
    expect(server.requests).toHaveLength(2);
  });
});

describe("a run whose provider was unavailable for longer than maxOutageMs", () => {
  it("continues when it is run again, and nothing was charged for the refusals", async () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    const store = await memoryStore();
    server.next(refusal(503, "Down."), refusal(429, "Later."), answer("Hello"));
    const once = { maxOutageMs: 0 };
    const [first, second] = [
      await failureAs(ModelCallError, program(store, "gpt-5", once).runner.run("Go", NAMED)),
      await failureAs(ModelCallError, program(store, "gpt-5", once).runner.run("Go", NAMED)),
    ];
    expect([first.details.status, second.details.status]).toEqual([503, 429]);
    expect((await store.readUsage("r-1")).charged.tokens).toBe(0);
    expect((await program(store, "gpt-5", once).runner.run("Go", NAMED)).output).toBe("Hello");
  });
});

describe("a run whose code ran another run that was refused", () => {
  beforeEach(() => vi.stubEnv("OPENAI_API_KEY", undefined));

  it("is not continued: its code would do again what it did outside of ctx.call", async () => {
    const store = await memoryStore();
    let billed = 0;
    const bill = Step.run("bill", async () => {
      billed += 1;
      return (await program(store).runner.run("Summarise", { runId: "inner" })).output;
    });
    const runner = new Runner(bill, { store });
    const first = await failureAs(ModelCallError, runner.run("Go", NAMED));
    const again = await failureAs(ModelCallError, runner.run("Go", NAMED));
    expect([first.details.kind, again.details.kind, billed]).toEqual(["not_sent", "not_sent", 1]);
    expect(again.message).toMatch(/^Run r-1 failed earlier/);
  });

  it("is not continued either if an agent before that code was refused, and then answered", async () => {
    const store = await memoryStore();
    let checked = 0;
    const clerk = agent({
      name: "clerk",
      instructions: "You work.",
      model: createOpenAI({ baseURL: server.baseUrl, apiKey: "sk-test-0123456789abcdef" }).chat("gpt-5"),
    });
    const until = async () => {
      checked += 1;
      await program(store).runner.run("Check", { runId: "inner" });
      return true;
    };
    const loop = Step.loop("polish", Step.granular("draft", clerk), { until, maxIterations: 2 });
    const runner = new Runner(Pipeline.of("all", loop), { store });
    server.next(refusal(401, "Wrong key."), answer("Hello"));
    await failureAs(ModelCallError, runner.run("Go", NAMED));
    await failureAs(ModelCallError, runner.run("Go", NAMED));
    expect((await failureAs(ModelCallError, runner.run("Go", NAMED))).message).toMatch(/failed earlier/);
    expect([checked, server.requests.length]).toEqual([1, 2]);
  });
});

describe("an error about a run that exists", () => {
  it("of a run that failed otherwise keeps its class, and says how to continue it", async () => {
    const store = await memoryStore();
    let entered = 0;
    const step = Step.run("broken", () => {
      entered += 1;
      throw new Error("The shelf is empty.");
    });
    const runner = new Runner(step, { store });
    const first = await failureAs(StepFailedError, runner.run("Go", NAMED));
    const again = await failureAs(StepFailedError, runner.run("Go", NAMED));
    expect(again.message).toMatch(
      /^Run r-1 failed earlier \(.* UTC\), and was not continued: .*The shelf is empty\..* Continue it with runner\.resume\("r-1"\)\.$/,
    );
    expect([again.details, again.stack?.includes("failed earlier")]).toEqual([first.details, true]);
    expect(entered).toBe(1);
  });

  it("has its run id, whatever refused the call", async () => {
    const store = await memoryStore();
    const echo = Step.run("echo", (input: string) => input);
    const runner = new Runner(echo, { store });
    await runner.run("Go", NAMED);
    const other = new Runner(
      Step.run("other", (input: string) => input),
      { store },
    );
    const spec = { objective: "Another one." };
    const errors = [
      await failureAs(ResumeError, runner.run("Stop", NAMED)),
      await failureAs(ConfigurationError, other.run("Go", NAMED)),
      await failureAs(ConfigurationError, runner.run("Go", { ...NAMED, spec })),
      await failureAs(ConfigurationError, other.resume("r-1")),
      await failureAs(ConfigurationError, other.forecast("r-1")),
      await failureAs(ConfigurationError, other.fork("r-1", { atTurn: 1 })),
    ];
    expect(errors.map(({ runId }) => runId)).toEqual(errors.map(() => "r-1"));
  });
});

// The charge for each outcome of a model call, with the real provider against a server that misbehaves.

import { LoadAPIKeyError } from "ai";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  agent,
  ConfigurationError,
  ModelCallError,
  type RunEvent,
  Runner,
  type RunnerOptions,
  type Store,
} from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import {
  answer,
  type Behaviour,
  cutBody,
  cutBodyOfUnknownLength,
  FakeOpenAiServer,
  hang,
  refusal,
  reset,
} from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { jumpingClock } from "../call/call-fixture.ts";
import { failureAs, memoryStore, must, sleeplessClock } from "../run-fixture.ts";

const NOTHING = { tokens: 0, microDollars: 0 };
const MAX_OUTPUT = 300;

let server: FakeOpenAiServer;
let store: Store;

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
  store = await memoryStore();
});

afterEach(() => server.close());

function runnerOf(options: RunnerOptions = {}, baseUrl = server.baseUrl) {
  const worker = agent({
    name: "worker",
    instructions: "You work.",
    model: openAiModel(baseUrl),
    settings: { maxOutputTokens: MAX_OUTPUT },
  });
  return new Runner(worker, { store, clock: sleeplessClock(), random: () => 0, ...options });
}

/** Each attempt at the model: the basis of its charge, and how much of its reservation was charged. */
async function attempts(runId = "r-1") {
  return (await store.listModelCalls(runId)).map(({ attempt, charge, reserved }) => {
    expect(reserved.tokens).toBeGreaterThan(MAX_OUTPUT);
    const whole = charge?.amount.tokens === reserved.tokens;
    return [attempt, charge?.basis, whole ? "all of it" : charge?.amount.tokens];
  });
}

/** The total charge of the run. Nothing may be left reserved once it has ended. */
async function charged(runId = "r-1"): Promise<number> {
  const run = must(await store.getRun(runId));
  expect(run.status).not.toBe("running");
  expect(run.reserved).toEqual(NOTHING);
  return run.charged.tokens;
}

async function reservation(): Promise<number> {
  return must((await store.listModelCalls("r-1"))[0]).reserved.tokens;
}

describe("a provider that answers", () => {
  it("is charged by its own figures, and the rest of the reservation is released", async () => {
    const usage = {
      prompt_tokens: 20,
      completion_tokens: 9,
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    server.next(answer({ text: "Hello", usage }));

    const result = await runnerOf().run("Go", { runId: "r-1" });

    expect(await attempts()).toEqual([[1, "provider", 29]]);
    expect(await charged()).toBe(29);
    expect(result.usage).toEqual({
      inputTokens: 20,
      outputTokens: 9,
      cachedInputTokens: 8,
      reasoningTokens: 4,
      charged: { tokens: 29, microDollars: 0 },
      modelCalls: 1,
      baseline: { charged: { tokens: 0, microDollars: 0 }, modelCalls: 0 },
    });
    expect(server.requests[0]?.body.max_tokens).toBe(MAX_OUTPUT);
  });

  it("with an empty answer is charged by its figures, each time", async () => {
    const usage = { prompt_tokens: 20, completion_tokens: 300 };
    server.next(answer({ text: "", usage }), answer({ text: "Hello", usage }));

    await runnerOf().run("Go", { runId: "r-1" });

    expect(await attempts()).toEqual([
      [1, "provider", 320],
      [2, "provider", 320],
    ]);
    expect(await charged()).toBe(640);
  });

  it("without figures is charged with the whole reservation, which is emitted", async () => {
    server.next(answer({ text: "Hello", usage: null }));
    const events: RunEvent[] = [];

    for await (const event of runnerOf().stream("Go", { runId: "r-1" })) events.push(event);

    expect(await attempts()).toEqual([[1, "baseline", "all of it"]]);
    expect(await charged()).toBe(await reservation());
    expect(events.map((event) => event.type)).toContain("usage.baseline");
  });

  it("emits the reservation and the charge", async () => {
    server.next(answer("Hello"));
    const events: RunEvent[] = [];

    for await (const event of runnerOf().stream("Go", { runId: "r-1" })) events.push(event);

    expect(events.find((event) => event.type === "usage.settled")).toMatchObject({
      step: "worker",
      turn: 1,
      attempt: 1,
      basis: "provider",
      reserved: { tokens: await reservation() },
      charged: { tokens: 18 },
    });
  });
});

describe("a provider that refuses", () => {
  it("with 400 is not charged and not asked again", async () => {
    server.next(refusal(400, "no such setting"), answer("not requested"));

    const error = await failureAs(ModelCallError, runnerOf().run("Go", { runId: "r-1" }));

    expect(error.details).toMatchObject({ kind: "rejected", status: 400 });
    expect(await attempts()).toEqual([[1, "none", 0]]);
    expect(await charged()).toBe(0);
    expect(server.requests).toHaveLength(1);
    expect((await store.readUsage("r-1")).modelCalls).toBe(0);
  });

  it("with 429 is not charged, and is asked again after the requested pause", async () => {
    server.next(refusal(429, "slow down", { "retry-after": "7" }), answer("Hello"));
    const clock = sleeplessClock();

    const result = await runnerOf({ clock }).run("Go", { runId: "r-1" });

    expect(result.output).toBe("Hello");
    expect(clock.slept).toEqual([7_000]);
    expect(await attempts()).toEqual([
      [1, "none", 0],
      [2, "provider", 18],
    ]);
    expect(await charged()).toBe(18);
  });

  it("with 429 is not asked again before the pause has ended", async () => {
    server.next(refusal(429, "slow down", { "retry-after": "7" }), answer("Hello"));
    const clock = fakeClock();
    const asleep = Promise.withResolvers<void>();
    const sleep = (ms: number, signal?: AbortSignal) => {
      asleep.resolve();
      return clock.sleep(ms, signal);
    };

    const run = runnerOf({ clock: { ...clock, sleep } }).run("Go", { runId: "r-1" });
    await asleep.promise;
    await clock.advance(6_999);
    expect(server.requests).toHaveLength(1);
    await clock.advance(1);

    expect((await run).output).toBe("Hello");
    expect(server.requests).toHaveLength(2);
  });

  it("with 500 is charged with the whole reservation, and the next attempt has its own", async () => {
    server.next(refusal(500, "oops"), answer("Hello"));
    const clock = sleeplessClock();

    await runnerOf({ clock, random: () => 0.5 }).run("Go", { runId: "r-1" });

    expect(await attempts()).toEqual([
      [1, "baseline", "all of it"],
      [2, "provider", 18],
    ]);
    expect(await charged()).toBe((await reservation()) + 18);
    expect(clock.slept).toEqual([375]); // half of 500 ms, and half of the other half
    const { tokens } = must((await store.listModelCalls("r-1"))[0]).reserved;
    expect(await store.readUsage("r-1")).toMatchObject({
      inputTokens: 11,
      outputTokens: 7,
      modelCalls: 2,
      baseline: { charged: { tokens }, modelCalls: 1 },
    });
  });
});

describe("a provider that does not answer", () => {
  it.each<[string, Behaviour]>([
    ["a reset", reset],
    ["a truncated body", cutBody],
    ["a body that is truncated unnoticed", cutBodyOfUnknownLength],
  ])("%s is charged with the whole reservation, and retried", async (_name, behaviour) => {
    server.next(behaviour, answer("Hello"));

    expect((await runnerOf().run("Go", { runId: "r-1" })).output).toBe("Hello");

    expect(await attempts()).toEqual([
      [1, "baseline", "all of it"],
      [2, "provider", 18],
    ]);
    expect(await charged()).toBe((await reservation()) + 18);
  });

  it("because it hangs is charged with the whole reservation, and not retried automatically", async () => {
    server.next(hang, answer("Hello"));
    const clock = fakeClock();
    const runner = runnerOf({ clock, modelTimeoutMs: 5_000 });

    const failed = failureAs(ModelCallError, runner.run("Go", { runId: "r-1" }));
    await server.received(1);
    await clock.advance(5_000);

    expect((await failed).details).toMatchObject({ kind: "timeout", retryable: false });
    expect(await attempts()).toEqual([[1, "baseline", "all of it"]]);
    // A resume asks again, and the first charge stays.
    expect((await runnerOf().resume("r-1")).output).toBe("Hello");
    expect(await attempts()).toEqual([
      [1, "baseline", "all of it"],
      [2, "provider", 18],
    ]);
    expect(await charged()).toBe((await reservation()) + 18);
  });

  it("before it is cancelled is charged with the whole reservation", async () => {
    server.next(hang);
    const cancel = new AbortController();
    const run = runnerOf().run("Go", { runId: "r-1", signal: cancel.signal });
    await server.received(1);
    cancel.abort();

    expect((await run).status).toBe("cancelled");
    expect(await attempts()).toEqual([[1, "baseline", "all of it"]]);
    expect(await charged()).toBe(await reservation());
  });
});

describe("a provider that is never reached", () => {
  it("because it is down is not charged, however often it is tried", async () => {
    const gone = await FakeOpenAiServer.start();
    await gone.close();
    const clock = jumpingClock();

    const error = await failureAs(
      ModelCallError,
      runnerOf({ clock, random: () => 1, maxOutageMs: 3_000 }, gone.baseUrl).run("Go", { runId: "r-1" }),
    );

    expect(error.details).toMatchObject({ kind: "not_sent", retryable: true });
    expect(await attempts()).toEqual([
      [1, "none", 0],
      [2, "none", 0],
      [3, "none", 0],
      [4, "none", 0],
    ]);
    // The last request comes at the limit.
    expect(clock.slept).toEqual([500, 1_000, 1_500]);
    expect(await charged()).toBe(0);
  });

  it("for lack of a key is not charged, and not asked again", async () => {
    const keyless = () => {
      throw new LoadAPIKeyError({ message: "The FAKE_API_KEY variable is missing." });
    };
    const worker = agent({ name: "worker", model: openAiModel(server.baseUrl, keyless as typeof fetch) });

    const error = await failureAs(ModelCallError, new Runner(worker, { store }).run("Go", { runId: "r-1" }));

    expect(error.details.kind).toBe("not_sent");
    expect(error.message).toContain("FAKE_API_KEY");
    expect((await store.listModelCalls("r-1")).map(({ charge }) => charge?.basis)).toEqual(["none"]);
    expect(await charged()).toBe(0);
    expect(server.requests).toHaveLength(0);
  });

  it("for lack of a package is not charged, and the error names the remedy", async () => {
    const model = {
      provider: "x",
      modelId: "y",
      respond: () => Promise.reject(new ConfigurationError("It needs a package: install it.")),
    };
    const worker = agent({ name: "worker", model, settings: { maxOutputTokens: MAX_OUTPUT } });
    const run = new Runner(worker, { store }).run("Go", { runId: "r-1" });
    const error = await failureAs(ModelCallError, run);
    expect(error.message).toBe("It needs a package: install it.");
    expect(error.details.kind).toBe("not_sent");
    expect(await attempts()).toEqual([[1, "none", 0]]);
    expect(await charged()).toBe(0);
  });

  it("because the run was cancelled before is not charged", async () => {
    const result = await runnerOf().run("Go", { runId: "r-1", signal: AbortSignal.abort() });

    expect(result.status).toBe("cancelled");
    expect(await charged()).toBe(0);
    expect(server.requests).toHaveLength(0);
  });
});

describe("retries", () => {
  it("end after the allowed number of attempts, each charged", async () => {
    server.next(...Array.from({ length: 9 }, () => refusal(502, "oops")));

    const error = await failureAs(
      ModelCallError,
      runnerOf({ maxModelAttempts: 4 }).run("Go", { runId: "r-1" }),
    );

    expect(error.details.status).toBe(502);
    expect(server.requests).toHaveLength(4);
    expect(await attempts()).toEqual([1, 2, 3, 4].map((attempt) => [attempt, "baseline", "all of it"]));
    expect(await charged()).toBe(4 * (await reservation()));
  });

  it("are emitted with the error and the pause", async () => {
    server.next(refusal(500, "busy"), refusal(500, "busy"), refusal(500, "busy"));
    const events: RunEvent[] = [];
    const runner = runnerOf({ maxModelAttempts: 2, random: () => 1 });

    await failureAs(
      ModelCallError,
      (async () => {
        for await (const event of runner.stream("Go", { runId: "r-1" })) events.push(event);
      })(),
    );

    expect(events.filter((event) => event.type === "model.failed")).toMatchObject([
      { attempt: 1, retryInMs: 500, message: expect.stringContaining("busy") },
      { attempt: 2, retryInMs: null },
    ]);
  });

  it("stop if the budget does not cover another attempt, and nothing more is sent", async () => {
    server.next(refusal(500, "oops"), answer("not requested"));
    const run = runnerOf().run("Go", { runId: "r-1", budget: { tokens: 500 } });

    await expect(run).rejects.toMatchObject({ code: "quota_exceeded" });
    expect(server.requests).toHaveLength(1);
    expect(await attempts()).toEqual([[1, "baseline", "all of it"]]);
    expect(await charged()).toBe(await reservation());
  });
});

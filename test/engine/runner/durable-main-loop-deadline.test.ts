// A worker is bounded only by its deadline. Until then it retries transient failures, from its last milestone.

import { describe, expect, it } from "vitest";
import {
  type AssistantPart,
  agent,
  ConfigurationError,
  Deadline,
  DeadlineExceededError,
  DurableMainLoop,
  ModelCallError,
  type ModelPort,
  PausedError,
  Step,
} from "../../../src/index.ts";
import { crashAt, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { failureAs, must } from "../run-fixture.ts";
import { loudly, said, sayTool, words } from "../session-fixture.ts";
import { BOTH_STORES, saidIn, speaker, speakingLoop, TO_SAY } from "./main-loop-fixture.ts";

const HOUR = 3_600_000;

/** A model that says the next word, or ends with null; `asked` has the number of messages of each request. */
function wordModel(next: (messages: number) => string | null) {
  const asked: number[] = [];
  const model: ModelPort = {
    provider: "own",
    modelId: "own",
    respond: async ({ messages }) => {
      asked.push(messages.length);
      const word = next(messages.length);
      const content: AssistantPart[] =
        word === null
          ? [{ type: "text", text: "End." }]
          : [{ type: "tool-call", toolCallId: `c-${word}`, toolName: "say", input: { word } }];
      return { content, finishReason: "stop", usage: null, invalidCalls: {}, responseId: null };
    },
  };
  return { model, asked };
}

describe.each(BOTH_STORES)("with its checkpoints %s, a worker with a deadline", (_, keeper) => {
  async function timed(execute?: Parameters<typeof sayTool>[1]) {
    const clock = jumpingClock();
    const store = await timedStore(clock);
    const open = keeper(store);
    const all = sayTool({}, execute);
    const make = (more: Parameters<typeof speakingLoop>[3] = {}) =>
      speakingLoop(store, open(), all.say, { clock, leaseMs: 100 * HOUR, ...more });
    return { clock, store, open, ...all, make };
  }

  /** Fails `times` times once this many words were said. */
  const failing = (at: number, times: number, error: () => Error) => {
    let failed = 0;
    return (all: readonly string[]) => {
      if (all.length === at && failed++ < times) throw error();
    };
  };
  const down = () => new Error("The provider is down.");

  it("retries a transient failure on its own, as often as needed", async () => {
    const { clock, store, spoken, make } = await timed();
    const { loop, prompts } = make({ before: failing(2, 3, down) });
    const result = await loop.execute("Go", { deadline: Deadline.in(HOUR, clock) });
    expect([result.status, spoken, clock.slept]).toEqual(["succeeded", [...TO_SAY], [250, 500, 1_000]]);
    expect(prompts.map((prompt) => saidIn(prompt).length)).toEqual([0, 1, 2, 2, 2, 2, 3]);
    const attempts = (await store.listAttempts(result.runId)).slice(1);
    expect(attempts.map(({ resumedFrom }) => resumedFrom)).toEqual(["turn", "turn", "turn"]);
  });

  it.each([
    ["by turn if the provider is down, since its history is valid", "server_error", null, "turn", 5],
    ["from its milestone if the provider rejected the request", "rejected", null, "milestone", 1],
    ["from its milestone if its history is too long", "rejected", 413, "milestone", 1],
    ["from its milestone if its history is not valid", "rejected", 400, "milestone", 1],
  ] as const)("resumes %s", async (__, kind, status, from, seen) => {
    const { clock, store, open, say, spoken } = await timed();
    const { model, asked } = wordModel(() => {
      const details = { kind, status, retryAfterMs: null, retryable: false } as const;
      if (asked.length === 3) throw new ModelCallError("No.", details);
      return ["one!", "two"][asked.length - 1] ?? null;
    });
    const loop = new DurableMainLoop(agent({ name: "worker", model, tools: { say } }), {
      store,
      checkpoints: open(),
      clock,
      leaseMs: 100 * HOUR,
      slices: [words],
      checkpointTrigger: loudly,
    });
    const result = await loop.execute("Go", { deadline: Deadline.in(HOUR, clock) });
    expect([result.status, spoken, asked]).toEqual(["succeeded", ["one!", "two"], [1, 3, 5, seen]]);
    expect((await store.listAttempts(result.runId)).map(({ resumedFrom }) => resumedFrom)).toEqual([
      null,
      from,
    ]);
  });

  it.each([
    ["wrong", { kind: "rejected", status: 401 }],
    ["without permission", { kind: "rejected", status: 403 }],
    ["for another model", { kind: "rejected", status: 404 }],
    ["without quota", { kind: "rejected", status: 429 }],
    ["without credit, reported as 400", { kind: "rejected", status: 400, account: true }],
    ["missing", { kind: "not_sent", status: null }],
  ] as const)(
    "whose key is %s fails at once, and resumes its turn when it is started again",
    async (__, why) => {
      const { clock, store, spoken, open, say } = await timed();
      let isBroken = true;
      const { model, asked } = wordModel((messages) => {
        if (messages === 5 && isBroken)
          throw new ModelCallError("No.", { ...why, retryAfterMs: null, retryable: false });
        return { 1: "one!", 3: "two" }[messages] ?? null;
      });
      const worker = agent({ name: "worker", model, tools: { say } });
      const start = () =>
        new DurableMainLoop(worker, {
          store,
          checkpoints: open(),
          clock,
          leaseMs: 100 * HOUR,
          slices: [words],
          checkpointTrigger: loudly,
        }).execute("Go", { deadline: Deadline.in(HOUR, clock) });
      await failureAs(ModelCallError, start());
      expect([asked, clock.slept]).toEqual([[1, 3, 5], []]);
      isBroken = false;
      const { runId, status } = await start();
      expect([status, spoken, asked]).toEqual(["succeeded", ["one!", "two"], [1, 3, 5, 5]]);
      expect(await store.listLineages(runId)).toEqual([]);
    },
  );

  it("returns to a milestone once if its history is rejected there again", async () => {
    const { clock, store, open, say } = await timed();
    const { model, asked } = wordModel((messages) => {
      const details = { kind: "rejected", status: 413, retryAfterMs: null, retryable: false } as const;
      if (messages > 6) throw new ModelCallError("Too long.", details);
      return asked.length === 1 ? "one!" : `more ${asked.length}`;
    });
    const worker = agent({ name: "worker", model, tools: { say } });
    const loop = new DurableMainLoop(worker, {
      store,
      checkpoints: open(),
      clock,
      leaseMs: 100 * HOUR,
      slices: [words],
      checkpointTrigger: loudly,
    });
    await failureAs(ModelCallError, loop.execute("Go", { deadline: Deadline.in(HOUR, clock) }));
    expect([asked, clock.slept.length]).toEqual([[1, 3, 5, 7, 1, 3, 5, 7], 1]);
  });

  it("retries if its code fails", async () => {
    const { clock, spoken, make } = await timed();
    const { loop } = make({ probe: crashAt("model:before-request", 3) });
    const result = await loop.execute("Go", { deadline: Deadline.in(HOUR, clock) });
    expect([result.status, spoken, clock.slept]).toEqual(["succeeded", [...TO_SAY], [250]]);
  });

  it("retries if its agent has used up its turns", async () => {
    const { clock, store, open, say, spoken } = await timed();
    const step = Step.granular("speak", speaker(say).agent, { maxTurns: 2 });
    const loop = new DurableMainLoop(step, {
      store,
      checkpoints: open(),
      clock,
      leaseMs: 100 * HOUR,
      checkpointTrigger: loudly,
    });
    const result = await loop.execute("Go", { deadline: Deadline.in(HOUR, clock) });
    expect([result.status, spoken, clock.slept.length]).toEqual(["succeeded", [...TO_SAY], 1]);
  });

  it("retries until its deadline, and not after it", async () => {
    const { clock, store, open, make } = await timed();
    const { loop } = make({ before: failing(2, Number.POSITIVE_INFINITY, down) });
    const deadline = Deadline.in(HOUR, clock);
    const expired = await failureAs(DeadlineExceededError, loop.execute("Go", { deadline }));
    expect(expired.cause).toBeInstanceOf(ModelCallError);
    expect(clock.now()).toBeGreaterThanOrEqual(deadline.at);
    expect(clock.slept.length).toBeGreaterThan(60);
    expect(await open().isCompleted()).toBe(false);
    const attempts = (await store.listAttempts(must(await open().loadRequest()).runId)).length;
    const again = make();
    const error = await failureAs(DeadlineExceededError, again.loop.execute("Go"));
    const { runId } = must(await open().loadRequest());
    expect([error.runId, again.prompts]).toEqual([runId, []]);
    expect(await store.listAttempts(runId)).toHaveLength(attempts);
  });

  it("throws on a permanent failure", async () => {
    const { clock, make } = await timed((word, call) => {
      if (word === "two!") throw new PausedError("Enough.");
      call.session.dispatch(said(word));
    });
    const { loop } = make();
    await failureAs(PausedError, loop.execute("Go", { deadline: Deadline.in(HOUR, clock) }));
    expect(clock.slept).toEqual([]);
  });

  it("throws on a configuration error", async () => {
    const { clock, make } = await timed();
    const { loop } = make({
      onSession: (session) =>
        void session.bus.subscribe("CheckpointSaved", () => {
          throw new ConfigurationError("A handler's error is ignored.");
        }),
      probe: (point, { turnIndex }) => {
        if (point === "model:before-request" && turnIndex === 2)
          throw new ConfigurationError("Set up wrongly.");
      },
    });
    const error = await failureAs(
      ConfigurationError,
      loop.execute("Go", { deadline: Deadline.in(HOUR, clock) }),
    );
    expect([error.message, clock.slept]).toEqual(["Set up wrongly.", []]);
  });

  it("throws on a transient failure if there is no checkpoint to resume from", async () => {
    const { clock, make } = await timed();
    const { loop, prompts } = make({ before: failing(0, 1, down) });
    await failureAs(ModelCallError, loop.execute("Go", { deadline: Deadline.in(HOUR, clock) }));
    expect([prompts.length, clock.slept]).toEqual([1, []]);
  });

  it("throws on a transient failure without a deadline, and resumes when it is executed again", async () => {
    const { clock, spoken, make } = await timed();
    const { loop } = make({ before: failing(2, 1, down) });
    await failureAs(ModelCallError, loop.execute("Go"));
    expect(clock.slept).toEqual([]);
    expect((await loop.execute("Go")).status).toBe("succeeded");
    expect(spoken).toEqual([...TO_SAY]);
  });

  it("keeps the deadline of the request that it resumes, stored with the request and the run", async () => {
    const { clock, store, open, make } = await timed();
    const deadline = Deadline.in(HOUR, clock);
    const { runId } = await failureAs(
      ConfigurationError,
      make({
        probe: (point) => {
          if (point === "turn:committed") throw new ConfigurationError("Stop.");
        },
      }).loop.execute("Go", { deadline }),
    );
    expect((await open().loadRequest())?.deadline).toBe(deadline.at);
    expect((await store.getRun(must(runId)))?.deadline).toBe(deadline.at);
    await clock.advance(HOUR);
    const late = make().loop.execute("Go", { deadline: Deadline.in(HOUR, clock) });
    expect((await failureAs(DeadlineExceededError, late)).details.deadline).toBe(
      new Date(deadline.at).toISOString(),
    );
  });

  it("does nothing if its deadline has passed before it begins", async () => {
    const { clock, store, make } = await timed();
    const { loop, prompts } = make();
    await failureAs(DeadlineExceededError, loop.execute("Go", { deadline: new Deadline(clock.now()) }));
    expect([prompts, await store.listRuns()]).toEqual([[], []]);
  });
});

import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { watchRun } from "../../../src/engine/watch/watch-run.ts";
import {
  agent,
  ModelCallError,
  Runner,
  type RunnerOptions,
  type Store,
  tool,
  type WatchEvent,
  type WatchOptions,
} from "../../../src/index.ts";
import { databaseFile, fileStore, memoryStore } from "../run-fixture.ts";
import { response, type StreamedAnswer, streamingPort, text, typed } from "./streaming-port.ts";

function runnerOf(store: Store, answers: readonly StreamedAnswer[], options: RunnerOptions = {}) {
  const lookUp = tool({
    name: "look_up",
    description: "Looks something up.",
    inputSchema: z.object({ what: z.string() }),
    effect: "read_only",
    execute: ({ what }) => `found ${what}`,
  });
  const model = streamingPort(...answers);
  const clerk = agent({ name: "clerk", model, instructions: "Answer.", tools: { look_up: lookUp } });
  return new Runner(clerk, { store, ...options });
}

/** Everything that a viewer is given until the end. */
async function seen(store: Store, runId: string, options: WatchOptions = {}): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  for await (const event of watchRun(store, runId, options)) events.push(event);
  return events;
}

const types = (events: readonly WatchEvent[]) => events.map(({ type }) => type);
const said = (events: readonly WatchEvent[]) =>
  events.map((event) => (event.type === "part" ? event.delta : "")).join("");
const durable = (events: readonly WatchEvent[]) => events.filter((event) => "cursor" in event);

/** Resolves once a viewer has been given this text: the model goes on only when somebody has seen it. */
async function whenSaid(events: readonly WatchEvent[], expected: string): Promise<void> {
  for (let looks = 0; !said(events).endsWith(expected); looks++) {
    if (looks > 1_000) throw new Error(`Nobody has seen ${expected}: ${said(events)}`);
    await sleep(5);
  }
}

/** Watches while the run works, and returns what was seen when both are over. */
async function watched(
  store: Store,
  answers: (events: readonly WatchEvent[]) => readonly StreamedAnswer[],
  viewer: Store = store,
  options: RunnerOptions = {},
): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  const runner = runnerOf(store, answers(events), options);
  const run = runner.enqueue("Hello?", { runId: "q-1" }).then(async () => {
    const watching = (async () => {
      for await (const event of watchRun(viewer, "q-1")) events.push(event);
    })();
    await runner.resume("q-1").catch(() => undefined);
    await watching;
  });
  await run;
  return events;
}

const LOOKS_UP = [
  { type: "text", text: "I look." },
  { type: "tool-call", toolCallId: "c-1", toolName: "look_up", input: { what: "it" } },
] as const;

describe("watching a run", () => {
  it.each([
    ["in memory", () => memoryStore()],
    ["on a file", () => fileStore(databaseFile())],
  ])("shows the answer while it is written, then the whole of it, %s", async (_where, open) => {
    const events = await watched(await open(), (seenSoFar) => [
      async (say) => {
        say(text("Hel"));
        await whenSaid(seenSoFar, "Hel");
        say(text("lo"));
        await whenSaid(seenSoFar, "Hello");
        return response("Hello");
      },
    ]);
    expect(types(events)).toEqual([
      "run.started",
      "run.claimed",
      "turn.opened",
      "part",
      "part",
      "turn.journaled",
      "turn.committed",
      "step.finished",
      "run.ended",
    ]);
    expect(events.find(({ type }) => type === "turn.committed")).toMatchObject({
      text: "Hello",
      isComplete: true,
      turn: 1,
      step: "clerk",
    });
    expect(events.at(-1)).toMatchObject({ status: "succeeded", output: "Hello", error: null });
  });

  it.each([
    ["another store on the same file", {}, {}],
    ["one that may only read what is streamed anyway", { readOnly: true }, { live: true }],
  ])("shows a viewer on %s the same", async (_which, viewerOptions, options) => {
    const file = databaseFile();
    const writer = await fileStore(file);
    const viewer = await fileStore(file, viewerOptions);
    const events = await watched(
      writer,
      (seenSoFar) => [
        async (say) => {
          say(text("Hel"));
          await whenSaid(seenSoFar, "Hel");
          return response("Hello");
        },
      ],
      viewer,
      options,
    );
    expect(said(events)).toBe("Hel");
    expect(durable(events)).toEqual(durable(await seen(writer, "q-1")));
  });

  it("withdraws what was shown of an attempt that failed, and shows the next one", async () => {
    const events = await watched(await memoryStore(), (seenSoFar) => [
      async (say) => {
        say(text("Half an ans"));
        await whenSaid(seenSoFar, "ans");
        throw new ModelCallError("The stream broke.", {
          kind: "no_answer",
          status: null,
          retryAfterMs: 0,
          retryable: true,
        });
      },
      async (say) => {
        say(text("A whole one"));
        await whenSaid(seenSoFar, "one");
        return response("A whole one.");
      },
    ]);
    expect(types(events).slice(2, 8)).toEqual([
      "turn.opened",
      "part",
      "attempt.withdrawn",
      "turn.opened",
      "part",
      "turn.journaled",
    ]);
    expect(events[4]).toMatchObject({ turn: 1, attempt: 1, why: "failed" });
    expect(events[5]).toMatchObject({ turn: 1, attempt: 2 });
    expect(events[7]).toMatchObject({ content: [{ type: "text", text: "A whole one." }] });
  });

  it("tells of calls, with the provider's ids and ours, and of their receipts", async () => {
    const store = await memoryStore();
    await runnerOf(store, [() => response(LOOKS_UP), typed("Found.")]).run("Look", { runId: "q-1" });
    const events = await seen(store, "q-1");
    expect(types(events)).toEqual([
      "run.started",
      "turn.opened",
      "turn.journaled",
      "tool.receipt",
      "turn.committed",
      "turn.opened",
      "turn.journaled",
      "turn.committed",
      "step.finished",
      "run.ended",
    ]);
    const toolCallId = "q-1/clerk#1.1";
    expect(events[2]).toMatchObject({
      content: LOOKS_UP,
      calls: [{ toolCallId, providerCallId: "c-1", tool: "look_up", input: { what: "it" } }],
    });
    expect(events[3]).toMatchObject({
      toolCallId,
      tool: "look_up",
      status: "succeeded",
      result: { type: "text", value: "found it" },
    });
  });

  it("continues behind any cursor with exactly what is left", async () => {
    const store = await memoryStore();
    await runnerOf(store, [() => response(LOOKS_UP), typed("Found.")]).run("Look", { runId: "q-1" });
    const all = durable(await seen(store, "q-1"));
    expect(new Set(all.map((event) => ("cursor" in event ? event.cursor : ""))).size).toBe(all.length);
    for (const [i, event] of all.entries()) {
      if (!("cursor" in event)) throw new Error("It is durable.");
      expect(await seen(store, "q-1", { after: event.cursor })).toEqual(all.slice(i + 1));
    }
  });

  it("tells of questions and their answers, and does not end while the run waits", async () => {
    const store = await memoryStore();
    const send = tool({
      name: "send",
      description: "Sends.",
      inputSchema: z.object({}),
      effect: "external",
      approval: true,
      execute: () => "sent",
    });
    const call = { type: "tool-call", toolCallId: "c-1", toolName: "send", input: {} } as const;
    const model = streamingPort(() => response([call]), typed("Sent."));
    const clerk = agent({ name: "clerk", model, instructions: "Send.", tools: { send } });
    const runner = new Runner(clerk, { store });
    expect((await runner.run("Send it", { runId: "q-1" })).status).toBe("waiting");
    const events: WatchEvent[] = [];
    for await (const event of runner.watch("q-1")) {
      events.push(event);
      if (event.type !== "run.waiting") continue;
      const [wait] = await store.listOpenWaits();
      await store.approve(wait?.waitId ?? "", { by: "ada" });
      await runner.resume("q-1");
    }
    const [opened, answered] = events.filter(({ type }) => type.startsWith("wait."));
    expect(opened).toMatchObject({ waitId: "q-1~1", kind: "approval", toolCallId: "q-1/clerk#1.1" });
    expect(answered).toMatchObject({ waitId: "q-1~1", answer: { approved: true }, answeredBy: "ada" });
    expect(events.at(-1)).toMatchObject({ type: "run.ended", status: "succeeded" });
  });

  it("replays a run that failed and was resumed to its present end", async () => {
    const store = await memoryStore();
    const failing: StreamedAnswer = () => {
      throw new ModelCallError("No.", {
        kind: "rejected",
        status: 400,
        retryAfterMs: null,
        retryable: false,
      });
    };
    const runner = runnerOf(store, [failing, typed("Yes.")]);
    await expect(runner.run("Hello?", { runId: "q-1" })).rejects.toThrow("No.");
    expect((await seen(store, "q-1")).at(-1)).toMatchObject({
      type: "run.ended",
      status: "failed",
      error: { code: expect.any(String), message: expect.stringContaining("No.") },
    });
    await runner.resume("q-1");
    const ends = (await seen(store, "q-1")).filter(({ type }) => type === "run.ended");
    expect(ends).toMatchObject([{ status: "failed" }, { status: "succeeded", output: "Yes." }]);
  });

  it("shows nothing that a worker of an earlier epoch writes", async () => {
    const store = await memoryStore();
    const events = await watched(store, (seenSoFar) => [
      async (say) => {
        say(text("Now"));
        await whenSaid(seenSoFar, "Now");
        const old = { runId: "q-1", step: "clerk", turn: 1, attempt: 1, epoch: 0 };
        store.live?.begin(old, () => undefined).part(text("I am late"));
        await sleep(100);
        store.live?.begin({ ...old, epoch: 1, attempt: 7 }, () => undefined).part(text("Not open"));
        await sleep(100);
        say(text(" again"));
        await whenSaid(seenSoFar, "again");
        return response("Now again.");
      },
    ]);
    expect(said(events)).toBe("Now again");
  });

  it("without live, yields what is durable and nothing else", async () => {
    const store = await memoryStore();
    await runnerOf(store, [typed("One ", "two.")]).run("Count", { runId: "q-1" });
    expect(types(await seen(store, "q-1", { live: false }))).not.toContain("part");
  });
});

describe("what cannot be watched", () => {
  it.each([
    ["nobody", {}, /There is no run nobody in this store/],
    ["no run", {}, /cannot be a run id/],
    ["q-1", { after: "garbage" }, /is no cursor of a run/],
    ["q-1", { after: 7 as never }, /is no cursor of a run/],
    ["q-1", { after: "3.1.00000000" }, /belongs to another run than q-1/],
  ])("is refused with one clear error: %s %j", async (runId, options, message) => {
    const store = await memoryStore();
    await runnerOf(store, [typed("Hi.")]).run("Hello?", { runId: "q-1" });
    await expect(seen(store, runId, options)).rejects.toThrow(message);
  });

  it("is refused for a cursor behind the end, and for a deleted run", async () => {
    const [store, other] = [await memoryStore(), await memoryStore()];
    await runnerOf(store, [typed("Hi.")]).run("Hello?", { runId: "q-1" });
    const last = (await seen(store, "q-1")).at(-1);
    await runnerOf(other, []).enqueue("Hello?", { runId: "q-1" });
    const after = last !== undefined && "cursor" in last ? last.cursor : "";
    await expect(seen(other, "q-1", { after })).rejects.toThrow(/behind the end of run q-1/);
    await store.deleteRun("q-1", { why: "test", by: { by: "ada" } });
    await expect(seen(store, "q-1")).rejects.toThrow(/was deleted/);
    expect(() => watchRun(store, "q-1", { cursor: "1" } as never)).toThrow(/after/);
  });
});

describe("leaving", () => {
  it("frees a viewer that waits for the next event, and changes nothing", async () => {
    const store = await memoryStore();
    await runnerOf(store, []).enqueue("Hello?", { runId: "q-1" });
    const before = await store.listEvents("q-1");
    const watching = watchRun(store, "q-1");
    await watching.next();
    const waiting = watching.next();
    await watching.return();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await store.listEvents("q-1")).toEqual(before);
  });

  it("ends without an error when the signal aborts", async () => {
    const store = await memoryStore();
    await runnerOf(store, []).enqueue("Hello?", { runId: "q-1" });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 30);
    expect(types(await seen(store, "q-1", { signal: stop.signal }))).toEqual(["run.started"]);
    expect(types(await seen(store, "q-1", { signal: AbortSignal.abort() }))).toEqual([]);
  });

  it("a viewer that does not read loses pieces, and never what is durable", async () => {
    const store = await memoryStore();
    const long = "x".repeat(40_000);
    const runner = runnerOf(store, [
      async (say) => {
        for (let i = 0; i < 10; i++) {
          say(text(long));
          await sleep(30);
        }
        return response("y".repeat(10));
      },
    ]);
    await runner.enqueue("Hello?", { runId: "q-1" });
    const watching = watchRun(store, "q-1");
    await watching.next();
    await runner.resume("q-1");
    const rest: WatchEvent[] = [];
    for await (const event of watching) rest.push(event);
    expect(said(rest).length).toBeLessThan(300_000);
    expect(rest.at(-1)).toMatchObject({ type: "run.ended", output: "yyyyyyyyyy" });
  });
});

describe("stream with live", () => {
  it("yields pieces and withdrawals in order with the events of the run", async () => {
    const failing: StreamedAnswer = (say) => {
      say(text("Half"));
      throw new ModelCallError("The stream broke.", {
        kind: "no_answer",
        status: null,
        retryAfterMs: 0,
        retryable: true,
      });
    };
    const runner = runnerOf(await memoryStore(), [failing, typed("Who", "le")]);
    const heard: string[] = [];
    for await (const event of runner.stream("Hello?", { live: true }))
      heard.push(event.type === "part" ? event.delta : event.type);
    expect(heard.filter((type) => !type.startsWith("usage."))).toEqual([
      "run.started",
      "step.started",
      "turn.started",
      "Half",
      "attempt.withdrawn",
      "model.failed",
      "Who",
      "le",
      "turn.committed",
      "step.finished",
      "run.finished",
    ]);
  });

  it("without it, yields the events alone", async () => {
    const runner = runnerOf(await memoryStore(), [typed("Who", "le")]);
    const heard: string[] = [];
    for await (const event of runner.stream("Hello?")) heard.push(event.type);
    expect(heard).not.toContain("part");
  });
});

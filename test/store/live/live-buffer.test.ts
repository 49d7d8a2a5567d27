import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LiveBackend, LiveBatch } from "../../../src/store/live/live-backend.ts";
import { LiveBuffer } from "../../../src/store/live/live-buffer.ts";
import { MemoryLive } from "../../../src/store/live/memory-live.ts";
import type { LiveSink } from "../../../src/store/live-parts.ts";

let clock = 0;
let live: LiveBuffer;
/** What was written, a list for each write. */
let batches: (readonly string[])[] = [];
let held: Promise<void> = Promise.resolve();
let isBusy = false;

function notedBackend(): LiveBackend {
  const memory = new MemoryLive();
  const writeToMemory = memory.write.bind(memory);
  const write = async (batch: LiveBatch) => {
    await held;
    if (isBusy) return "busy" as const;
    batches.push(
      batch.rows.map(({ runId, parts }) => `${runId}: ${parts.map(({ delta }) => delta).join("|")}`),
    );
    return writeToMemory(batch);
  };
  return Object.assign(memory, { write });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => clock);
  batches = [];
  held = Promise.resolve();
  isBusy = false;
  live = new LiveBuffer(notedBackend());
});

afterEach(async () => {
  await live.close();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function begin(runId: string): (delta: string) => LiveSink {
  const sink = live.begin({ runId, step: "clerk", turn: 1, attempt: 1, epoch: 1 }, () => undefined);
  return (delta) => {
    sink.part({ part: 0, kind: "text", delta });
    return sink;
  };
}

/** What is due without a timer is done by then. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i++) await nextTurn();
}

describe("the buffer of live parts", () => {
  it("writes the first piece of an answer at once, and takes along what other answers have", async () => {
    const [one, two] = [begin("one"), begin("two")];
    one("a");
    await settle();
    one("b");
    await settle();
    expect(batches).toEqual([["one: a"]]);
    two("c");
    await settle();
    expect(batches).toEqual([["one: a"], ["one: b", "two: c"]]);
  });

  it("writes a batch that is due with the next piece, and needs no timer for that", async () => {
    const say = begin("one");
    say("a");
    await settle();
    say("b");
    clock += 49;
    say("c");
    await settle();
    expect(batches).toHaveLength(1);
    clock += 1;
    say("d");
    await settle();
    expect(batches).toEqual([["one: a"], ["one: bcd"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("writes the last piece before a pause by a timer", async () => {
    const say = begin("one");
    say("a");
    await settle();
    say("b");
    vi.advanceTimersByTime(50);
    await settle();
    expect(batches).toEqual([["one: a"], ["one: b"]]);
  });

  it("writes nothing of an answer that was over before", async () => {
    const say = begin("one");
    say("a").end();
    await settle();
    expect(batches).toEqual([]);
    begin("two")("b");
    await settle();
    expect(batches).toEqual([["two: b"]]);
  });

  it("writes a first piece that came during a write right after it", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    begin("one")("a");
    await settle();
    begin("two")("b");
    await settle();
    expect(batches).toEqual([]);
    resolve();
    await settle();
    expect(batches).toEqual([["one: a"], ["two: b"]]);
  });

  it("keeps a batch while others write, and tries it again later", async () => {
    isBusy = true;
    const say = begin("one");
    say("a");
    await settle();
    expect(batches).toEqual([]);
    expect(vi.getTimerCount()).toBe(1);
    isBusy = false;
    say("b");
    await settle();
    expect(batches).toEqual([["one: ab"]]);
  });
});

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type {
  TranscriptDocument,
  TranscriptItem,
} from "../../../dashboard/src/pages/run/transcript/transcript-content.ts";
import { TranscriptReader } from "../../../dashboard/src/pages/run/transcript/transcript-reader.ts";
import type { TranscriptPlace } from "../../../dashboard/src/pages/run/transcript/transcript-reading.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function item(seq: number): TranscriptItem {
  const at = "2026-11-16T12:00:00.000Z";
  return { id: `${seq}`, kind: "assistant", at, seq, step: "main", turn: seq, isAbandoned: false, data: {} };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A server with a transcript in pages of two, which can be stopped. */
class TranscriptServer {
  end = 6;
  isUp = true;
  delayMs = 0;
  /** What was asked for, by the cursor before which it is. */
  readonly asked: string[] = [];

  readonly read = async ({ before = "end", after }: TranscriptPlace): Promise<TranscriptDocument> => {
    this.asked.push(after === undefined ? before : `after ${after}`);
    const { end, isUp, delayMs } = this;
    if (delayMs > 0) await sleep(delayMs);
    if (!isUp) throw new TypeError("fetch failed");
    const last = before === "end" ? end : Number(before) - 1;
    const first = after === undefined ? Math.max(1, last - 1) : Number(after) + 1;
    const items = Array.from({ length: last - first + 1 }, (_, index) => item(first + index));
    return { items, before: first === 1 ? null : `${first}`, after: `${last}`, isNewest: true };
  };
}

function reading() {
  const server = new TranscriptServer();
  const reader = new TranscriptReader(server.read);
  const leave = reader.onState(() => undefined);
  const seqs = () => reader.state().known.items.map(({ seq }) => seq);
  const settled = () => vi.advanceTimersByTimeAsync(0);
  /** Longer than what fails is waited for. */
  const later = () => vi.advanceTimersByTimeAsync(6_000);
  return { server, reader, leave, seqs, settled, later };
}

describe("a transcript that is read", () => {
  test("has its end, then page by page what is before", async () => {
    const { reader, seqs, settled } = reading();
    reader.follow();
    reader.readEarlier();
    await settled();
    expect(seqs()).toEqual([5, 6]);
    reader.readEarlier();
    reader.readEarlier();
    expect(reader.state().isReadingEarlier).toBe(true);
    await settled();
    expect(seqs()).toEqual([3, 4, 5, 6]);
    expect(reader.state()).toMatchObject({ isRead: true, isReadingEarlier: false, known: { before: "3" } });
  });

  test("is read once more, and not once a change, if it moves while it is read", async () => {
    const { server, reader, seqs, settled } = reading();
    reader.follow();
    server.end = 8;
    for (let change = 0; change < 5; change++) reader.follow();
    await settled();
    expect(seqs()).toEqual([5, 6, 7, 8]);
    expect(server.asked).toEqual(["end", "end", "after 6"]);
  });

  test("is readable backwards although it moves all the time", async () => {
    const { server, reader } = reading();
    const states: boolean[] = [];
    reader.onState(() => {
      states.push(reader.state().isRead);
      if (server.asked.length < 20) reader.follow();
    });
    reader.follow();
    await vi.advanceTimersByTimeAsync(0);
    expect(server.asked.length).toBe(20);
    expect(states.indexOf(true)).toBeLessThan(3);
  });

  test("drops a page that is before something else by now", async () => {
    const { server, reader, seqs, settled } = reading();
    reader.follow();
    await settled();
    server.delayMs = 100;
    reader.readEarlier();
    // Another store: it is shorter, and what was asked for is not before it.
    Object.assign(server, { delayMs: 0, end: 3 });
    reader.doubt();
    await settled();
    expect(seqs()).toEqual([2, 3]);
    await vi.advanceTimersByTimeAsync(100);
    expect(seqs()).toEqual([1, 2, 3]);
  });
});

describe("a transcript that cannot be read", () => {
  test("stays on screen, and is asked for again each few seconds until it is there", async () => {
    const { server, reader, seqs, settled, later } = reading();
    reader.follow();
    await settled();
    server.isUp = false;
    server.end = 7;
    reader.follow();
    // It moves while it is read, and the read fails.
    reader.follow();
    await settled();
    expect(reader.state().error?.message).toBe("fetch failed");
    expect(seqs()).toEqual([5, 6]);
    await later();
    await later();
    expect(server.asked).toEqual(["end", "end", "end", "end"]);
    server.isUp = true;
    await later();
    expect(reader.state().error).toBeNull();
    expect(seqs()).toEqual([5, 6, 7]);
    const { length } = server.asked;
    await later();
    expect(server.asked.length, "nothing is asked for without a reason").toBe(length);
  });

  test("is not asked for without a pause by one who scrolls", async () => {
    const { server, reader, seqs, settled, later } = reading();
    reader.follow();
    await settled();
    server.isUp = false;
    // As a page does that looks for an item: after each change of what it shows.
    reader.onState(reader.readEarlier);
    reader.readEarlier();
    await settled();
    expect(server.asked).toEqual(["end", "5"]);
    expect(reader.state()).toMatchObject({ error: null, isReadingEarlier: false });
    expect(reader.state().earlierError?.message).toBe("fetch failed");
    await later();
    expect(server.asked).toEqual(["end", "5", "5"]);
    server.isUp = true;
    await later();
    expect(reader.state()).toMatchObject({ error: null, earlierError: null, known: { before: null } });
    expect(seqs()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("is asked for at once when the server is back, and only for what has failed", async () => {
    const { server, reader, settled } = reading();
    reader.follow();
    await settled();
    reader.retry();
    await settled();
    expect(server.asked).toEqual(["end"]);
    server.isUp = false;
    reader.readEarlier();
    await settled();
    server.isUp = true;
    reader.retry();
    await settled();
    expect(server.asked).toEqual(["end", "5", "5"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not asked for any more when its page is left, before or after it has failed", async () => {
    const early = reading();
    early.server.isUp = false;
    early.reader.follow();
    early.leave();
    await early.settled();
    const late = reading();
    late.server.isUp = false;
    late.reader.follow();
    await late.settled();
    expect(vi.getTimerCount()).toBe(1);
    late.leave();
    expect(vi.getTimerCount()).toBe(0);
  });
});

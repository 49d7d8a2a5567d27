import { expect, test } from "vitest";
import { eventStreamResponse } from "../../../src/adapters/net/event-stream-response.ts";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { LiveStream } from "../../../src/server/live/live-stream.ts";
import type { EventRecord } from "../../../src/store/store.ts";
import { LiveReader } from "./live-reader.ts";

function streamed(log: readonly EventRecord[] = []) {
  const stream = new LiveStream(EVERYTHING, "c-0");
  const events = stream.events((_, after) => Promise.resolve(log.filter(({ seq }) => seq > after)));
  return { stream, read: () => new LiveReader(eventStreamResponse(events, { left: () => stream.end() })) };
}

test("a reader that does not read is told to fetch everything again, and is closed", async () => {
  const { stream, read } = streamed();
  const page = read();
  for (let i = 0; i < 30; i++) stream.send("head", { text: "x".repeat(100_000) });
  await page.until("reset");
  expect(await page.next()).toBeNull();
  expect(page.all.length).toBeLessThan(5);
});

test("the reset of a slow reader has its place, behind what was dropped: it does not come back to be reset again", async () => {
  const { stream, read } = streamed();
  const page = read();
  stream.hold();
  const missed = Array.from({ length: 1_000 }, (_, i) => ["head", { i, text: "x".repeat(1_200) }] as const);
  stream.release("c-9", missed);
  expect(await page.until("reset")).toMatchObject({ id: "c-9" });
  expect(await page.next()).toBeNull();
});

test("the reset of a slow reader continues the log behind the last event that was read", async () => {
  const log = [1, 2, 3, 4].map((seq): EventRecord => {
    return { seq, at: 0, type: "turn.opened", data: {}, hash: "" };
  });
  const { stream, read } = streamed(log);
  stream.follow({ runId: "run-1", after: 0 }, 4);
  const page = read();
  await page.until("log", ({ seq }) => seq === 1);
  stream.sendUpTo("c-9", [["head", { text: "x".repeat(2_000_000) }]]);
  const { id } = await page.until("reset");
  const last = page.all.findLast(({ event }) => event === "log")?.data.seq;
  expect(id).toBe(`c-9;${last}`);
  expect(last).toBeLessThan(4);
});

test("a reader that is never quite up to date is no slow one", async () => {
  const { stream, read } = streamed();
  const page = read();
  stream.send("head", { i: 0 });
  for (let i = 1; i <= 30; i++) {
    stream.send("head", { i, text: "x".repeat(100_000) });
    await page.until("head", (data) => data.i === i - 1);
  }
});

test("a reader that reads gets everything, however much it is", async () => {
  const { stream, read } = streamed();
  const page = read();
  for (let i = 0; i < 30; i++) {
    stream.send("head", { i, text: "x".repeat(100_000) });
    await page.until("head", (data) => data.i === i);
  }
});

test("only the last of several changes is a place to continue at", async () => {
  const { stream, read } = streamed();
  const page = read();
  stream.sendUpTo("c-1", [
    ["head", 1],
    ["head", 2],
  ]);
  await page.until("head", (data) => data === 2);
  expect(page.all.map(({ id }) => id)).toEqual([null, "c-1"]);
});

test("what came while it caught up comes after what it missed", async () => {
  const { stream, read } = streamed();
  const page = read();
  stream.hold();
  stream.sendUpTo("c-2", [["head", "new"]]);
  stream.release("c-1", [["head", "missed"]]);
  await page.until("head", (data) => data === "new");
  expect(page.all).toMatchObject([
    { data: "missed", id: "c-1" },
    { data: "new", id: "c-2" },
  ]);
});

import { expect, test } from "vitest";
import { eventStreamResponse } from "../../../src/adapters/net/event-stream-response.ts";
import { EVERYTHING } from "../../../src/core/access/scope.ts";
import { LiveStream } from "../../../src/server/live/live-stream.ts";
import { LiveReader } from "./live-reader.ts";

function streamed() {
  const stream = new LiveStream(EVERYTHING, "c-0");
  const events = stream.events(() => Promise.resolve([]));
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

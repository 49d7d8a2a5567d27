import fc from "fast-check";
import { expect, test } from "vitest";
import { EventParser } from "../../../src/client/server-sent-events.ts";

const STREAM =
  ': ping\nid: 1\nevent: hello\ndata: {"version":"1"}\n\nid: 2\r\nevent: head\r\ndata: {\r\ndata: "runId":"q-1"}\r\n\r\nretry: 300\rdata: é\r\rid: 3\n\n';
const EVENTS = [
  { id: "1", event: "hello", data: '{"version":"1"}' },
  { id: "2", event: "head", data: '{\n"runId":"q-1"}' },
  { id: "2", event: "message", data: "é" },
];
const BYTES = new TextEncoder().encode(STREAM);

test("events are read with their id and kind, from lines of every ending", () => {
  expect(new EventParser().push(BYTES)).toEqual(EVENTS);
});

test("the pieces that a stream comes in change nothing", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(BYTES.length)), (cuts) => {
      const parser = new EventParser();
      const at = [0, ...cuts.toSorted((a, b) => a - b), BYTES.length];
      const pieces = at.slice(1).map((end, i) => BYTES.slice(at[i], end));
      expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(EVENTS);
    }),
  );
});

test("an event that is not complete is not an event", () => {
  const parser = new EventParser();
  expect(parser.push(new TextEncoder().encode("data: half\n"))).toEqual([]);
  expect(parser.push(new TextEncoder().encode("\n"))).toEqual([{ id: null, event: "message", data: "half" }]);
});

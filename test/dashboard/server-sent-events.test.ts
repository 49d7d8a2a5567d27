import fc from "fast-check";
import { expect, test } from "vitest";
import { ServerSentEventParser } from "../../dashboard/src/live/server-sent-events.ts";

const STREAM =
  ': ping\nid: 1\nevent: hello\ndata: {"version":"1"}\n\nid: 2\r\nevent: head\r\ndata: {\r\ndata: "runId":"q-1"}\r\n\r\nretry: 300\rdata\r\rid: 3\n\n';
const EVENTS = [
  { id: "1", event: "hello", data: '{"version":"1"}' },
  { id: "2", event: "head", data: '{\n"runId":"q-1"}' },
  { id: "2", event: "message", data: "" },
];

test("events are read with their id and kind, from lines of every ending", () => {
  expect(new ServerSentEventParser().push(STREAM)).toEqual(EVENTS);
});

test("the pieces that a stream comes in change nothing", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(STREAM.length)), (cuts) => {
      const parser = new ServerSentEventParser();
      const at = [0, ...cuts.toSorted((a, b) => a - b), STREAM.length];
      const pieces = at.slice(1).map((end, i) => STREAM.slice(at[i], end));
      expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(EVENTS);
    }),
  );
});

test("an event that is not complete is not an event", () => {
  const parser = new ServerSentEventParser();
  expect(parser.push("data: half\n")).toEqual([]);
  expect(parser.push("\n")).toEqual([{ id: "", event: "message", data: "half" }]);
});

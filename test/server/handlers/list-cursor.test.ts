import { expect, test } from "vitest";
import { z } from "zod";
import { listCursor, placeInList } from "../../../src/server/handlers/list-cursor.ts";

const PLACE = z.object({ runNo: z.int() });
const RUNS = { list: "runs", status: ["failed"] };

test("a cursor leads back to its place, in the list that it is from", () => {
  const cursor = listCursor({ runNo: 7 }, RUNS);
  expect(cursor).toMatch(/^[\w-]+$/);
  expect(placeInList(cursor, RUNS, PLACE)).toEqual({ runNo: 7 });
  expect(placeInList(undefined, RUNS, PLACE)).toBeUndefined();
});

test("a filter that is not given is no filter", () => {
  const cursor = listCursor({ runNo: 7 }, { ...RUNS, q: undefined });
  expect(placeInList(cursor, RUNS, PLACE)).toEqual({ runNo: 7 });
});

test.each([
  [{ list: "runs", status: ["queued"] }],
  [{ list: "runs" }],
  [{ list: "waits", status: ["failed"] }],
])("a cursor is refused with other filters: %j", (other) => {
  const cursor = listCursor({ runNo: 7 }, RUNS);
  expect(() => placeInList(cursor, other, PLACE)).toThrow(
    expect.objectContaining({ status: 400, code: "cursor_of_another_list" }),
  );
});

test.each([
  "",
  "x",
  "null",
  Buffer.from("{}").toString("base64url"),
  Buffer.from("[1]").toString("base64url"),
])("a text that is no cursor is refused: %j", (text) => {
  expect(() => placeInList(text, RUNS, PLACE)).toThrow(
    expect.objectContaining({ status: 400, code: "cursor_invalid" }),
  );
});

test("a place of another form is refused, whoever made it", () => {
  const cursor = listCursor({ runNo: "7; DROP TABLE runs" }, RUNS);
  expect(() => placeInList(cursor, RUNS, PLACE)).toThrow(expect.objectContaining({ code: "cursor_invalid" }));
});

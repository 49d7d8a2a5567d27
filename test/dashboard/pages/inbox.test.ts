import { describe, expect, test } from "vitest";
import { listedWords, neighbour, rowsMoved } from "../../../dashboard/src/pages/inbox/wait-order.ts";

const IDS = ["a", "b", "c", "d", "e"];

describe("the next wait", () => {
  test("is the one behind or before the one that is read, and the first one if none is", () => {
    expect([neighbour(IDS, "b", 1, 1), neighbour(IDS, "b", 1, -1)]).toEqual(["c", "a"]);
    expect([neighbour(IDS, "e", 4, 1), neighbour(IDS, "a", 0, -1)]).toEqual(["e", "a"]);
    expect([neighbour(IDS, null, 3, 1), neighbour(IDS, null, 3, -1)]).toEqual(["a", "a"]);
    expect(neighbour([], "a", 0, 1)).toBeUndefined();
  });

  test("is the one that took its place, once the one that is read was answered", () => {
    const left = ["a", "b", "d", "e"];
    expect([neighbour(left, "c", 2, 1), neighbour(left, "c", 2, -1)]).toEqual(["d", "b"]);
    expect([neighbour(["a"], "c", 2, 1), neighbour(["a"], "c", 0, -1)]).toEqual(["a", "a"]);
  });
});

describe("a list that changes while it is read", () => {
  test("has moved by the rows that left above the first row in the window", () => {
    expect(rowsMoved(IDS, ["c", "d", "e"], 3)).toBe(-2);
    expect(rowsMoved(IDS, ["x", "a", "b", "c", "d", "e"], 3)).toBe(1);
  });

  test("has not moved by what left or came below", () => {
    expect(rowsMoved(IDS, ["a", "b", "c", "f", "g"], 1)).toBe(0);
  });

  test("keeps what is below the first row, if that one has left", () => {
    expect(rowsMoved(IDS, ["a", "b", "d", "e"], 2)).toBe(-1);
    expect(rowsMoved(IDS, ["x"], 2)).toBe(0);
  });
});

test("the number of waits is that of the server while not all are read, and never less than what is shown", () => {
  expect(listedWords(200, true, 1_450)).toBe("1,450");
  expect(listedWords(200, true, null)).toBe("200+");
  expect(listedWords(200, true, 150)).toBe("200+");
  expect(listedWords(450, false, 999)).toBe("450");
});

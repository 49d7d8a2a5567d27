import { describe, expect, it } from "vitest";
import { decideArrival, type RunThere } from "../../../src/core/run/arrival-decision.ts";

const BUNDLE = {
  seq: 9,
  hash: "nine",
  moves: new Map([
    [5, "five"],
    [9, "nine"],
  ]),
};

function there(over: Partial<RunThere>): RunThere {
  return { isArriving: false, isMovedAway: false, seq: 5, hash: "five", hashAtMove: null, ...over };
}

describe("a run in a bundle", () => {
  it.for([
    ["is received by a store that has no run of its id", null, "receive"],
    [
      "is received again after an import that did not end",
      { isArriving: true, seq: 9, hash: "nine" },
      "receive",
    ],
    ["is received where it was moved away, if it holds that event", { isMovedAway: true }, "receive"],
    [
      "has arrived if the store has its last event",
      { seq: 11, hash: "eleven", hashAtMove: "nine" },
      "arrived",
    ],
    ["has arrived if it was moved on since", { isMovedAway: true, seq: 12, hashAtMove: "nine" }, "arrived"],
    ["is not received beside the same run that was never moved away", {}, "another"],
    ["is not received over another run that was moved away", { isMovedAway: true, hash: "other" }, "another"],
    [
      "is not received over an event that moved nothing",
      { isMovedAway: true, seq: 6, hash: "six" },
      "another",
    ],
    ["is not received over another import", { isArriving: true, seq: 9, hash: "other" }, "another"],
    ["is not received over a longer log of another run", { seq: 11, hashAtMove: "other" }, "another"],
    ["is not received over a longer log that lacks its event", { seq: 11, hashAtMove: null }, "another"],
  ] as const)("%s", ([, stored, kind]) => {
    expect(decideArrival(stored === null ? null : there(stored), BUNDLE)).toEqual({ kind });
  });
});

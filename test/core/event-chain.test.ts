import { describe, expect, it } from "vitest";
import {
  type ChainedEvent,
  chainHash,
  coveredRowsIn,
  EventChain,
  factsOf,
  NO_EVENT_HASH,
  RowComparison,
} from "../../src/core/event-chain.ts";
import type { Json } from "../../src/core/json.ts";

/** Events with these facts, chained. */
function chained(...facts: readonly Json[]): ChainedEvent[] {
  let hash: Uint8Array = NO_EVENT_HASH;
  return facts.map((each, i) => {
    const [seq, at, type, data] = [i + 1, 10 * (i + 1), "changed", JSON.stringify(each)];
    hash = chainHash(hash, seq, at, type, data);
    return { seq, at, type, data, hash };
  });
}

/** What a run that ended with the last of these events recorded about it. */
function endOf(events: readonly ChainedEvent[]) {
  const last = events.at(-1);
  return { seq: last?.seq ?? 0, hash: last?.hash ?? NO_EVENT_HASH, at: last?.at ?? 0 };
}

function problemsOf(events: readonly ChainedEvent[], end = endOf(events)): string[] {
  const chain = new EventChain();
  for (const event of events) chain.take(event);
  chain.end(end);
  return chain.problems.map(({ row, what }) => `${row} ${what}`);
}

const EVENTS = chained({ a: 1 }, { b: 2 }, { c: 3 });

describe("a chain of events", () => {
  it("is whole as it was written", () => {
    expect(problemsOf(EVENTS)).toEqual([]);
  });

  it("shows a changed event", () => {
    const changed = EVENTS.map((event) => (event.seq === 2 ? { ...event, data: "{}" } : event));
    expect(problemsOf(changed)).toEqual(["event 2 was changed, moved, or follows one that was"]);
  });

  it("shows a missing event, and one that was written by another", () => {
    const [first, second, third] = EVENTS;
    const without = [first, third].flatMap((event) => event ?? []);
    expect(problemsOf(without)[0]).toBe("event 2 is missing");
    expect(problemsOf(EVENTS.slice(0, 2), endOf(EVENTS))).toEqual([
      "event 3 is missing",
      "event 3 is not the last event that the run recorded",
    ]);
    expect(problemsOf(EVENTS, endOf([second].flatMap((event) => event ?? [])))).toEqual([
      "event 3 was not written by Pawl",
    ]);
  });

  it("shows that the run was changed at another time", () => {
    expect(problemsOf(EVENTS, { ...endOf(EVENTS), at: 31 })).toEqual([
      "run was last changed at another time than its last event",
    ]);
  });

  it("has the newest digest of each row, and none of removed rows", () => {
    const chain = new EventChain();
    const [a, b, c] = [
      {
        rows: [
          ["x", "1"],
          ["y", "1"],
        ],
      },
      { rows: [["x", "2"]] },
      { rows: [["y", null]], head: [1, 2] },
    ];
    expect(chained(a, b, c).map((event) => chain.take(event).names)).toEqual([["x", "y"], ["x"], ["y"]]);
    expect([...chain.digests]).toEqual([["x", "2"]]);
    expect(chain.head).toBe("1,2");
  });
});

it.each(["", "1", "[]", '{"rows":1}', '{"rows":[1,[],[1,"x"],["x",1],{"a":1}]}'])(
  "facts that are not those of an event cover nothing: %s",
  (data) => {
    expect(coveredRowsIn(factsOf(data))).toEqual([]);
  },
);

it("rows are compared with the digests of their events", () => {
  const rows = new RowComparison([
    ["same", "1"],
    ["changed", "1"],
    ["gone", "1"],
  ]);
  expect(rows.take("added", "1")).toBe(false);
  expect(rows.take("same", "1")).toBe(true);
  expect(rows.take("changed", "2")).toBe(false);
  expect(rows.problems().map(({ row, what }) => `${row} ${what}`)).toEqual([
    "changed is not what was written: its digest differs from the one in its event",
    "gone is missing, but an event covers it",
    "added was not written by Pawl: no event covers it",
  ]);
});

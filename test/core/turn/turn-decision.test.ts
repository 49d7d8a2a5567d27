import { describe, expect, it } from "vitest";
import { decideTurn, type StoredTurns, type TurnDecision } from "../../../src/core/turn/turn-decision.ts";

const MINE = "f-mine";
const EMPTY: StoredTurns = { committed: 0, journaled: null, isComplete: false, fingerprint: null };
const AFTER_TWO: StoredTurns = { committed: 2, journaled: null, isComplete: false, fingerprint: MINE };

describe("decideTurn", () => {
  it("executes the first turn of a fresh step", () => {
    expect(decideTurn(EMPTY, 1, MINE)).toEqual({ kind: "execute" });
  });

  it("executes the turn after the last commit", () => {
    expect(decideTurn(AFTER_TWO, 3, MINE)).toEqual({ kind: "execute" });
  });

  it("replays a response that was journaled and not committed", () => {
    expect(decideTurn({ ...AFTER_TWO, journaled: 3 }, 3, MINE)).toEqual({ kind: "replay" });
  });

  it("replays the journaled response of the first turn, too", () => {
    expect(decideTurn({ ...EMPTY, journaled: 1, fingerprint: MINE }, 1, MINE)).toEqual({ kind: "replay" });
  });

  it("skips a turn that is committed already", () => {
    expect(decideTurn(AFTER_TWO, 2, MINE)).toEqual({ kind: "skip" });
  });

  it("skips the last turn of a finished step, so that its exit condition is read again", () => {
    expect(decideTurn({ ...AFTER_TWO, isComplete: true }, 2, MINE)).toEqual({ kind: "skip" });
  });

  it("reports that the caller is behind if the store is ahead", () => {
    expect(decideTurn(AFTER_TWO, 1, MINE)).toEqual({ kind: "behind" });
  });

  it("reports a gap if a commit is missing", () => {
    expect(decideTurn(AFTER_TWO, 4, MINE)).toEqual({ kind: "gap" });
    expect(decideTurn(EMPTY, 2, MINE)).toEqual({ kind: "gap" });
  });

  it("finishes a step that is complete", () => {
    expect(decideTurn({ ...AFTER_TWO, isComplete: true }, 3, MINE)).toEqual({ kind: "finished" });
  });

  it("diverges under another configuration, whatever the indexes say", () => {
    for (const expected of [1, 2, 3, 4]) {
      expect(decideTurn(AFTER_TWO, expected, "f-other")).toEqual({ kind: "diverged" });
    }
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    "refuses to decide on turn %s",
    (expected) => {
      expect(() => decideTurn(EMPTY, expected, MINE)).toThrow(RangeError);
    },
  );
});

/** The rules again, as mutually exclusive rows: exactly one of them holds for every state. */
type Row = { readonly kind: TurnDecision["kind"]; holds(stored: StoredTurns, expected: number): boolean };
const foreign = ({ fingerprint }: StoredTurns) => fingerprint !== null && fingerprint !== MINE;
const open = (stored: StoredTurns) => !foreign(stored) && !stored.isComplete;
const TABLE: readonly Row[] = [
  { kind: "diverged", holds: (stored) => foreign(stored) },
  { kind: "skip", holds: (stored, expected) => !foreign(stored) && stored.committed - expected === 0 },
  {
    kind: "finished",
    holds: (stored, expected) => !foreign(stored) && stored.isComplete && stored.committed !== expected,
  },
  { kind: "behind", holds: (stored, expected) => open(stored) && expected < stored.committed },
  { kind: "gap", holds: (stored, expected) => open(stored) && expected > stored.committed + 1 },
  {
    kind: "replay",
    holds: (stored, expected) =>
      open(stored) && expected === stored.committed + 1 && stored.journaled === expected,
  },
  {
    kind: "execute",
    holds: (stored, expected) =>
      open(stored) && expected === stored.committed + 1 && stored.journaled !== expected,
  },
];

describe("over every small state", () => {
  const cases: { stored: StoredTurns; expected: number; decided: TurnDecision["kind"] }[] = [];
  for (let committed = 0; committed <= 4; committed++) {
    for (const journaled of [null, 1, 2, 3, 4, 5]) {
      for (const isComplete of [false, true]) {
        for (const fingerprint of [null, MINE, "f-other", ""]) {
          for (let expected = 1; expected <= 6; expected++) {
            const stored = { committed, journaled, isComplete, fingerprint };
            cases.push({ stored, expected, decided: decideTurn(stored, expected, MINE).kind });
          }
        }
      }
    }
  }

  it("the decision is the one row of the table that holds", () => {
    for (const { stored, expected, decided } of cases) {
      const rows = TABLE.filter((row) => row.holds(stored, expected)).map((row) => row.kind);
      expect({ stored, expected, rows }).toEqual({ stored, expected, rows: [decided] });
    }
  });

  it("all seven outcomes occur", () => {
    expect(new Set(cases.map(({ decided }) => decided)).size).toBe(7);
  });

  it("nothing is executed or replayed under another configuration, on a finished step, or over a committed turn", () => {
    const acting = cases.filter(({ decided }) => decided === "execute" || decided === "replay");
    expect(acting.length).toBeGreaterThan(0);
    for (const { stored, expected } of acting) {
      expect(stored.fingerprint ?? MINE).toBe(MINE);
      expect(stored.isComplete).toBe(false);
      expect(stored.committed).toBe(expected - 1);
    }
  });

  it("the model is never asked if its answer is journaled", () => {
    const waiting = cases.filter(({ stored, expected }) => stored.journaled === expected);
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.filter(({ decided }) => decided === "execute")).toEqual([]);
  });
});

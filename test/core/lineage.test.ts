import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isKept, type Lineage } from "../../src/core/lineage.ts";

/** Those of the first `turns` turns whose work counts. */
function keptTurns(lineages: readonly Lineage[], turns: number): number[] {
  return Array.from({ length: turns }, (_, i) => i + 1).filter((turn) => isKept(lineages, turn));
}

describe("the work of a turn counts", () => {
  it("always in the lineage that a step begins with", () => {
    expect(keptTurns([], 5)).toEqual([1, 2, 3, 4, 5]);
    expect(isKept([], 10 ** 6)).toBe(true);
  });

  it("in the present lineage, from its first turn on, however long it gets", () => {
    const lineages = [{ firstTurn: 4, baseTurn: 0 }];
    expect(keptTurns(lineages, 6)).toEqual([4, 5, 6]);
    expect(isKept(lineages, 10 ** 6)).toBe(true);
  });

  it("in an earlier lineage, up to the checkpoint that the present one continues from", () => {
    expect(keptTurns([{ firstTurn: 5, baseTurn: 2 }], 6)).toEqual([1, 2, 5, 6]);
  });

  it("not if the turn was still open when the next lineage began", () => {
    // Turn 4 was journaled and never committed: the lineage begins after it.
    expect(keptTurns([{ firstTurn: 5, baseTurn: 3 }], 5)).toEqual([1, 2, 3, 5]);
  });

  it("in none of the earlier lineages, if the session was reset to its beginning", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 2 },
      { firstTurn: 7, baseTurn: 0 },
    ];
    expect(keptTurns(lineages, 8)).toEqual([7, 8]);
  });

  it("through every lineage that the present one continues from", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 2 },
      { firstTurn: 7, baseTurn: 5 },
    ];
    expect(keptTurns(lineages, 8)).toEqual([1, 2, 4, 5, 7, 8]);
  });

  it("not in a lineage that was abandoned entirely", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 2 },
      { firstTurn: 7, baseTurn: 1 },
    ];
    expect(keptTurns(lineages, 8)).toEqual([1, 7, 8]);
  });

  it("in its own lineage, if a later one continues from there again", () => {
    const lineages = [
      { firstTurn: 5, baseTurn: 1 },
      { firstTurn: 8, baseTurn: 3 },
    ];
    expect(keptTurns(lineages, 9)).toEqual([1, 2, 3, 8, 9]);
  });

  it("past a lineage without turns", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 3 },
      { firstTurn: 4, baseTurn: 2 },
    ];
    expect(keptTurns(lineages, 5)).toEqual([1, 2, 4, 5]);
  });
});

/** A reference model of a step: it records which turns count, and each checkpoint keeps a copy of that record. */
class ReferenceStep {
  turns = 0;
  kept: readonly number[] = [];
  readonly checkpoints: { readonly turn: number; readonly kept: readonly number[] }[] = [];
  readonly lineages: Lineage[] = [];

  commit(withCheckpoint: boolean): void {
    this.turns += 1;
    this.kept = [...this.kept, this.turns];
    if (withCheckpoint) this.checkpoints.push({ turn: this.turns, kept: this.kept });
  }

  /** Continues from one of the checkpoints, including those of abandoned lineages, or from the beginning. */
  begin(pick: number, hasOpenTurn: boolean): void {
    if (hasOpenTurn) this.turns += 1;
    const from = this.checkpoints[pick % (this.checkpoints.length + 1)] ?? { turn: 0, kept: [] };
    this.kept = from.kept;
    this.lineages.push({ firstTurn: this.turns + 1, baseTurn: from.turn });
  }
}

const anyAction = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("commit" as const), saved: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("begin" as const), pick: fc.nat(), open: fc.boolean() }),
  },
);

describe("for every history of a step", () => {
  it("the kept turns are those that the model recorded", () => {
    let abandoned = 0;
    fc.assert(
      fc.property(fc.array(anyAction, { maxLength: 40, size: "max" }), (actions) => {
        const step = new ReferenceStep();
        for (const action of actions) {
          if (action.kind === "commit") step.commit(action.saved);
          else step.begin(action.pick, action.open);
          expect(keptTurns(step.lineages, step.turns)).toEqual(step.kept);
          expect(isKept(step.lineages, step.turns + 1)).toBe(true);
        }
        if (step.lineages.length > 2 && step.kept.length < step.turns) abandoned += 1;
      }),
      { numRuns: 500 },
    );
    expect(abandoned).toBeGreaterThan(50);
  });
});

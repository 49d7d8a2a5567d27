import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isKept, type Lineage } from "../../src/core/lineage.ts";

/** Those of the first `turns` turns whose work counts. */
function keptOf(lineages: readonly Lineage[], turns: number): number[] {
  return Array.from({ length: turns }, (_, i) => i + 1).filter((turn) => isKept(lineages, turn));
}

describe("what a turn did counts", () => {
  it("in the line that a step begins with, always", () => {
    expect(keptOf([], 5)).toEqual([1, 2, 3, 4, 5]);
    expect(isKept([], 10 ** 6)).toBe(true);
  });

  it("in the present line, from its first turn on, however long it gets", () => {
    const lineages = [{ firstTurn: 4, baseTurn: 0 }];
    expect(keptOf(lineages, 6)).toEqual([4, 5, 6]);
    expect(isKept(lineages, 10 ** 6)).toBe(true);
  });

  it("in an earlier line, up to the checkpoint that the present one goes on from", () => {
    expect(keptOf([{ firstTurn: 5, baseTurn: 2 }], 6)).toEqual([1, 2, 5, 6]);
  });

  it("not where the turn was still open when the next line began", () => {
    // Turn 4 was journaled and never committed: the line begins after it.
    expect(keptOf([{ firstTurn: 5, baseTurn: 3 }], 5)).toEqual([1, 2, 3, 5]);
  });

  it("in none of the earlier lines, where the session went back to its beginning", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 2 },
      { firstTurn: 7, baseTurn: 0 },
    ];
    expect(keptOf(lineages, 8)).toEqual([7, 8]);
  });

  it("through every line that the present one goes on from", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 2 },
      { firstTurn: 7, baseTurn: 5 },
    ];
    expect(keptOf(lineages, 8)).toEqual([1, 2, 4, 5, 7, 8]);
  });

  it("not in a line that was left behind as a whole", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 2 },
      { firstTurn: 7, baseTurn: 1 },
    ];
    expect(keptOf(lineages, 8)).toEqual([1, 7, 8]);
  });

  it("in the line it was done in, where a later line goes on from there again", () => {
    const lineages = [
      { firstTurn: 5, baseTurn: 1 },
      { firstTurn: 8, baseTurn: 3 },
    ];
    expect(keptOf(lineages, 9)).toEqual([1, 2, 3, 8, 9]);
  });

  it("past a line in which nothing was done", () => {
    const lineages = [
      { firstTurn: 4, baseTurn: 3 },
      { firstTurn: 4, baseTurn: 2 },
    ];
    expect(keptOf(lineages, 5)).toEqual([1, 2, 4, 5]);
  });
});

/** A step that is run by the book: it writes down which turns count, and every checkpoint remembers those of its time. */
class StepByTheBook {
  turns = 0;
  kept: readonly number[] = [];
  readonly checkpoints: { readonly turn: number; readonly kept: readonly number[] }[] = [];
  readonly lineages: Lineage[] = [];

  commit(withCheckpoint: boolean): void {
    this.turns += 1;
    this.kept = [...this.kept, this.turns];
    if (withCheckpoint) this.checkpoints.push({ turn: this.turns, kept: this.kept });
  }

  /** Goes on from one of the checkpoints that there are, those of lines left behind included, or from the beginning. */
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
  it("the kept turns are those that were written down, one by one", () => {
    let abandoned = 0;
    fc.assert(
      fc.property(fc.array(anyAction, { maxLength: 40 }), (actions) => {
        const step = new StepByTheBook();
        for (const action of actions) {
          if (action.kind === "commit") step.commit(action.saved);
          else step.begin(action.pick, action.open);
          expect(keptOf(step.lineages, step.turns)).toEqual(step.kept);
          expect(isKept(step.lineages, step.turns + 1)).toBe(true);
        }
        if (step.lineages.length > 2 && step.kept.length < step.turns) abandoned += 1;
      }),
      { numRuns: 500 },
    );
    expect(abandoned).toBeGreaterThan(50);
  });
});

import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { turnKey } from "../../../src/core/turn/turn-key.ts";

describe("turnKey", () => {
  it("is the SHA-256 of run, step and turn, as the specification writes it", () => {
    expect(turnKey("q-1", "research", 3)).toBe(createHash("sha256").update("q-1:research:3").digest("hex"));
  });

  it("differs between turns, steps, iterations and runs", () => {
    const id = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,9}$/);
    const path = fc.stringMatching(/^[a-z]{1,5}(\[[0-9]\])?(\/[a-z]{1,5})?$/);
    const turn = fc.record({ runId: id, path, index: fc.nat(100) });
    fc.assert(
      fc.property(turn, turn, (a, b) => {
        const same = a.runId === b.runId && a.path === b.path && a.index === b.index;
        expect(turnKey(a.runId, a.path, a.index) === turnKey(b.runId, b.path, b.index)).toBe(same);
      }),
    );
  });
});

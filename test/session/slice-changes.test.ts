import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Json } from "../../src/core/json.ts";
import { defineSlice } from "../../src/session/slice.ts";
import { sliceChanges } from "../../src/session/slice-changes.ts";
import { EMPTY_STATE, type SessionState, SliceSet } from "../../src/session/slice-set.ts";
import type { SliceChange } from "../../src/store/store.ts";
import { audit, findings, found } from "./session-samples.ts";

const set = new SliceSet([findings, audit]);
const dispatched = (state: SessionState, ...events: readonly { readonly type: string }[]) =>
  events.reduce<SessionState>((before, event) => set.reduce(before, event), state);

/** What a store does with the changes. */
function applied(before: SessionState, changes: readonly SliceChange[]): SessionState {
  const after = new Map(before);
  for (const { name, length, items } of changes) {
    const values: Json[] = [...(before.get(name) ?? [])];
    for (const [index, value] of items) values[index] = value;
    values.length = length;
    if (length === 0) after.delete(name);
    else after.set(name, values);
  }
  return after;
}

describe("sliceChanges", () => {
  it("is empty if nothing changed", () => {
    const state = dispatched(EMPTY_STATE, found("a"));
    expect(sliceChanges(set, state, state)).toEqual([]);
    expect(sliceChanges(set, EMPTY_STATE, EMPTY_STATE)).toEqual([]);
  });

  it("names the slices that changed, with kind and version, and contains only what differs", () => {
    const before = dispatched(EMPTY_STATE, found("a"), found("b"), found("c"));
    const after = dispatched(before, found("b", 2));
    expect(sliceChanges(set, before, after)).toEqual([
      { name: "findings", kind: "state", version: 1, length: 3, items: [[1, { file: "b", score: 2 }]] },
      { name: "audit", kind: "log", version: 1, length: 4, items: [[3, "b"]] },
    ]);
  });

  it("leaves out a slice that no event touched", () => {
    const quiet = defineSlice({ name: "quiet", schema: z.string(), reducers: { Said: () => ["a"] } });
    const slices = new SliceSet([findings, audit, quiet]);
    const before = slices.reduce(dispatched(EMPTY_STATE, found("a")), { type: "Said" });
    const after = slices.reduce(before, found("b"));
    expect(sliceChanges(slices, before, after).map(({ name }) => name)).toEqual(["findings", "audit"]);
  });

  it("shows removed values by the length", () => {
    const before = dispatched(EMPTY_STATE, found("a"), found("b"));
    const after = dispatched(before, { type: "Cleared" });
    expect(sliceChanges(set, before, after)).toEqual([
      { name: "findings", kind: "state", version: 1, length: 0, items: [] },
      { name: "audit", kind: "log", version: 1, length: 3, items: [[2, "cleared"]] },
    ]);
  });

  it("writes a slice in full if its stored form is older, changed or not", () => {
    const state = dispatched(EMPTY_STATE, found("a"), found("b"));
    expect(sliceChanges(set, state, state, new Set(["findings"]))).toEqual([
      {
        name: "findings",
        kind: "state",
        version: 1,
        length: 2,
        items: [
          [0, { file: "a", score: 1 }],
          [1, { file: "b", score: 1 }],
        ],
      },
    ]);
    const after = dispatched(state, found("b", 2));
    const [first] = sliceChanges(set, state, after, new Set(["findings"]));
    expect(first?.items.map(([index]) => index)).toEqual([0, 1]);
  });

  it("applied to the previous state gives the present state", () => {
    const value = fc.oneof(
      fc.constantFrom("a", "b", "c"),
      fc.record({ file: fc.constantFrom("a", "b"), score: fc.nat(2) }),
    );
    const slice = (name: string) => defineSlice({ name, schema: z.unknown(), reducers: {} });
    const slices = new SliceSet(["x", "y", "z"].map(slice));
    const state = fc.dictionary(
      fc.constantFrom("x", "y", "z"),
      fc.array(value, { minLength: 1, maxLength: 6 }),
    );
    fc.assert(
      fc.property(state, state, fc.subarray(["x", "y", "z"]), (was, is, rewrite) => {
        const before: SessionState = new Map(Object.entries(was));
        const after: SessionState = new Map(Object.entries(is));
        const changes = sliceChanges(slices, before, after, new Set(rewrite));
        expect(applied(before, changes)).toEqual(after);
        expect(changes.map(({ name }) => name)).toEqual(expect.arrayContaining(rewrite));
      }),
    );
  });
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { SnapshotRestoreError } from "../../src/core/errors.ts";
import type { Json } from "../../src/core/json.ts";
import { defineSlice } from "../../src/session/slice.ts";
import { EMPTY_STATE, SliceSet, type StoredSlices } from "../../src/session/slice-set.ts";

const trail: string[] = [];
const note = (step: string, key: string) => (values: readonly Json[]) => {
  trail.push(step);
  return values.map((value) => ({ ...(value as object), [key]: step }));
};
const migrated = defineSlice({
  name: "notes",
  schema: z.object({ text: z.string(), a: z.string(), b: z.string() }),
  version: 3,
  migrations: { 2: note("to 2", "a"), 3: note("to 3", "b") },
});
const plain = defineSlice({
  name: "plain",
  schema: z.object({ text: z.string(), stars: z.number().default(3) }),
});

function restoring(slices: SliceSet, stored: StoredSlices): () => unknown {
  return () => slices.restore(stored);
}

function refusal(reason: string, slice: string): unknown {
  return expect.objectContaining({ details: { reason, slice } });
}

describe("restore", () => {
  it("restores stored values, parsed by the schema and frozen", () => {
    const state = new SliceSet([plain, migrated]).restore({ plain: { version: 1, values: [{ text: "a" }] } });
    expect(state).toEqual(new Map([["plain", [{ text: "a", stars: 3 }]]]));
    expect(Object.isFrozen(state.get("plain"))).toBe(true);
    expect(Object.isFrozen(state.get("plain")?.[0])).toBe(true);
  });

  it("returns the empty state for no slices, and for slices without values", () => {
    expect(new SliceSet([plain]).restore({})).toEqual(EMPTY_STATE);
    expect(new SliceSet([plain]).restore({ plain: { version: 1, values: [] } })).toEqual(EMPTY_STATE);
  });

  it("migrates from version 1 through 2 to 3", () => {
    trail.length = 0;
    const state = new SliceSet([migrated]).restore({ notes: { version: 1, values: [{ text: "x" }] } });
    expect(trail).toEqual(["to 2", "to 3"]);
    expect(state.get("notes")).toEqual([{ text: "x", a: "to 2", b: "to 3" }]);
  });

  it("runs only the migrations that are left", () => {
    trail.length = 0;
    const set = new SliceSet([migrated]);
    set.restore({ notes: { version: 2, values: [{ text: "x", a: "" }] } });
    expect(trail).toEqual(["to 3"]);
    set.restore({ notes: { version: 3, values: [{ text: "x", a: "", b: "" }] } });
    expect(trail).toEqual(["to 3"]);
  });

  it("lets a migration join and drop values", () => {
    const slice = defineSlice({
      name: "sum",
      schema: z.number(),
      version: 2,
      migrations: { 2: (values) => [values.reduce<number>((sum, value) => sum + Number(value), 0)] },
    });
    const state = new SliceSet([slice]).restore({ sum: { version: 1, values: [1, 2, 3] } });
    expect(state.get("sum")).toEqual([6]);
  });

  it("refuses a slice that the session does not have, names it, and says what to do", () => {
    const restore = restoring(new SliceSet([plain]), { gone: { version: 1, values: ["a"] } });
    expect(restore).toThrow(SnapshotRestoreError);
    expect(restore).toThrow(refusal("unknown_slice", "gone"));
    expect(restore).toThrow(/no slice "gone".*define it.*migration.*start fresh/);
  });

  it.each(["__proto__", "constructor", "toString"])("refuses the unknown slice %s", (name) => {
    const stored = Object.fromEntries([[name, { version: 1, values: [1] }]]);
    expect(restoring(new SliceSet([plain]), stored)).toThrow(refusal("unknown_slice", name));
  });

  it("refuses a version that is newer than the slice's", () => {
    const restore = restoring(new SliceSet([migrated]), { notes: { version: 4, values: [] } });
    expect(restore).toThrow(refusal("slice_version", "notes"));
    expect(restore).toThrow(/stored in version 4.*up to 3/);
  });

  it("refuses an older version that has no migration", () => {
    const fromTwoOn = defineSlice({
      name: "notes",
      schema: z.unknown(),
      version: 3,
      migrations: { 3: (values) => values },
    });
    const restore = restoring(new SliceSet([fromTwoOn]), { notes: { version: 1, values: [] } });
    expect(restore).toThrow(refusal("slice_version", "notes"));
    expect(restore).toThrow(/stored in version 1 and has no migration to 2/);
  });

  it.each<[string, () => readonly Json[], RegExp]>([
    [
      "throws",
      () => {
        throw new RangeError("boom");
      },
      /to version 2 failed: boom/,
    ],
    ["returns no array", () => undefined as never, /to version 2 failed: it returned no array/],
    ["returns a promise", () => Promise.resolve([]) as never, /to version 2 failed: it returned no array/],
  ])("refuses a migration that %s", (_what, migration, message) => {
    const slice = defineSlice({
      name: "notes",
      schema: z.unknown(),
      version: 2,
      migrations: { 2: migration },
    });
    const restore = restoring(new SliceSet([slice]), { notes: { version: 1, values: [1] } });
    expect(restore).toThrow(refusal("migration", "notes"));
    expect(restore).toThrow(message);
  });

  it("refuses a value that does not fit, with its path", () => {
    const restore = restoring(new SliceSet([plain]), {
      plain: { version: 1, values: [{ text: "a" }, { text: 7 }] },
    });
    expect(restore).toThrow(refusal("bad_value", "plain"));
    expect(restore).toThrow(/plain\.1\.text/);
  });

  it("refuses a migrated value that does not fit", () => {
    const slice = defineSlice({
      name: "notes",
      schema: z.string(),
      version: 2,
      migrations: { 2: () => [new Date(0) as never] },
    });
    const restore = restoring(new SliceSet([slice]), { notes: { version: 1, values: [] } });
    expect(restore).toThrow(refusal("bad_value", "notes"));
  });
});

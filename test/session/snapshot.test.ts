import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { SnapshotRestoreError } from "../../src/core/errors.ts";
import type { Json } from "../../src/core/json.ts";
import { Session } from "../../src/session/session.ts";
import { defineSlice } from "../../src/session/slice.ts";
import { SliceSet } from "../../src/session/slice-set.ts";
import { Snapshot } from "../../src/session/snapshot.ts";
import { audit, findings, found } from "./session-samples.ts";

function sampleSession(): Session {
  const session = new Session({
    id: "s-1",
    createdAt: 1_700_000_000_000,
    slices: [findings, audit],
    tags: { team: "red" },
  });
  session.dispatch(found("a.ts", 2));
  return session;
}

const document = (change: object = {}) => ({ ...sampleSession().snapshot().toJSON(), ...change });
const metadata = (change: object) =>
  document({ session: { ...sampleSession().snapshot().session, ...change } });

describe("a snapshot", () => {
  it("is versioned JSON of the state slices and the metadata: no logs, no events, no functions", () => {
    const session = sampleSession();
    session.child({ id: "s-1/child", createdAt: 5 });
    expect(JSON.parse(JSON.stringify(session.snapshot()))).toEqual({
      version: 1,
      session: {
        id: "s-1",
        createdAt: 1_700_000_000_000,
        tags: { team: "red" },
        parent: null,
        children: ["s-1/child"],
      },
      slices: { findings: { version: 1, values: [{ file: "a.ts", score: 2 }] } },
    });
  });

  it("names the parent of a child", () => {
    const child = sampleSession().child({ id: "s-2", createdAt: 5 });
    expect(child.snapshot().session.parent).toBe("s-1");
  });

  it("does not change when the session does", () => {
    const session = sampleSession();
    const snapshot = session.snapshot();
    const text = JSON.stringify(snapshot);
    session.dispatch(found("b.ts"));
    session.child({ id: "s-2", createdAt: 5 });
    session.reset();
    expect(JSON.stringify(snapshot)).toBe(text);
  });

  it("can be taken of a state other than the present one", () => {
    const session = sampleSession();
    const state = session.slices.reduce(session.state, found("b.ts", 3));
    expect(session.snapshot(state).slices.findings?.values).toHaveLength(2);
    expect(session.snapshot().slices.findings?.values).toHaveLength(1);
  });

  it("cannot be changed", () => {
    const { session, slices } = Snapshot.fromJSON(document());
    const values = slices.findings?.values ?? [];
    expect(() => Object.assign(session.tags, { team: "blue" })).toThrow(TypeError);
    expect(() => Object.assign(slices, { more: 1 })).toThrow(TypeError);
    expect(() => (values as Json[]).push(1)).toThrow(TypeError);
    expect(() => Object.assign(values[0] as object, { score: 9 })).toThrow(TypeError);
  });

  it("is read from its text or from its parsed JSON, and ignores unknown fields", () => {
    const text = JSON.stringify(document({ cursor: { lastToolCall: "c-7" } }));
    for (const json of [text, JSON.parse(text)]) {
      const snapshot = Snapshot.fromJSON(json);
      expect(snapshot).toBeInstanceOf(Snapshot);
      expect(snapshot.toJSON()).toEqual(document());
    }
  });

  it("is restored exactly, whatever the session held", () => {
    const word = fc.string({ unit: "grapheme" });
    const name = fc.oneof(
      fc.stringMatching(/^[A-Za-z][\w.-]{0,9}$/),
      fc.constantFrom("constructor", "toString"),
    );
    const value = fc.jsonValue({
      stringUnit: "grapheme",
      noUnicodeString: false,
    } as never) as fc.Arbitrary<Json>;
    const values = fc.array(fc.oneof(value, fc.constant(JSON.parse('{"__proto__":{"a":1}}') as Json)), {
      minLength: 1,
      maxLength: 4,
    });
    const tags = fc.dictionary(fc.oneof(word, fc.constant("__proto__")), word);
    const slices = fc.uniqueArray(
      fc.record({
        name,
        version: fc.integer({ min: 1, max: 9 }),
        kind: fc.constantFrom("state", "log"),
        values,
      }),
      { selector: (slice) => slice.name, maxLength: 5 },
    );
    fc.assert(
      fc.property(word, fc.nat(), tags, slices, (id, createdAt, tag, given) => {
        const set = new SliceSet(
          given.map(({ values: list, ...rest }) =>
            defineSlice({ ...rest, schema: z.unknown(), reducers: { Filled: () => list } }),
          ),
          ["Filled"],
        );
        const session = new Session({ id: `s${id}`, createdAt, tags: tag, slices: set });
        session.dispatch({ type: "Filled" });
        const text = JSON.stringify(session.snapshot());
        const read = Snapshot.fromJSON(text);
        expect(JSON.stringify(read)).toBe(text);
        expect(Object.keys(read.slices)).toEqual(Object.keys(session.snapshot().slices));
        expect(read.session).toEqual(session.snapshot().session);

        const other = new Session({ id: "other", createdAt: 0, slices: set });
        other.rollback(read);
        const states = [...session.state].filter(([key]) => set.get(key)?.kind === "state");
        expect([...other.state]).toEqual(states);
        // `toEqual` does not see the order of keys, or a key called "__proto__".
        expect(JSON.stringify([...other.state])).toBe(JSON.stringify(states));
        expect(JSON.stringify(other.tags)).toBe(JSON.stringify(session.tags));
      }),
    );
  });

  it("keeps a slice and a tag named __proto__ apart from the prototype", () => {
    const text = JSON.stringify(document())
      .replace('"findings":', '"__proto__":')
      .replace('"team":', '"__proto__":');
    const snapshot = Snapshot.fromJSON(text);
    expect(Object.keys(snapshot.slices)).toEqual(["__proto__"]);
    expect(Object.keys(snapshot.session.tags)).toEqual(["__proto__"]);
    expect(JSON.stringify(snapshot)).toBe(text);
  });
});

describe("Snapshot.fromJSON refuses", () => {
  it.each<[string, unknown]>([
    ["a text that is not JSON", '{"version":1,'],
    ["an empty text", ""],
    ["a list", []],
    ["null", "null"],
    ["a number", 7],
    ["nothing", undefined],
    ["an object that is not JSON", document({ slices: new Map() })],
    ["a lone surrogate", '{"version":1,"session":"\\ud800"}'],
    ["no version", document({ version: null })],
    ["an invalid version", document({ version: "1" })],
    ["no session", document({ session: null })],
    ["no slices", document({ slices: null })],
    ["slices in a list", document({ slices: [] })],
    ["a slice that is not an object", document({ slices: { a: [] } })],
    ["a slice without a version", document({ slices: { a: { values: [] } } })],
    ["a slice without values", document({ slices: { a: { version: 1 } } })],
    ["values that are not a list", document({ slices: { a: { version: 1, values: {} } } })],
    ["a session without an id", metadata({ id: 7 })],
    ["a session without a time", metadata({ createdAt: "yesterday" })],
    ["tags that are not strings", metadata({ tags: { a: 1 } })],
    ["tags in a list", metadata({ tags: [] })],
    ["a parent that is not a string", metadata({ parent: 7 })],
    ["children that are not strings", metadata({ children: [7] })],
    ["children that are not a list", metadata({ children: "s-2" })],
  ])("%s", (_what, json) => {
    const read = () => Snapshot.fromJSON(json);
    expect(read).toThrow(SnapshotRestoreError);
    expect(read).toThrow(expect.objectContaining({ details: { reason: "bad_json", slice: null } }));
    expect(read).toThrow(/^The snapshot cannot be read: .*start fresh\.$/);
  });

  it("a newer version, and says which version it reads", () => {
    const read = () => Snapshot.fromJSON(document({ version: 2 }));
    expect(read).toThrow(SnapshotRestoreError);
    expect(read).toThrow(expect.objectContaining({ details: { reason: "version", slice: null } }));
    expect(read).toThrow(/of version 2, and this program reads version 1/);
  });
});

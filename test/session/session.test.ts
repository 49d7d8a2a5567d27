import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, SliceValueError, SnapshotRestoreError } from "../../src/core/errors.ts";
import { Session } from "../../src/session/session.ts";
import { append, defineSlice, type Slice } from "../../src/session/slice.ts";
import { EMPTY_STATE, SliceSet } from "../../src/session/slice-set.ts";
import { Snapshot } from "../../src/session/snapshot.ts";
import { audit, findings, found } from "./session-samples.ts";

function newSession(options: Partial<ConstructorParameters<typeof Session>[0]> = {}): Session {
  return new Session({ id: "s-1", createdAt: 7, slices: [findings, audit], ...options });
}

describe("a session", () => {
  it("has its id and the time of its creation", () => {
    const session = newSession({ tags: { team: "red" } });
    expect(session).toMatchObject({
      id: "s-1",
      createdAt: 7,
      tags: { team: "red" },
      parent: null,
      children: [],
    });
    expect(session.state).toEqual(EMPTY_STATE);
  });

  it("keeps its tags when the object they came from changes", () => {
    const tags = { team: "red" };
    const session = newSession({ tags });
    tags.team = "blue";
    expect(session.tags).toEqual({ team: "red" });
  });

  it.each<[string, object]>([
    ["an empty id", { id: "" }],
    ["no id", { id: undefined }],
    ["no time", { createdAt: undefined }],
    ["an invalid time", { createdAt: Number.NaN }],
    ["a tag that is not a string", { tags: { team: 7 } }],
  ])("refuses %s", (_what, options) => {
    expect(() => newSession(options)).toThrow(ConfigurationError);
  });

  it("begins with the given state", () => {
    const state = newSession().slices.restore({
      findings: { version: 1, values: [{ file: "a", score: 1 }] },
    });
    expect(newSession({ state }).query(findings).latest()).toEqual({ file: "a", score: 1 });
  });

  it("can share a set of slices with others", () => {
    const slices = new SliceSet([findings]);
    const [one, two] = [newSession({ slices }), newSession({ slices })];
    one.dispatch(found("a"));
    expect(two.query(findings).all()).toEqual([]);
    expect(one.slices).toBe(slices);
  });

  it("takes events that have only a name", () => {
    const session = newSession({ eventTypes: ["Pinged"] });
    session.dispatch({ type: "Pinged" });
    expect(session.state).toBe(EMPTY_STATE);
    expect(() => session.dispatch({ type: "Ponged" })).toThrow(ConfigurationError);
  });
});

describe("query", () => {
  const session = newSession();
  session.dispatch(found("a", 1));
  session.dispatch(found("b", 5));
  session.dispatch(found("a", 3));

  it("reads the latest value, all values, and those that match a predicate", () => {
    expect(session.query(findings).latest()).toEqual({ file: "b", score: 5 });
    expect(session.query(findings).all()).toEqual([
      { file: "a", score: 3 },
      { file: "b", score: 5 },
    ]);
    expect(session.query(findings).where(({ score }) => score < 4)).toEqual([{ file: "a", score: 3 }]);
    expect(session.query(audit).all()).toEqual(["a", "b", "a"]);
  });

  it("is null and empty if there is nothing", () => {
    const query = newSession().query(findings);
    expect([query.latest(), query.all(), query.where(() => true)]).toEqual([null, [], []]);
  });

  it("sees changes made after it was created", () => {
    const growing = newSession();
    const query = growing.query(findings);
    growing.dispatch(found("a"));
    expect(query.all()).toHaveLength(1);
  });

  it("knows the type of the values", () => {
    expectTypeOf(session.query(findings).latest()).toEqualTypeOf<{ file: string; score: number } | null>();
    expectTypeOf(session.query(audit).all()).toEqualTypeOf<readonly string[]>();
  });

  it("refuses a slice that the session does not have, and says what to do", () => {
    const other = defineSlice({ name: "other", schema: z.string() });
    expect(() => session.query(other)).toThrow(ConfigurationError);
    expect(() => session.query(other)).toThrow(/no slice other: register it/);
    const namesake = defineSlice({ name: "audit", schema: z.number() });
    expect(() => session.query(namesake)).toThrow(/slice audit is another one/);
  });
});

describe("dispatch", () => {
  it("changes nothing if a value does not fit", () => {
    const session = newSession();
    const before = session.state;
    expect(() => session.dispatch({ type: "Found", file: "a", score: "high" })).toThrow(SliceValueError);
    expect(session.state).toBe(before);
  });

  it("is refused inside a reducer, as is every other change", () => {
    const tried: unknown[] = [];
    const meddling: Slice<string> = defineSlice<string>({
      name: "meddling",
      schema: z.string(),
      reducers: {
        Meddled: (values) => {
          for (const change of [
            () => session.dispatch(found("a")),
            () => session.reset(),
            () => session.adopt(EMPTY_STATE),
            () => session.rollback(session.snapshot()),
          ]) {
            try {
              change();
            } catch (error) {
              tried.push(error);
            }
          }
          return [...values, "done"];
        },
      },
    });
    const session = newSession({ slices: [meddling, findings, audit] });
    session.dispatch({ type: "Meddled" });
    expect(tried).toHaveLength(4);
    for (const error of tried) expect(error).toBeInstanceOf(ConfigurationError);
    expect(session.query(meddling).all()).toEqual(["done"]);
    expect(session.query(findings).all()).toEqual([]);
  });

  it("fails if a reducer swallows the refusal", () => {
    const meddling: Slice<string> = defineSlice<string>({
      name: "meddling",
      schema: z.string(),
      reducers: {
        Meddled: (values) => {
          session.dispatch(found("a"));
          return values;
        },
      },
    });
    const session = newSession({ slices: [meddling, findings, audit] });
    expect(() => session.dispatch({ type: "Meddled" })).toThrow(/A reducer tried to change session s-1/);
    session.dispatch(found("b"));
    expect(session.query(findings).all()).toHaveLength(1);
  });
});

describe("rollback", () => {
  it("restores state slices, empties those that were empty, and leaves logs as they are", () => {
    const later = defineSlice({ name: "later", schema: z.string(), reducers: { Said: append(() => "a") } });
    const session = newSession({ slices: [findings, audit, later] });
    session.dispatch(found("a"));
    const snapshot = session.snapshot();
    session.dispatch(found("b"));
    session.dispatch({ type: "Said" });
    session.rollback(snapshot);
    expect(session.query(findings).all()).toEqual([{ file: "a", score: 1 }]);
    expect(session.query(later).all()).toEqual([]);
    expect(session.query(audit).all()).toEqual(["a", "b"]);
  });

  it("reports no change for values that are the same", () => {
    const session = newSession();
    session.dispatch(found("a"));
    session.dispatch(found("b"));
    const [a] = session.query(findings).all();
    const snapshot = session.snapshot();
    session.dispatch(found("b", 2));
    session.rollback(snapshot);
    expect(session.query(findings).all()[0]).toBe(a);
  });

  it("restores tags and the names of children, in another process too", () => {
    const first = newSession({ tags: { team: "red" } });
    first.child({ id: "c-1", createdAt: 8 });
    const second = newSession({ tags: { team: "blue", new: "yes" } });
    second.child({ id: "c-2", createdAt: 9 });
    second.rollback(Snapshot.fromJSON(JSON.stringify(first.snapshot())));
    expect(second.tags).toEqual({ team: "red" });
    expect(second.children).toEqual(["c-1", "c-2"]);
  });

  it("changes everything or nothing", () => {
    const session = newSession({ tags: { team: "red" } });
    session.dispatch(found("a"));
    const before = session.state;
    const other = newSession({ tags: { team: "blue" } }).snapshot();
    const bad = new Snapshot(other.session, {
      findings: { version: 1, values: [] },
      gone: { version: 1, values: ["x"] },
    });
    expect(() => session.rollback(bad)).toThrow(SnapshotRestoreError);
    expect(session.state).toBe(before);
    expect(session.tags).toEqual({ team: "red" });
  });

  it("can be computed without taking effect", () => {
    const session = newSession();
    const snapshot = session.snapshot();
    session.dispatch(found("a"));
    const before = session.state;
    expect(session.restored(snapshot)).toEqual(new Map([["audit", ["a"]]]));
    expect(session.state).toBe(before);
  });
});

describe("reset", () => {
  it("empties every slice, including logs", () => {
    const session = newSession();
    session.dispatch(found("a"));
    session.reset();
    expect(session.state).toEqual(EMPTY_STATE);
  });
});

describe("a child", () => {
  it("names its parent, is named by it, and has its own state", () => {
    const parent = newSession();
    parent.dispatch(found("a"));
    const child = parent.child({ id: "c-1", createdAt: 8, tags: { part: "one" } });
    expect(child).toMatchObject({ id: "c-1", parent: "s-1", tags: { part: "one" } });
    expect(parent.children).toEqual(["c-1"]);
    expect(child.query(findings).all()).toEqual([]);
    child.dispatch(found("b"));
    expect(parent.query(findings).all()).toHaveLength(1);
  });

  it("may have other slices", () => {
    const notes = defineSlice({ name: "notes", schema: z.string() });
    expect(newSession().child({ id: "c-1", createdAt: 8, slices: [notes] }).slices.names).toEqual(["notes"]);
  });

  it("cannot have the id of another one", () => {
    const parent = newSession();
    parent.child({ id: "c-1", createdAt: 8 });
    expect(() => parent.child({ id: "c-1", createdAt: 9 })).toThrow(ConfigurationError);
  });
});

describe("a closed session", () => {
  it("takes no more changes, and can still be read", () => {
    const session = newSession();
    session.dispatch(found("a"));
    const snapshot = session.snapshot();
    session.close();
    session.close();
    for (const change of [
      () => session.dispatch(found("b")),
      () => session.rollback(snapshot),
      () => session.reset(),
      () => session.adopt(EMPTY_STATE),
      () => session.observe(findings, () => undefined),
      () => session.child({ id: "c-1", createdAt: 8 }),
      () => session.bus.subscribe("TurnCommitted", () => undefined),
    ])
      expect(change).toThrow(ConfigurationError);
    expect(session.query(findings).all()).toHaveLength(1);
    expect(session.snapshot()).toEqual(snapshot);
  });

  it("closes its children and theirs", () => {
    const session = newSession();
    const child = session.child({ id: "c-1", createdAt: 8 });
    const grandchild = child.child({ id: "c-2", createdAt: 9 });
    session.close();
    expect(() => child.dispatch(found("a"))).toThrow(/c-1 is closed/);
    expect(() => grandchild.dispatch(found("a"))).toThrow(/c-2 is closed/);
  });

  it("does not close its parent", () => {
    const session = newSession();
    session.child({ id: "c-1", createdAt: 8 }).close();
    session.dispatch(found("a"));
    expect(session.children).toEqual(["c-1"]);
  });
});

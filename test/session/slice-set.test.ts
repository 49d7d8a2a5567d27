import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, NotJsonError, SliceValueError } from "../../src/core/errors.ts";
import type { SessionEvent } from "../../src/core/session-event.ts";
import { append, defineSlice, replaceLatest, type Slice } from "../../src/session/slice.ts";
import { EMPTY_STATE, type SessionState, SliceSet } from "../../src/session/slice-set.ts";

const notes = defineSlice({
  name: "notes",
  schema: z.object({ text: z.string(), stars: z.number().default(0) }),
  reducers: {
    Noted: append(({ text }: { type: "Noted"; text: string }) => ({ text, stars: 0 })),
    Sorted: (values) => values.toSorted((a, b) => (a.text < b.text ? -1 : 1)),
    Filtered: (values, { text }: { type: "Filtered"; text: string }) =>
      values.filter((note) => note.text !== text),
  },
});
const title = defineSlice({
  name: "title",
  schema: z.string().max(5),
  reducers: { Noted: replaceLatest(({ text }: { type: "Noted"; text: string }) => text) },
});
const set = new SliceSet([notes, title], ["Pinged"]);

function after(slices: SliceSet, ...events: readonly SessionEvent[]): SessionState {
  return events.reduce((state, event) => slices.reduce(state, event), EMPTY_STATE);
}

const noted = (text: string) => ({ type: "Noted", text });

/** A slice with one reducer, to test what a reducer may return. */
function returning(value: unknown, schema: z.ZodType = z.unknown()): SliceSet {
  const slice = defineSlice({ name: "odd", schema, reducers: { Happened: () => value as never } });
  return new SliceSet([slice]);
}
const happened = { type: "Happened" };

describe("a set of slices", () => {
  it("has its slices by name, in order", () => {
    expect(set.names).toEqual(["notes", "title"]);
    expect([...set]).toEqual([notes, title]);
    expect(set.get("title")).toBe(title);
    expect(set.get("toString")).toBeUndefined();
    expect(set.eventTypes).toEqual(["Noted", "Sorted", "Filtered", "Pinged"]);
  });

  it("takes the same slice twice, and counts it once", () => {
    const twice = new SliceSet([notes, notes]);
    expect(twice.names).toEqual(["notes"]);
    expect(after(twice, noted("a")).get("notes")).toHaveLength(1);
  });

  it("refuses two slices with the same name, and an object that is not a slice", () => {
    const other = defineSlice({ name: "notes", schema: z.string() });
    expect(() => new SliceSet([notes, other])).toThrow(ConfigurationError);
    expect(() => new SliceSet([notes, other])).toThrow(/Two slices are named notes/);
    for (const odd of [null, "plan", {}, z.string()])
      expect(() => new SliceSet([odd as unknown as Slice])).toThrow(/make it with defineSlice/);
  });
});

describe("reduce", () => {
  it("passes an event to every slice that has a reducer for it", () => {
    const state = after(set, noted("a"), noted("b"));
    expect(state).toEqual(
      new Map<string, unknown>([
        [
          "notes",
          [
            { text: "a", stars: 0 },
            { text: "b", stars: 0 },
          ],
        ],
        ["title", ["b"]],
      ]),
    );
  });

  it("leaves the given state unchanged", () => {
    const before = after(set, noted("a"));
    const copy = structuredClone(before);
    set.reduce(before, noted("b"));
    expect(before).toEqual(copy);
  });

  it("returns the same state if nothing changed", () => {
    const state = after(set, noted("a"), noted("b"));
    expect(set.reduce(state, { type: "Pinged" })).toBe(state);
    expect(set.reduce(state, { type: "Sorted" })).toBe(state);
    expect(set.reduce(state, { type: "Filtered", text: "z" })).toBe(state);
    expect(set.reduce(EMPTY_STATE, { type: "Sorted" })).toBe(EMPTY_STATE);
  });

  it("keeps the identity of slices that an event does not touch, and of values that a reducer passes on", () => {
    const before = after(set, noted("b"), noted("a"));
    const sorted = set.reduce(before, { type: "Sorted" });
    expect(sorted.get("title")).toBe(before.get("title"));
    const [b, a] = before.get("notes") ?? [];
    expect(sorted.get("notes")?.[0]).toBe(a);
    expect(sorted.get("notes")?.[1]).toBe(b);
  });

  it("fills in defaults, and parses values with the schema", () => {
    const slices = returning(
      [{ text: " a ", extra: true }],
      z.object({ text: z.string().trim(), n: z.number().default(7) }),
    );
    expect(after(slices, happened).get("odd")).toEqual([{ text: "a", n: 7 }]);
  });

  it("keeps copies that cannot be changed", () => {
    const kept = { steps: [{ title: "a" }] };
    const state = after(returning([kept]), happened);
    kept.steps.push({ title: "b" });
    const values = state.get("odd");
    expect(values).toEqual([{ steps: [{ title: "a" }] }]);
    const [value] = values as unknown as [{ steps: { title: string }[] }];
    expect(() => value.steps.push({ title: "c" })).toThrow(TypeError);
    expect(() => Object.assign(value.steps[0] ?? {}, { title: "c" })).toThrow(TypeError);
    expect(() => (values as unknown[]).push(1)).toThrow(TypeError);
  });

  it("passes values and events that a reducer cannot change", () => {
    const meddling = defineSlice({
      name: "meddling",
      schema: z.object({ n: z.number() }),
      reducers: {
        Added: append(() => ({ n: 1 })),
        Pushed: (values) => {
          (values as unknown[]).push({ n: 2 });
          return values;
        },
        Assigned: (values) => {
          Object.assign(values[0] ?? {}, { n: 2 });
          return values;
        },
        Bent: (values, event) => {
          Object.assign(event, { type: "Added" });
          return values;
        },
      },
    });
    const slices = new SliceSet([meddling]);
    const state = after(slices, { type: "Added" });
    for (const type of ["Pushed", "Assigned", "Bent"])
      expect(() => slices.reduce(state, { type })).toThrow(TypeError);
    expect(state.get("meddling")).toEqual([{ n: 1 }]);
  });

  it("does not check a value again that it has already accepted", () => {
    let checks = 0;
    const counted = defineSlice({
      name: "counted",
      schema: z.object({ n: z.number() }).refine(() => ++checks > 0),
      reducers: {
        Added: append(({ n }: { type: "Added"; n: number }) => ({ n })),
        Turned: (values) => values.toReversed(),
      },
    });
    const slices = new SliceSet([counted]);
    const state = after(slices, { type: "Added", n: 1 }, { type: "Added", n: 2 });
    expect(checks).toBe(2);
    expect(slices.reduce(state, { type: "Turned" }).get("counted")).toEqual([{ n: 2 }, { n: 1 }]);
    expect(checks).toBe(2);
  });

  it("checks a value that another slice has accepted", () => {
    const loose = defineSlice({
      name: "loose",
      schema: z.unknown(),
      reducers: { Put: append(() => ({ n: "1" })) },
    });
    const state = after(new SliceSet([loose]), { type: "Put" });
    const strict = returning(state.get("loose"), z.object({ n: z.number() }));
    expect(() => strict.reduce(EMPTY_STATE, happened)).toThrow(SliceValueError);
  });

  it("drops a slice that has no values left", () => {
    const state = set.reduce(after(set, noted("a")), { type: "Filtered", text: "a" });
    expect([...state.keys()]).toEqual(["title"]);
  });

  it("works with event types and slice names that objects inherit", () => {
    const constructor = defineSlice({
      name: "constructor",
      schema: z.string(),
      reducers: { toString: append(() => "a"), ["__proto__"]: append(() => "b") },
    });
    const slices = new SliceSet([constructor]);
    const events = [{ type: "toString" }, { type: "__proto__" }];
    expect(after(slices, ...events).get("constructor")).toEqual(["a", "b"]);
    expect(() => slices.reduce(EMPTY_STATE, { type: "hasOwnProperty" })).toThrow(ConfigurationError);
  });

  it("returns the same state for the same events, whatever the states between them", () => {
    const event = fc.oneof(
      fc.record({ type: fc.constant("Noted"), text: fc.string({ maxLength: 5, unit: "grapheme-ascii" }) }),
      fc.constant({ type: "Sorted" }),
      fc.record({ type: fc.constant("Filtered"), text: fc.string({ maxLength: 2 }) }),
    );
    fc.assert(
      fc.property(fc.array(event), (events) => {
        expect(after(set, ...events)).toEqual(after(set, ...structuredClone(events)));
      }),
    );
  });
});

describe("reduce refuses, and changes nothing", () => {
  it("an event that is not JSON, with the path", () => {
    const event = { type: "Noted", text: "a", at: { when: new Date(0) } };
    expect(() => set.reduce(EMPTY_STATE, event as never)).toThrow(NotJsonError);
    expect(() => set.reduce(EMPTY_STATE, event as never)).toThrow(/\$\.at\.when is a Date/);
    expect(() => set.reduce(EMPTY_STATE, { type: "Noted", text: undefined } as never)).toThrow(NotJsonError);
  });

  it.each([["Noted"], [null], [[]], [{}], [{ type: 7 }]])("an event without a type: %j", (event) => {
    expect(() => set.reduce(EMPTY_STATE, event as never)).toThrow(ConfigurationError);
    expect(() => set.reduce(EMPTY_STATE, event as never)).toThrow(/needs a "type"/);
  });

  it("an unknown event, and lists the known ones", () => {
    expect(() => set.reduce(EMPTY_STATE, { type: "Note" })).toThrow(ConfigurationError);
    expect(() => set.reduce(EMPTY_STATE, { type: "Note" })).toThrow(
      'The session knows no event "Note" (it knows Filtered, Noted, Pinged, Sorted)',
    );
    expect(() => new SliceSet([]).reduce(EMPTY_STATE, { type: "Note" })).toThrow(/it knows none/);
  });

  it("a value that does not fit, even if another slice would take the event", () => {
    const state = after(set, noted("a"));
    expect(() => set.reduce(state, noted("too long"))).toThrow(SliceValueError);
    expect(state.get("notes")).toHaveLength(1);
    expect(set.reduce(state, noted("b")).get("notes")).toHaveLength(2);
  });

  it.each<[string, unknown, z.ZodType]>([
    [
      "odd.steps.0.title",
      [{ steps: [{ title: 7 }] }],
      z.object({ steps: z.array(z.object({ title: z.string() })) }),
    ],
    ["odd.1.a", [{ a: "x" }, { a: 7 }], z.object({ a: z.string() })],
    ["odd", [7], z.string()],
    ["odd.1", ["a", 7], z.string()],
    ["odd.at[0]", [{ at: [new Date(0)] }], z.unknown()],
    ["odd", [Number.NaN], z.unknown()],
    ["odd", [undefined], z.unknown()],
    ["odd.0", Object.assign([], { 1: 1 }), z.unknown()],
  ])("with the path %s", (path, values, schema) => {
    const refused = () => returning(values, schema).reduce(EMPTY_STATE, happened);
    expect(refused).toThrow(SliceValueError);
    expect(refused).toThrow(expect.objectContaining({ details: { slice: "odd", path } }));
    expect(refused).toThrow(`slice odd a value that does not fit: ${path}`);
  });

  it("a cyclic value", () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => returning([circle]).reduce(EMPTY_STATE, happened)).toThrow(SliceValueError);
  });

  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a promise", Promise.resolve([])],
    ["an object", {}],
    ["a string", "values"],
  ])("a reducer that returns %s", (what, value) => {
    const refused = () => returning(value).reduce(EMPTY_STATE, happened);
    expect(refused).toThrow(ConfigurationError);
    expect(refused).toThrow(`The reducer of slice odd for Happened returned ${what}`);
  });

  it("an asynchronous schema", () => {
    const slow = returning(
      ["a"],
      z.string().refine(async () => true),
    );
    expect(() => slow.reduce(EMPTY_STATE, happened)).toThrow(ConfigurationError);
    expect(() => slow.reduce(EMPTY_STATE, happened)).toThrow(/is asynchronous, and a dispatch cannot wait/);
  });

  it("and rethrows what a reducer throws, and keeps working afterwards", () => {
    const error = new RangeError("boom");
    let fails = true;
    const shaky = defineSlice({
      name: "shaky",
      schema: z.string(),
      reducers: {
        Noted: (values) => {
          if (fails) throw error;
          return values;
        },
      },
    });
    const slices = new SliceSet([notes, shaky]);
    expect(() => slices.reduce(EMPTY_STATE, noted("a"))).toThrow(error);
    fails = false;
    expect(slices.reduce(EMPTY_STATE, noted("a")).get("notes")).toHaveLength(1);
  });
});

describe("a value is kept as JSON would keep it", () => {
  it("with only one zero", () => {
    const [value] = after(returning([{ a: [-0] }]), happened).get("odd") ?? [];
    expect(value).toStrictEqual({ a: [0] });
  });

  it("without a property that is undefined", () => {
    const slices = returning([{ a: 1, b: undefined }], z.object({ a: z.number(), b: z.string().optional() }));
    const [value] = after(slices, happened).get("odd") ?? [];
    expect(Object.keys(value as object)).toEqual(["a"]);
  });
});

import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { ConfigurationError } from "../../src/core/errors.ts";
import type { Json } from "../../src/core/json.ts";
import { append, defineSlice, replaceLatest, type Slice, upsertBy } from "../../src/session/slice.ts";

const text = z.string();

describe("defineSlice", () => {
  it("makes a state slice of version 1 by default", () => {
    expect(defineSlice({ name: "notes", schema: text })).toEqual({
      name: "notes",
      kind: "state",
      version: 1,
      schema: text,
      reducers: {},
      migrations: {},
    });
    expect(defineSlice({ name: "audit", schema: text, kind: "log", version: 4 })).toMatchObject({
      kind: "log",
      version: 4,
    });
  });

  it("is not affected by later changes to its definition", () => {
    const reducers = { Added: append<string>(() => "a") };
    const slice = defineSlice({ name: "notes", schema: text, reducers });
    Object.assign(reducers, { Removed: () => [] });
    expect(Object.keys(slice.reducers)).toEqual(["Added"]);
  });

  it.each([[""], ["a b"], ["a/b"], ["_a"], ["__proto__"], ["1a"], ["a".repeat(101)], [undefined], [7]])(
    "refuses the name %j",
    (name) => {
      expect(() => defineSlice({ name: name as string, schema: text })).toThrow(ConfigurationError);
      expect(() => defineSlice({ name: name as string, schema: text })).toThrow(/cannot name a slice/);
    },
  );

  it("takes letters, digits, dots, dashes and underscores in a name", () => {
    for (const name of ["a", "AnalysisResult", "my_slice-2.x", "a".repeat(100)])
      expect(defineSlice({ name, schema: text }).name).toBe(name);
  });

  it.each([[undefined], [null], [{}], ["string"], [() => true]])(
    "refuses %j, which is not a zod schema",
    (schema) => {
      expect(() => defineSlice({ name: "notes", schema: schema as never })).toThrow(
        /notes needs a zod schema/,
      );
    },
  );

  it.each<[string, z.ZodType]>([
    ["a date", z.object({ at: z.date() })],
    ["a date made of something else", z.coerce.date()],
    ["a map", z.map(z.string(), z.string())],
    ["a set", z.set(z.string())],
    ["a BigInt", z.bigint()],
    ["undefined", z.undefined()],
    ["a class", z.instanceof(Error)],
    ["a transform", z.string().transform((value) => value.length)],
    ["a transform with a schema after it", z.string().transform(Number).pipe(z.number())],
    ["a transform before the schema", z.preprocess(String, z.string())],
    ["a transform deep inside", z.object({ a: z.array(z.object({ b: z.string().transform(Number) })) })],
    [
      "a transform inside the first half of a pipe",
      z.object({ a: z.preprocess(String, z.string()) }).pipe(z.object({ a: z.string() })),
    ],
    ["a codec", z.stringbool()],
    ["a promise", z.promise(z.string())],
    ["a file", z.file()],
  ])("refuses %s, which has no JSON form", (_what, schema) => {
    expect(() => defineSlice({ name: "notes", schema })).toThrow(ConfigurationError);
    expect(() => defineSlice({ name: "notes", schema })).toThrow(
      /The schema of slice notes has no JSON form/,
    );
  });

  it("takes everything that JSON has, including defaults, unions, records, checks, trimming and recursion", () => {
    type Tree = { name: string; children: Tree[] };
    const tree: z.ZodType<Tree> = z.lazy(() => z.object({ name: z.string(), children: z.array(tree) }));
    const schemas = [
      z.object({ a: z.string().trim().min(1).default("x"), b: z.number().optional() }),
      z.discriminatedUnion("kind", [z.object({ kind: z.literal("a") }), z.object({ kind: z.literal("b") })]),
      z.record(z.string(), z.number()),
      z.string().pipe(z.email()),
      z.string().refine((value) => value !== "no"),
      z.object({ a: z.string() }).readonly(),
      z.unknown(),
      tree,
    ];
    for (const schema of schemas) expect(defineSlice({ name: "notes", schema }).schema).toBe(schema);
  });

  it.each([[0], [-1], [1.5], [Number.NaN], ["1"]])("refuses the version %j", (version) => {
    const make = () => defineSlice({ name: "notes", schema: text, version: version as number });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/whole number from 1/);
  });

  it("refuses an unknown kind, and a reducer that is not a function", () => {
    expect(() => defineSlice({ name: "notes", schema: text, kind: "diary" as never })).toThrow(
      /"state" or "log"/,
    );
    const reducers = { Added: "append" as never };
    expect(() => defineSlice({ name: "notes", schema: text, reducers })).toThrow(
      /reducer of slice notes for Added is not a function/,
    );
  });

  describe("with migrations", () => {
    const same = (values: readonly Json[]) => values;
    const migrating = (version: number, targets: readonly number[]) =>
      defineSlice({
        name: "notes",
        schema: text,
        version,
        migrations: Object.fromEntries(targets.map((target) => [target, same])),
      });

    it.each([
      [1, []],
      [3, []],
      [3, [2, 3]],
      [3, [3]],
      [5, [4, 5]],
    ])("takes version %j with migrations to %j", (version, targets) => {
      expect(Object.keys(migrating(version, targets).migrations).map(Number)).toEqual(targets);
    });

    it.each([
      [3, [2], 3],
      [4, [2, 4], 3],
      [5, [3], 4],
    ])("refuses version %j with migrations to %j: the one to %j is missing", (version, targets, missing) => {
      expect(() => migrating(version, targets)).toThrow(ConfigurationError);
      expect(() => migrating(version, targets)).toThrow(
        `Slice notes has no migration to version ${missing}: give one, or none of those before it.`,
      );
    });

    it.each([
      [1, [1]],
      [2, [1, 2]],
      [2, [2, 3]],
      [2, [1.5]],
    ])("refuses version %j with migrations to %j: one leads nowhere", (version, targets) => {
      expect(() => migrating(version, targets)).toThrow(/versions go from 1 to/);
    });
  });
});

describe("the built-in reducers", () => {
  type Note = { id: number; text: string };
  const event = { type: "Noted", id: 2, text: "new" };
  const note = ({ id, text: words }: { type: string; id: number; text: string }): Note => ({
    id,
    text: words,
  });
  const one = { id: 1, text: "one" };
  const two = { id: 2, text: "two" };
  const three = { id: 3, text: "three" };

  it("append adds at the end", () => {
    expect(append(note)([one], event)).toEqual([one, { id: 2, text: "new" }]);
  });

  it("replaceLatest leaves only that value", () => {
    expect(replaceLatest(note)([one, two, three], event)).toEqual([{ id: 2, text: "new" }]);
    expect(replaceLatest(note)([], event)).toEqual([{ id: 2, text: "new" }]);
  });

  it("upsertBy replaces the value with the same key and leaves the others as they are", () => {
    const values = upsertBy(({ id }: Note) => id, note)([one, two, three], event);
    expect(values).toEqual([one, { id: 2, text: "new" }, three]);
    expect(values[0]).toBe(one);
  });

  it("upsertBy appends if no value has the key", () => {
    expect(upsertBy(({ id }: Note) => id, note)([one, three], event)).toEqual([
      one,
      three,
      { id: 2, text: "new" },
    ]);
  });

  it("do not change their inputs", () => {
    const values = Object.freeze([one, two]);
    append(note)(values, event);
    replaceLatest(note)(values, event);
    upsertBy(({ id }: Note) => id, note)(values, event);
    expect(values).toEqual([one, two]);
  });
});

describe("the types", () => {
  const schema = z.object({ file: z.string(), score: z.number() });

  it("read the value from the schema, and let a reducer name its own event", () => {
    const slice = defineSlice({
      name: "scores",
      schema,
      reducers: {
        Scored: upsertBy(
          ({ file }) => file,
          ({ file, score }: { type: "Scored"; file: string; score: number }) => ({ file, score }),
        ),
        Cleared: () => [],
        Renamed: (values, event: { type: "Renamed"; from: string; to?: string }) =>
          values.map((value) => ({ ...value, file: event.to ?? value.file })),
      },
    });
    expectTypeOf(slice).toEqualTypeOf<Slice<{ file: string; score: number }>>();
    expectTypeOf(slice).toExtend<Slice>();
  });

  it("refuse a reducer that returns another type of value", () => {
    defineSlice({
      name: "scores",
      schema,
      // @ts-expect-error a file without a score
      reducers: { Scored: append(() => ({ file: "a" })) },
    });
  });
});

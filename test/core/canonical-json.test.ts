import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertJson,
  assertPayload,
  canonicalHash,
  canonicalJson,
  sha256Hex,
} from "../../src/core/canonical-json.ts";
import { NotJsonError } from "../../src/core/errors.ts";

const jsonValue = fc.jsonValue({ stringUnit: "binary", maxDepth: 5 });

describe("canonicalJson follows RFC 8785 and", () => {
  it("returns the example of section 3.2.4", () => {
    const given: unknown = JSON.parse(
      String.raw`{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
      }`,
    );
    expect(canonicalJson(given)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it("orders keys by UTF-16 units, as in section 3.2.3", () => {
    const given = {
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis",
    };
    const keys = [...canonicalJson(given).matchAll(/"([^"]*)":/g)].map(([, key]) => key);
    expect(keys).toEqual(["\\r", "1", "\u0080", "ö", "€", "😀", "\ufb33"]);
  });

  it("orders digits, capitals, small letters and prefixes by their units, not as a person would", () => {
    expect(canonicalJson({ b: 0, a: 0, B: 0, A: 0, "10": 0, "9": 0, aa: 0, "": 0 })).toBe(
      '{"":0,"10":0,"9":0,"A":0,"B":0,"a":0,"aa":0,"b":0}',
    );
  });

  it.each([
    ["0000000000000000", "0"],
    ["8000000000000000", "0"],
    ["0000000000000001", "5e-324"],
    ["8000000000000001", "-5e-324"],
    ["7fefffffffffffff", "1.7976931348623157e+308"],
    ["ffefffffffffffff", "-1.7976931348623157e+308"],
    ["4340000000000000", "9007199254740992"],
    ["c340000000000000", "-9007199254740992"],
    ["4430000000000000", "295147905179352830000"],
    ["44b52d02c7e14af5", "9.999999999999997e+22"],
    ["44b52d02c7e14af6", "1e+23"],
    ["44b52d02c7e14af7", "1.0000000000000001e+23"],
    ["444b1ae4d6e2ef4e", "999999999999999700000"],
    ["444b1ae4d6e2ef4f", "999999999999999900000"],
    ["444b1ae4d6e2ef50", "1e+21"],
    ["3eb0c6f7a0b5ed8c", "9.999999999999997e-7"],
    ["3eb0c6f7a0b5ed8d", "0.000001"],
    ["41b3de4355555553", "333333333.3333332"],
    ["41b3de4355555554", "333333333.33333325"],
    ["41b3de4355555555", "333333333.3333333"],
    ["41b3de4355555556", "333333333.3333334"],
    ["41b3de4355555557", "333333333.33333343"],
    ["becbf647612f3696", "-0.0000033333333333333333"],
    ["43143ff3c1cb0959", "1424953923781206.2"],
  ])("spells the double %s of appendix B as %s", (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, "hex").readDoubleBE())).toBe(text);
  });

  it.each([
    [1e-7, "1e-7"],
    [1e21, "1e+21"],
    [1e20, "100000000000000000000"],
    [-0, "0"],
    [4.5, "4.5"],
    [-1, "-1"],
  ])("spells the number %s as %s", (number, text) => {
    expect(canonicalJson(number)).toBe(text);
  });

  it("escapes control characters, quotes and backslashes, and nothing else", () => {
    expect(canonicalJson('\b\t\n\f\r\u0000\u001f\u007f"\\/é\u2028😀')).toBe(
      String.raw`"\b\t\n\f\r\u0000\u001f` + '\u007f\\"\\\\/é\u2028😀"',
    );
  });

  it.each([
    [null, "null"],
    [true, "true"],
    [false, "false"],
    ["", '""'],
    [[], "[]"],
    [{}, "{}"],
    [[[], {}], "[[],{}]"],
  ])("writes %j as %s", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it("keeps the order of arrays", () => {
    expect(canonicalJson([3, 1, 2])).toBe("[3,1,2]");
  });
});

describe("the canonical text of a value", () => {
  it("does not depend on the order of keys, at any depth", () => {
    fc.assert(
      fc.property(jsonValue, fc.nat(), (value, seed) => {
        expect(canonicalJson(reordered(value, seed))).toBe(canonicalJson(value));
      }),
    );
  });

  it("parses back to the same value", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(isDeepStrictEqual(JSON.parse(canonicalJson(value)), withoutNegativeZero(value))).toBe(true);
      }),
    );
  });

  it("parses back to the same double", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(JSON.parse(canonicalJson(number))).toBe(number === 0 ? 0 : number);
      }),
    );
  });

  it("is the canonical text of its parsed value", () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(JSON.parse(text))).toBe(text);
      }),
    );
  });

  it("differs if the values differ", () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (a, b) => {
        const same = isDeepStrictEqual(withoutNegativeZero(a), withoutNegativeZero(b));
        expect(canonicalJson(a) === canonicalJson(b)).toBe(same);
      }),
    );
  });
});

describe("canonicalJson accepts", () => {
  it("the same object in two places", () => {
    const shared = { x: [1] };
    expect(canonicalJson({ b: shared, a: shared, c: [shared, shared.x] })).toBe(
      '{"a":{"x":[1]},"b":{"x":[1]},"c":[{"x":[1]},[1]]}',
    );
  });

  it("an object without a prototype", () => {
    const bare: Record<string, unknown> = Object.create(null);
    bare.b = 1;
    bare.a = Object.create(null);
    expect(canonicalJson(bare)).toBe('{"a":{},"b":1}');
  });

  it('a key named "__proto__", and names that every object inherits', () => {
    const text = '{"__proto__":{"polluted":true},"constructor":1,"hasOwnProperty":2,"toString":"x"}';
    expect(canonicalJson(JSON.parse(text))).toBe(text);
    expect({}).not.toHaveProperty("polluted");
  });

  it("a property named toJSON that is data", () => {
    expect(canonicalJson({ toJSON: "yes" })).toBe('{"toJSON":"yes"}');
  });

  it("500 levels, and refuses the 501st", () => {
    expect(canonicalJson(nested(500))).toBe(`${"[".repeat(500)}${"]".repeat(500)}`);
    expect(refusal(nested(501))).toEqual({
      path: `$${"[0]".repeat(500)}`,
      message: `The value is not JSON: $${"[0]".repeat(500)} is nested deeper than 500 levels.`,
    });
  });
});

describe("a payload", () => {
  it("may be 400 levels deep, and is refused beyond that with its path", () => {
    expect(() => assertPayload(nested(400), "It")).not.toThrow();
    for (const levels of [401, 501, 100_000])
      expect(() => assertPayload({ a: nested(levels) }, "The input")).toThrow(
        expect.objectContaining({
          code: "configuration",
          message: expect.stringMatching(/^The input is nested deeper than 400 levels, at \$\.a\[0\]/),
          details: { path: `$.a${"[0]".repeat(399)}` },
        }),
      );
  });

  it("is refused as invalid JSON first, however deep it is", () => {
    expect(() => assertPayload([undefined, nested(401)], "It")).toThrow("It is not JSON: $[0] is undefined.");
  });
});

describe("canonicalJson refuses, with the path of the bad value,", () => {
  class Point {
    x = 1;
  }
  const cyclic: Record<string, unknown> = { list: [] };
  (cyclic.list as unknown[]).push({ back: cyclic });
  const holed = [1];
  holed[2] = 3;
  const hidden = Object.defineProperty({ a: 1 }, "toJSON", { value: () => "something else" });
  const array = Object.assign([1], { toJSON: () => "something else" });

  it.each<[string, unknown, string, string]>([
    ["undefined itself", undefined, "$", "undefined"],
    ["an undefined property", { a: { b: undefined } }, "$.a.b", "undefined"],
    ["undefined in an array", [[0, undefined]], "$[0][1]", "undefined"],
    ["a hole in an array", { a: holed }, "$.a[1]", "undefined"],
    ["a function", { run: () => 1 }, "$.run", "a function"],
    ["a class", [Point], "$[0]", "a function"],
    ["NaN", { n: Number.NaN }, "$.n", "NaN"],
    ["Infinity", [Number.POSITIVE_INFINITY], "$[0]", "Infinity"],
    ["-Infinity", Number.NEGATIVE_INFINITY, "$", "-Infinity"],
    ["a BigInt", { a: 1n }, "$.a", "a BigInt"],
    ["a symbol", [Symbol("s")], "$[0]", "a symbol"],
    ["a symbol key", { a: { [Symbol("s")]: 1 } }, "$.a", "an object with symbol keys"],
    ["a cycle", cyclic, "$.list[0].back", "a cycle"],
    ["a Date", { at: new Date(0) }, "$.at", "a Date (pass its ISO string or its milliseconds)"],
    ["a class instance", { p: new Point() }, "$.p", "an instance of Point (pass a plain object)"],
    [
      "an instance of a nameless class",
      [new (class {})()],
      "$[0]",
      "an instance of a class (pass a plain object)",
    ],
    ["a Map", { m: new Map() }, "$.m", "an instance of Map (pass a plain object)"],
    ["a Set", [new Set()], "$[0]", "an instance of Set (pass a plain object)"],
    ["bytes", { b: new Uint8Array(2) }, "$.b", "an instance of Uint8Array (pass a plain object)"],
    ["a Buffer", { b: Buffer.from("x") }, "$.b", "an instance of Buffer (pass a plain object)"],
    ["an error", { e: new RangeError("x") }, "$.e", "an instance of RangeError (pass a plain object)"],
    ["a boxed number", [Object(1)], "$[0]", "an instance of Number (pass a plain object)"],
    ["a promise", { p: Promise.resolve(1) }, "$.p", "an instance of Promise (pass a plain object)"],
    ["a lone high surrogate", { s: "a\ud83d" }, "$.s", "a string with a lone surrogate"],
    ["a lone low surrogate", ["\ude00a"], "$[0]", "a string with a lone surrogate"],
    ["a lone surrogate in a key", { a: { "\ud83d": 1 } }, '$.a["\\ud83d"]', "a key with a lone surrogate"],
    ["toJSON", { a: { toJSON: () => 1 } }, "$.a", "a value with a toJSON method (pass what it returns)"],
    ["a hidden toJSON", [hidden], "$[0]", "a value with a toJSON method (pass what it returns)"],
    ["an array with toJSON", { array }, "$.array", "a value with a toJSON method (pass what it returns)"],
    ["a value under an unusual key", { "a b": { "": undefined } }, '$["a b"][""]', "undefined"],
    ["a value under a quoted key", { 'say "x"': undefined }, '$["say \\"x\\""]', "undefined"],
    ["a value under a numeric key", { "0": undefined }, '$["0"]', "undefined"],
  ])("%s", (_, value, path, what) => {
    expect(refusal(value)).toEqual({ path, message: `The value is not JSON: ${path} is ${what}.` });
  });

  it("every bad value at every depth", () => {
    const bad = fc.constantFrom(
      undefined,
      Number.NaN,
      1n,
      Symbol("s"),
      () => 0,
      new Date(0),
      new Map(),
      "\ud800",
    );
    const where = fc.array(fc.oneof(fc.nat(3), fc.constantFrom("a", "b c", "__proto__")), { maxLength: 6 });
    fc.assert(
      fc.property(bad, where, (culprit, steps) => {
        const path = steps.map((step) =>
          typeof step === "number" ? `[${step}]` : step === "b c" ? '["b c"]' : `.${step}`,
        );
        expect(refusal(buried(culprit, steps)).path).toBe(`$${path.join("")}`);
      }),
    );
  });

  it("and names the value in the message", () => {
    expect(() => assertJson({ a: undefined }, "The input")).toThrow(
      "The input is not JSON: $.a is undefined.",
    );
  });
});

describe("hashes", () => {
  it("canonicalHash is the SHA-256 of the canonical text", () => {
    const expected = createHash("sha256").update('{"a":"ü","b":1}').digest("hex");
    expect(canonicalHash({ b: 1, a: "ü" }).toString("hex")).toBe(expected);
  });

  it("sha256Hex hashes the UTF-8 bytes of a text", () => {
    expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(sha256Hex("ü")).toBe(createHash("sha256").update(Uint8Array.of(0xc3, 0xbc)).digest("hex"));
  });
});

function refusal(value: unknown): { path: string; message: string } {
  try {
    canonicalJson(value);
  } catch (error) {
    if (error instanceof NotJsonError) return { path: error.details.path, message: error.message };
    throw error;
  }
  throw new Error("Nothing was refused.");
}

function nested(levels: number): unknown {
  let value: unknown[] = [];
  for (let i = 1; i < levels; i++) value = [value];
  return value;
}

/** The bad value at the end of the steps, among valid values. */
function buried(culprit: unknown, steps: readonly (string | number)[]): unknown {
  return steps.reduceRight<unknown>((inner, step) => {
    if (typeof step === "number") return [...Array.from({ length: step }, (_, i) => i), inner];
    return Object.defineProperty({ first: 1 }, step, { value: inner, enumerable: true });
  }, culprit);
}

function reordered(value: unknown, seed: number): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, seed));
  if (typeof value !== "object" || value === null) return value;
  const rank = (key: string) => sha256Hex(`${seed}${key}`);
  const entries = Object.entries(value).sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, reordered(item, seed)]));
}

function withoutNegativeZero(value: unknown): unknown {
  if (value === 0) return 0;
  if (Array.isArray(value)) return value.map(withoutNegativeZero);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutNegativeZero(item)]));
}

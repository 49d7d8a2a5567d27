import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  assertOptions,
  assertOptionsOrInstance,
  givenOptions,
  kindOf,
  type OptionNames,
  unknownOption,
} from "../../../src/core/naming/option-names.ts";

type Options = { readonly timeoutMs?: number; readonly retries?: number };
const NAMES = { timeoutMs: true, retries: true } satisfies OptionNames<Options>;
const refused = (given: unknown, others = {}) => {
  try {
    assertOptions("The argument of call", given, NAMES, others);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};

describe("options", () => {
  it("with known names pass, and undefined counts as not given", () => {
    expect(refused({})).toBeNull();
    expect(refused({ timeoutMs: 1, retries: undefined })).toBeNull();
    expect(refused({ nonsense: undefined })).toBeNull();
    expect(refused(Object.assign(Object.create(null), { retries: 1 }))).toBeNull();
  });

  it("with an unknown name are refused with the nearest name, or with all of them", () => {
    expect(refused({ timeOutMS: 1 })).toBe(
      'The argument of call has no "timeOutMS": did you mean timeoutMs?',
    );
    expect(refused({ timeout: 1 })).toBe('The argument of call has no "timeout": did you mean timeoutMs?');
    expect(refused({ colour: 1 })).toBe(
      'The argument of call has no "colour": use one of timeoutMs, retries.',
    );
    expect(refused({ toString: 1 })).toContain('has no "toString"');
    expect(refused({ nul: null })).toContain('has no "nul"');
  });

  it("have other names by habit, or a sentence where there is no such option", () => {
    expect(refused({ attempts: 3 }, { attempts: "retries" })).toContain("did you mean retries?");
    expect(refused({ stream: true }, { stream: "calls are never streamed." })).toBe(
      'The argument of call has no "stream": calls are never streamed.',
    );
    expect(refused({ constructor: 1 }, {})).toContain('has no "constructor": use one of');
  });

  it("are an object: anything else is refused, and so is an instance of a class without any option", () => {
    class Store {
      readonly schema = 1;
    }
    class Settings {
      readonly retries = 1;
      readonly cache = new Map();
    }
    const give = "give an object with named options, such as { timeoutMs }.";
    expect(refused("x")).toBe(`The argument of call is a string: ${give}`);
    expect(refused(null)).toBe(`The argument of call is null: ${give}`);
    expect(refused([])).toBe(`The argument of call is a list: ${give}`);
    expect(refused(Promise.resolve())).toBe(`The argument of call is a promise: ${give}`);
    expect(refused(new Store())).toBe(`The argument of call is a Store: ${give}`);
    expect(refused(new Settings())).toContain('has no "cache"');
  });

  it("of a class, of another realm or with a prototype are checked like any others", () => {
    class Limits {
      readonly retries = 1;
      readonly timeOutMS = 2;
    }
    class Right {
      readonly retries = 1;
      get timeoutMs() {
        return 2;
      }
      explain() {
        return "A method is not an option.";
      }
    }
    const misspelt = 'The argument of call has no "timeOutMS": did you mean timeoutMs?';
    expect(refused(new Limits())).toBe(misspelt);
    expect(refused(Object.create({ retries: 1, timeOutMS: 2 }))).toBe(misspelt);
    expect(refused(runInNewContext("({ retries: 1, timeOutMS: 2 })"))).toBe(misspelt);
    expect(refused(new Right())).toBeNull();
    expect([refused(runInNewContext("({})")), refused(runInNewContext("({ retries: 1 })"))]).toEqual([
      null,
      null,
    ]);
  });

  it("that may be an instance of a class may have fields, unless those look like misspelt options", () => {
    class Call {
      readonly retries = 1;
      readonly cache = new Map();
    }
    class Misspelt extends Call {
      readonly timeoutMS = 1;
    }
    const check = (given: object) => () => assertOptionsOrInstance("A call", given, NAMES);
    check(new Call())();
    expect(check(new Misspelt())).toThrow('A call has no "timeoutMS": did you mean timeoutMs?');
    expect(check({ retries: 1, cache: 1 })).toThrow('A call has no "cache"');
  });

  it("are taken with what they inherit, and without those that are undefined", () => {
    class Inherits {
      readonly retries = undefined;
      get timeoutMs() {
        return 2;
      }
    }
    expect(givenOptions<object>(new Inherits(), NAMES)).toEqual({ timeoutMs: 2 });
  });
});

it("does not list more names than a sentence can have", () => {
  const many = Array.from({ length: 17 }, (_, index) => `option${index}`);
  expect(unknownOption("It", "zzzz", many)).toBe('It has no "zzzz": correct its name, or leave it out.');
  expect(unknownOption("It", "zzzz", [])).toBe('It has no "zzzz": it takes no options.');
});

it.each([
  [undefined, "undefined"],
  [1, "a number"],
  [{}, "an object"],
  [Object.create(null), "an object"],
  [new Error("x"), "an Error"],
  [new Map(), "a Map"],
])("names the kind of %s", (value: unknown, kind) => {
  expect(kindOf(value)).toBe(kind);
});

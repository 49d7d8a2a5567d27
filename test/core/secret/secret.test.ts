import { format, inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { extractSecrets, hideSecrets, isSecret, Secret, secret } from "../../../src/core/secret/secret.ts";

const KEY = "sk-12345";

describe("a secret", () => {
  it("reveals its text only when asked", () => {
    expect(secret(KEY).reveal()).toBe(KEY);
    expect(secret(KEY)).toBeInstanceOf(Secret);
  });

  it.each([
    ["a string", (value: Secret) => String(value)],
    ["part of a string", (value: Secret) => ["", value, ""].join("")],
    ["JSON", (value: Secret) => JSON.parse(JSON.stringify(value)) as unknown],
    ["inspected", (value: Secret) => inspect(value)],
    ["logged", (value: Secret) => format("%s", value)],
    ["logged as an object", (value: Secret) => format("%O", value)],
  ])("is [secret] as %s", (_name, show) => {
    expect(show(secret(KEY))).toBe("[secret]");
  });

  it("does not show its text inside other values", () => {
    const value = { a: [secret(KEY)], m: new Map([["k", secret(KEY)]]) };
    expect(JSON.stringify(value)).toBe('{"a":["[secret]"],"m":{}}');
    expect(inspect(value, { depth: 9, showHidden: true, getters: true })).not.toContain(KEY);
    expect(inspect(secret(KEY), { customInspect: false, showHidden: true, getters: true })).not.toContain(
      KEY,
    );
    expect(JSON.stringify(structuredClone(Object.assign({}, secret(KEY))))).toBe("{}");
    expect(Reflect.ownKeys(secret(KEY))).toEqual([]);
  });

  it.each([
    ["", "an empty text"],
    [undefined, "undefined"],
    [null, "null"],
    [7, "number"],
    [{}, "object"],
  ])("cannot be %j", (value, given) => {
    for (const make of [() => secret(value as string), () => new Secret(value as string)]) {
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(`A secret must be a text, not ${given}: check that its variable is set.`);
    }
  });
});

describe("isSecret", () => {
  it("recognises a secret, also one of another copy of the package", () => {
    const foreign = { [Symbol.for("pawl.secret")]: true, reveal: () => KEY };
    expect(isSecret(secret(KEY))).toBe(true);
    expect(isSecret(foreign)).toBe(true);
    expect(extractSecrets({ foreign }).revealed).toEqual({ foreign: KEY });
  });

  it.each([
    [KEY],
    ["[secret]"],
    [null],
    [undefined],
    [{ reveal: () => KEY }],
    [() => KEY],
    [{ "pawl.secret": true }],
  ])("is false of %j", (value) => {
    expect(isSecret(value)).toBe(false);
  });
});

describe("extractSecrets", () => {
  it("hides and reveals the secrets of objects and arrays at any depth", () => {
    const value = {
      to: "bob",
      auth: { key: secret(KEY), more: [1, secret("second"), [{ again: secret(KEY) }]] },
    };
    expect(extractSecrets(value)).toEqual({
      revealed: { to: "bob", auth: { key: KEY, more: [1, "second", [{ again: KEY }]] } },
      texts: [KEY, "second"],
    });
    expect(hideSecrets(value, (text) => `[${text.length}]`)).toEqual({
      to: "bob",
      auth: { key: `[${KEY.length}]`, more: [1, "[6]", [{ again: `[${KEY.length}]` }]] },
    });
    expect(isSecret(value.auth.key)).toBe(true);
  });

  it("takes a bare secret", () => {
    expect(extractSecrets(secret(KEY))).toEqual({ revealed: KEY, texts: [KEY] });
  });

  it.each([
    [null],
    [undefined],
    [7],
    ["text"],
    [{ a: [1, { b: null }] }],
    [new Date(0)],
    [new Map([["a", secret(KEY)]])],
  ])("returns %o unchanged", (value) => {
    expect(hideSecrets(value, () => "[secret]")).toBe(value);
    expect(extractSecrets(value).revealed).toBe(value);
    expect(extractSecrets(value).texts).toEqual([]);
  });

  it("returns parts without secrets by reference", () => {
    class Client {
      readonly key = secret(KEY);
    }
    const value = { kept: [{ a: 1 }], client: new Client(), when: new Date(0), key: secret(KEY) };
    for (const copy of [hideSecrets(value, () => "x"), extractSecrets(value).revealed] as (typeof value)[]) {
      expect(copy).not.toBe(value);
      expect(copy.kept).toBe(value.kept);
      expect(copy.client).toBe(value.client);
      expect(copy.when).toBe(value.when);
    }
  });

  it("keeps the order of keys, symbols, and a key named __proto__", () => {
    const mark = Symbol("mark");
    const value = Object.assign(JSON.parse('{"z":0,"__proto__":null,"a":1}') as object, { [mark]: 1 });
    Object.defineProperty(value, "__proto__", { value: secret(KEY), enumerable: true });
    const { revealed } = extractSecrets(value);
    expect(JSON.stringify(revealed)).toBe(`{"z":0,"__proto__":"${KEY}","a":1}`);
    expect(Object.getPrototypeOf(revealed)).toBe(Object.prototype);
    expect(Object.getOwnPropertySymbols(revealed)).toEqual([mark]);
    expect(extractSecrets([undefined, secret(KEY), undefined]).revealed).toEqual([undefined, KEY, undefined]);
  });

  it("treats an object without a prototype as a plain object", () => {
    const value = Object.assign(Object.create(null) as object, { key: secret(KEY) });
    expect(extractSecrets(value).revealed).toEqual({ key: KEY });
  });

  it("handles a value that contains itself, and one that occurs in two places", () => {
    const shared = { key: secret(KEY) };
    const circular: Record<string, unknown> = { a: shared, b: shared };
    circular.self = circular;
    const redacted = hideSecrets(circular, (text) => `[${text.length}]`);
    expect(redacted).toMatchObject({ a: { key: `[${KEY.length}]` }, b: { key: `[${KEY.length}]` } });
  });
});

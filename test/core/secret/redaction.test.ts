import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/core/canonical-json.ts";
import type { Json } from "../../../src/core/json.ts";
import { normaliseKeyName } from "../../../src/core/naming/key-name.ts";
import { namedSecrets, redact as redactWith } from "../../../src/core/secret/redaction.ts";
import { REDACTED, withoutDigests } from "../../../src/core/secret/secret-mark.ts";
import { SecretSearch } from "../../../src/core/secret/secret-search.ts";

const names = (...keys: string[]) => new Set(keys);
const NONE = names();
const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 12);
/** With bare marks, which are easier to read. */
function redact(value: Json, keyNames: ReadonlySet<string>, texts: readonly string[]): Json {
  return withoutDigests(redactWith(value, { names: keyNames, search: new SecretSearch(texts), digest }));
}
function redactText(text: string, texts: readonly string[]): string {
  const redacted = redact(text, NONE, texts);
  if (typeof redacted !== "string") throw new Error("A text stays a text.");
  return redacted;
}
const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");

describe("a value under a secret key", () => {
  it.each([["hunter22"], [""], [7], [null], [true], [["a", "b"]], [{ user: "x", parts: [1, 2] }]])(
    "is replaced entirely: %j",
    (value) => {
      expect(redact({ a: [{ password: value }], b: 1 }, names("password"), [])).toEqual({
        a: [{ password: REDACTED }],
        b: 1,
      });
    },
  );

  it.each(["apiKey", "api_key", "API-KEY", "ApiKey", "a_p_i_k_e_y"])("is found by the key %s", (key) => {
    for (const name of ["apikey", "API_KEY", "api-key", "apiKey"]) {
      expect(redact({ [key]: "x" }, names(name), [])).toEqual({ [key]: REDACTED });
    }
  });

  it.each(["apiKeys", "myApiKey", "api.key", "api key", "key", ""])("is not found by the key %j", (key) => {
    const value = { [key]: "x" };
    expect(redact(value, names("apiKey", "_"), [])).toBe(value);
  });

  it("stays in its place, and a key named __proto__ is handled like any other", () => {
    const value = JSON.parse('{"b":1,"__proto__":{"token":"x"},"a":{"token":"y","z":2}}') as Json;
    expect(JSON.stringify(redact(value, names("token"), []))).toBe(
      '{"b":1,"__proto__":{"token":"[secret]"},"a":{"token":"[secret]","z":2}}',
    );
  });
});

describe("a secret text", () => {
  it("is replaced at every place in a string", () => {
    expect(redact(["hunter22", "x hunter22y hunter22", { a: "hunter22!" }, 7], NONE, ["hunter22"])).toEqual([
      REDACTED,
      "x [secret]y [secret]",
      { a: "[secret]!" },
      7,
    ]);
  });

  it("is replaced in keys, and no value is lost if two keys become the same", () => {
    expect(redact({ "sk-aaaa": 1, "sk-bbbb": 2, "[secret] 2": 3 }, NONE, ["sk-aaaa", "sk-bbbb"])).toEqual({
      "[secret]": 1,
      "[secret] 2": 2,
      "[secret] 2 2": 3,
    });
  });

  it("is replaced in thousands of keys in linear time", () => {
    const timed = (count: number) => {
      const keys = Array.from({ length: count }, (_, n) => [`[secret:${digest(String(n))}]`, n] as const);
      const value = Object.fromEntries(keys);
      const start = performance.now();
      expect(Object.keys(withoutDigests(value))).toHaveLength(count);
      return performance.now() - start;
    };
    timed(2_000);
    expect(timed(16_000)).toBeLessThan(timed(2_000) * 40 + 200);
  });

  it("is replaced together with any secret it contains or overlaps, in any order", () => {
    for (const texts of [
      ["pass", "my-password-1"],
      ["my-password-1", "pass"],
    ]) {
      expect(redactText("it is my-password-1, not pass", texts)).toBe("it is [secret], not [secret]");
    }
    expect(redactText("(abcdefgh)", ["abcdef", "cdefgh"])).toBe("([secret][secret])");
    expect(redactText("aaaaaa aaaa", ["aaaa"])).toBe("[secret] [secret]");
  });

  it("next to another leaves two marks", () => {
    expect(redactText("hunter22swordfish", ["hunter22", "swordfish"])).toBe("[secret][secret]");
  });

  it.each(["", "1", "abc"])(
    "of fewer than four characters, %j, is not searched for inside other texts",
    (text) => {
      expect(redactText("abc 123 abc", [text])).toBe("abc 123 abc");
      expect(redact({ note: "abc 123 abc", pin: text }, names("pin"), [text])).toEqual({
        note: "abc 123 abc",
        pin: REDACTED,
      });
    },
  );

  it("of four characters is searched for", () => {
    expect(redactText("is 1234 it", ["1234"])).toBe("is [secret] it");
  });

  it("that is part of the mark does not grow the mark", () => {
    expect(redactText("my secret is [secret]", ["secret"])).toBe("my [secret] is [secret]");
    const value = { a: "[secret]" };
    expect(redact(value, NONE, ["secret"])).toBe(value);
  });

  it.each(["$&$1$$", ".*.*", "(a+)+$", "[a-z]", "\\d\\w"])("is matched literally: %s", (text) => {
    expect(redactText(`x ${text} abcde12`, [text])).toBe("x [secret] abcde12");
  });
});

describe("a secret text in another form", () => {
  const SECRET = 'p@ss "wörd"\\/+1\n😀 ~!';

  it.each([
    ["JSON", (text: string) => JSON.stringify(text).slice(1, -1)],
    ["JSON inside JSON", (text: string) => JSON.stringify(JSON.stringify({ text }))],
    [
      "JSON of ASCII only",
      (text: string) =>
        JSON.stringify(text).replace(
          /[^\0-~]/g,
          (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
        ),
    ],
    ["a URL", encodeURIComponent],
    [
      "a URL in small letters",
      (text: string) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
    ],
    ["a form", (text: string) => new URLSearchParams({ text }).toString()],
    ["base64", base64],
    ["base64 without padding", (text: string) => base64(text).replace(/=+$/, "")],
    ["base64 for URLs", (text: string) => Buffer.from(text, "utf8").toString("base64url")],
  ])("is replaced: %s", (_name, write) => {
    const text = `before ${write(SECRET)} after`;
    expect(redactText(text, [SECRET])).toMatch(/^before .*\[secret\].* after$/);
    expect(redactText(text, [SECRET])).not.toMatch(/ss|rd|😀|d83d|%F0|%f0|cEBzc/);
  });

  it.each(["", "u", "us", "user:", "a longer user name:"])(
    "is replaced in base64 after %j, as in a header for basic authentication",
    (before) => {
      for (const after of ["", "~", "~~", "~~~"]) {
        const text = redactText(`Basic ${base64(`${before}correct horse staple${after}`)}`, [
          "correct horse staple",
        ]);
        const [, rest = ""] = /^Basic (.*)$/.exec(text) ?? [];
        const [head = "", tail = "", ...more] = rest.split(REDACTED);
        expect(more).toEqual([]);
        expect(rest).toContain(REDACTED);
        // The rest holds at most a bit or two of the secret's first and last character.
        expect(head.length).toBeLessThanOrEqual(Math.ceil((before.length * 8) / 6));
        expect(tail.replace(/=+$/, "").length).toBeLessThanOrEqual(Math.ceil((after.length * 8) / 6) + 1);
      }
    },
  );

  it("that is short is not searched for in parts of base64, where it could occur by chance", () => {
    expect(redactText(base64("the test is over"), ["test"])).toBe(base64("the test is over"));
    expect(redactText(base64("test"), ["test"])).toBe(REDACTED);
    expect(redactText("dGVzdA", ["test"])).toBe(REDACTED);
  });

  it("is replaced in both alphabets of base64", () => {
    expect(base64("~~~???>>>")).toBe("fn5+Pz8/Pj4+");
    expect(redactText("fn5+Pz8/Pj4+ fn5-Pz8_Pj4-", ["~~~???>>>"])).toBe("[secret] [secret]");
  });

  it("may end in a lone surrogate", () => {
    expect(redactText("x abc\ud83d y", ["abc\ud83d"])).toBe("x [secret] y");
  });

  it("is never left in a text, whatever the secret and its position", () => {
    // Without surrounding blanks, which a file or a variable may have added, and which base64 would contain.
    const secretText = fc
      .string({ unit: "binary", minLength: 4, maxLength: 12 })
      .filter((text) => text.trim() === text);
    const around = fc.string({ unit: "grapheme", maxLength: 6 });
    fc.assert(
      fc.property(secretText, around, around, (text, before, after) => {
        // A mark, or a mark and the text after it, may happen to contain the secret itself.
        fc.pre(!`${before}${REDACTED}${after}`.includes(text));
        for (const form of [text, encodeURIComponent(text), base64(text)]) {
          const redacted = redactText(`${before}${form}${after}`, [text]);
          expect(redacted).toContain(REDACTED);
          expect(redacted).not.toContain(text);
        }
        expect(JSON.stringify(redact({ a: JSON.stringify([text]) }, NONE, [text]))).not.toContain(
          JSON.stringify(text).slice(1, -1),
        );
      }),
    );
  });
});

describe("the name of a secret inside a text", () => {
  const clean = (text: string) => redact(text, names("password", "api_key", "pin"), []);

  it.each([
    ['{"password":"x"}', '{"password":"[secret]"}'],
    [
      'failed: {"user":"bob","Pass_Word": "x","ok":true}.',
      'failed: {"user":"bob","Pass_Word": "[secret]","ok":true}.',
    ],
    ['{"password":"a \\"quoted\\" \\\\","b":"c"}', '{"password":"[secret]","b":"c"}'],
    ['{"password" :\n  "x", "apiKey":"y"}', '{"password" :\n  "[secret]", "apiKey":"[secret]"}'],
    ['{"pin":1234,"n":5}', '{"pin":"[secret]","n":5}'],
    ['{"pin":-1.5e+3}', '{"pin":"[secret]"}'],
    ['{"password":"a?pin=1","b":"c"}', '{"password":"[secret]","b":"c"}'],
    ['{"password":""}', '{"password":"[secret]"}'],
    ['{"password":"cut of', '{"password":"[secret]"'],
    ["GET https://x.org/?api_key=k1&q=2 failed", "GET https://x.org/?api_key=[secret]&q=2 failed"],
    ["https://x.org/?q=2&API-KEY=k1#top", "https://x.org/?q=2&API-KEY=[secret]#top"],
    ['<a href="https://x.org/?pin=12">', '<a href="https://x.org/?pin=[secret]">'],
  ])("counts in %s", (text, redacted) => {
    expect(clean(text)).toBe(redacted);
    expect(clean(redacted)).toBe(redacted);
  });

  it.each([1, 2])("counts in JSON inside JSON, %s deep", (depth) => {
    const inside = (value: string) => {
      let text = JSON.stringify({ a: "b", password: value, c: 'd"' });
      for (let n = 0; n < depth; n++) text = JSON.stringify({ text });
      return text;
    };
    for (const value of ["x", 'a "quoted" one', "a backslash \\", '\\"', "\\\\", ""]) {
      expect(clean(inside(value))).toBe(inside(REDACTED));
    }
  });

  it("covers only the value if inner JSON was cut off", () => {
    const text = JSON.stringify({ text: '{"password":"abc', other: "kept" });
    expect(clean(text)).toBe(JSON.stringify({ text: '{"password":"[secret]"', other: "kept" }));
  });

  it.each([
    "the password: x",
    "password=x",
    "const password = readPassword();",
    'the "password" is missing',
    '{"properties":{"password":{"type":"string"}}}',
    '{"passwords":"x","password2":"y"}',
    '{"password":null,"pin":true}',
    "is it api_key=x?",
    "https://x.org/?api_key=&q=2",
    "https://x.org/?my_api_key=2",
  ])("does not count in %s", (text) => {
    expect(clean(text)).toBe(text);
  });

  it("keeps JSON valid", () => {
    const value = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    );
    fc.assert(
      fc.property(value, fc.jsonValue(), (password, other) => {
        const text = JSON.stringify({ other: [other], password, last: 1 });
        expect(JSON.parse(clean(text) as string)).toMatchObject({ password: REDACTED, last: 1 });
      }),
    );
  });

  it("is found quickly, whatever the text", () => {
    for (const piece of ['\\"', '"', "\\", '"a":', "?a=", '"password":', " ", '\\"password\\":\\"']) {
      expect(typeof clean(piece.repeat(200_000 / piece.length))).toBe("string");
    }
  });
});

describe("redact", () => {
  it("returns the same value if there is nothing to redact", () => {
    const value: Json = { a: [{ b: "c" }, 1, null], d: { e: true } };
    expect(redact(value, names("password"), ["hunter22"])).toBe(value);
    expect(redact(value, NONE, [])).toBe(value);
    expect(redact({ password: REDACTED }, names("password"), [])).toEqual({ password: REDACTED });
  });

  it("returns the same parts if only others changed", () => {
    const value = { kept: [{ a: 1 }], changed: { password: "x" } };
    const redacted = redact(value, names("password"), []) as typeof value;
    expect(redacted.kept).toBe(value.kept);
    expect(redacted.changed).not.toBe(value.changed);
    expect(value.changed.password).toBe("x");
  });

  it("changes nothing more the second time", () => {
    const json = fc.jsonValue({ maxDepth: 3 }).map((value) => value as Json);
    fc.assert(
      fc.property(
        json,
        fc.array(fc.stringMatching(/^[a-z0-9"\\ ]{4,8}$/), { maxLength: 3 }),
        (value, texts) => {
          const once = redact({ value, token: value }, names("token"), texts);
          expect(canonicalJson(redact(once, names("token"), texts))).toBe(canonicalJson(once));
        },
      ),
    );
  });
});

describe("namedSecrets", () => {
  it("returns the strings and numbers under the names, each once, in order", () => {
    const value = {
      user: "bob",
      password: "hunter22",
      nested: [{ Pass_Word: 12345 }, { password: "hunter22" }],
      credentials: { id: "id-1", keys: ["k-1", 2, true, null] },
    };
    expect(namedSecrets(value, names("password", "credentials"))).toEqual([
      "hunter22",
      "12345",
      "id-1",
      "k-1",
      "2",
    ]);
  });

  it("returns nothing for marks, and without names", () => {
    expect(namedSecrets({ password: REDACTED }, names("password"))).toEqual([]);
    expect(namedSecrets({ password: "hunter22" }, NONE)).toEqual([]);
    expect(namedSecrets("hunter22", names("password"))).toEqual([]);
  });
});

describe("normaliseKeyName", () => {
  it.each(["api_key", "API-Key", "apikey", "_api__key-"])("returns apikey for %s", (name) => {
    expect(normaliseKeyName(name)).toBe("apikey");
  });
});

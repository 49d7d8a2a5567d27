import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact, redactText } from "../../../src/core/secret/redaction.ts";
import { SecretSearch } from "../../../src/core/secret/secret-search.ts";
import { SPELLINGS } from "../../security/canary/spellings.ts";

const SECRET = "k7-Zq4/wT+9%&\"'xLbV2";
const MARK = "[secret:000000000000]";
const hiding = (...texts: string[]) => ({
  names: new Set<string>(),
  search: new SecretSearch(texts),
  digest: () => "000000000000",
});
const hidden = (text: string, ...texts: string[]) => redact(text, hiding(...texts)) as string;

describe("a secret is found", () => {
  it.each(Object.keys(SPELLINGS))("in the spelling %s, without removing anything else", (name) => {
    const written = SPELLINGS[name]?.(SECRET) ?? "";
    const text = hidden(`before ${written} after`, SECRET);
    expect(text).toMatch(/^before .{0,3}\[secret:000000000000\].{0,3} after$/);
  });

  it("in one spelling inside another, and if only some of it is escaped", () => {
    const { unicode, urlAll, entitiesHex } = SPELLINGS;
    const some = `${SECRET.slice(0, 4)}${unicode?.(SECRET.slice(4, 9))}${entitiesHex?.(SECRET.slice(9))}`;
    expect(hidden(some, SECRET)).toBe(MARK);
    expect(hidden(encodeURIComponent(JSON.stringify(SECRET)), SECRET)).toBe(`%22${MARK}%22`);
    expect(hidden(urlAll?.(urlAll(SECRET)) ?? "", SECRET)).toBe(MARK);
  });

  it("with non-ASCII characters as bytes of UTF-8 and Latin-1", () => {
    const word = "gehäuse-größe";
    for (const text of [encodeURIComponent(word), "geh%E4use-gr%F6%DFe", "geh\\xc3\\xa4use-gr\\xf6\\xdfe"])
      expect(hidden(`(${text})`, word)).toBe(`(${MARK})`);
    expect(hidden("(GEHÄUSE-GRÖßE)", word)).toBe(`(${MARK})`);
  });

  it("in encoded bytes of Latin-1, and with HTML's named characters", () => {
    const word = "gehäuse-größe-é";
    const bytes = Buffer.from(word, "latin1");
    for (const text of [
      bytes.toString("hex"),
      bytes.toString("base64"),
      "geh&auml;use-gr&ouml;&szlig;e-&eacute;",
    ])
      expect(hidden(`(${text})`, word)).toBe(`(${MARK})`);
  });

  it("with letters whose lower case depends on their position, or has two characters", () => {
    for (const text of ["PASSWORΣ", "password-İİİ"]) {
      expect(hidden(`(${text}abc)`, text)).toBe(`(${MARK}abc)`);
      expect(hidden(`(${text})`, text)).toBe(`(${MARK})`);
    }
    expect(hidden("İİİ secret-12345 İ", "secret-12345")).toBe(`İİİ ${MARK} İ`);
  });

  it("of several lines, with any line ends, and as one line", () => {
    const key = "-----BEGIN KEY-----\nabcdef+ghijkl\n-----END KEY-----";
    for (const end of ["\n", "\r\n", " ", "\\n", "\\r\\n"])
      expect(hidden(`x ${key.replaceAll("\n", end)} y`, key)).toBe(`x ${MARK} y`);
  });

  it("as a number, alone and in a longer one", () => {
    const value = { pin: 4929871234567, list: [14929871234567, 5, 0.5], 4929871234567: true };
    expect(redact(value, hiding("4929871234567"))).toEqual({
      pin: MARK,
      list: [`1${MARK}`, 5, 0.5],
      [MARK]: true,
    });
    expect(redact(value, hiding("another secret"))).toBe(value);
  });

  it("in its literal form, even if it looks like an escape", () => {
    for (const text of ["50%25%41bcd", "a\\u0041b\\n", "&amp;&lt;word", "C:\\new\\table"])
      expect(hidden(`x ${text} y`, text)).toBe(`x ${MARK} y`);
  });

  it("without the blanks and line ends that a file added", () => {
    expect(hidden("token abcdef-123456.", " abcdef-123456\n")).toBe(`token ${MARK}.`);
  });
});

describe("a secret of fewer than eight characters", () => {
  it("is found in any case if it has a digit, so that it is not a word", () => {
    expect(hidden("P4SSw0r p4ssw0r", "p4ssW0r")).toBe(`${MARK} ${MARK}`);
  });

  it("is otherwise found only in its own case", () => {
    expect(hidden("test Test TEST", "test")).toBe(`${MARK} Test TEST`);
    expect(hidden("t%65st", "test")).toBe(MARK);
  });
});

describe("a text that was cut", () => {
  it("loses what may be a part of a secret, only at that end", () => {
    const { longest } = new SecretSearch([SECRET]);
    const filler = "z".repeat(2 * longest);
    for (const part of [SECRET.slice(0, -1), Buffer.from(SECRET).toString("hex").slice(0, -2)]) {
      const end = redactText(`start ${filler}${part}`, hiding(SECRET), { end: true });
      expect(end).toMatch(/^start z+$/);
      expect(end.length).toBeGreaterThan(longest);
      expect(redactText(`${part}${filler} end`, hiding(SECRET), { start: true })).toMatch(/^z+ end$/);
    }
    expect(redactText(`${filler}${SECRET}`, hiding(SECRET))).toBe(`${filler}${MARK}`);
  });

  it("stays complete if there is no secret", () => {
    expect(redactText("all of it", hiding(), { start: true, end: true })).toBe("all of it");
  });
});

it("a secret among escapes is removed completely, and nothing around it", () => {
  const around = fc.array(fc.constantFrom("%", "\\", "&", "%25", "\\\\", "&amp;", "a", "=", ";", "u00"), {
    maxLength: 6,
  });
  const spelling = fc.constantFrom(...Object.values(SPELLINGS));
  fc.assert(
    fc.property(around, spelling, around, (before, spell, after) => {
      const text = hidden(`${before.join("")} ${spell(SECRET)} ${after.join("")}`, SECRET);
      expect(text.startsWith(`${before.join("")} `)).toBe(true);
      expect(text.endsWith(` ${after.join("")}`)).toBe(true);
      expect(text).toContain(MARK);
    }),
    { numRuns: 300 },
  );
});

it("a text that holds a secret ten thousand times is hidden entirely", () => {
  expect(hidden(`before ${SECRET.repeat(10_001)} after`, SECRET)).toBe(MARK);
  expect(hidden(`${SECRET} `.repeat(100), SECRET)).toBe(`${MARK} `.repeat(100));
});

it("positions are right in a long text of escapes for one or two code units", () => {
  const text = `${"\\u{1f600}%F0%9F%98%80&#128512;%41".repeat(1_000)}(${encodeURIComponent(SECRET)})${"%25%41".repeat(500)}`;
  expect(hidden(text, SECRET)).toBe(text.replace(encodeURIComponent(SECRET), MARK));
});

it("megabytes of escapes take linear time", () => {
  const search = new SecretSearch(Array.from({ length: 5 }, (_, n) => `${SECRET}${n}`));
  const timed = (text: string) => {
    const start = performance.now();
    search.find(text);
    return performance.now() - start;
  };
  const pieces = ["%41", "\\", "\\u0041", "\\u{", "&#65;", "&a", "%2525", "+", "a", "İ", "Σ", "İA%25\\n"];
  const slow = pieces.filter((piece) => {
    timed(piece.repeat(30_000));
    const [small, large] = [timed(piece.repeat(30_000)), timed(piece.repeat(120_000))];
    return large > small * 20 + 100;
  });
  expect(slow).toEqual([]);
});

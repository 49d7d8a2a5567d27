import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact, redactText } from "../../src/core/redaction.ts";
import { SecretSearch } from "../../src/core/secret-search.ts";
import { SPELLINGS } from "../security/canary/spellings.ts";

const SECRET = "k7-Zq4/wT+9%&\"'xLbV2";
const MARK = "[secret:000000000000]";
const hiding = (...texts: string[]) => ({
  names: new Set<string>(),
  search: new SecretSearch(texts),
  digest: () => "000000000000",
});
const hidden = (text: string, ...texts: string[]) => redact(text, hiding(...texts)) as string;

describe("a secret is found", () => {
  it.each(Object.keys(SPELLINGS))("in the spelling %s, with nothing else taken", (name) => {
    const written = SPELLINGS[name]?.(SECRET) ?? "";
    const text = hidden(`before ${written} after`, SECRET);
    expect(text).toMatch(/^before .{0,3}\[secret:000000000000\].{0,3} after$/);
  });

  it("in one spelling inside of another, and where only some of it is escaped", () => {
    const { unicode, urlAll, entitiesHex } = SPELLINGS;
    const some = `${SECRET.slice(0, 4)}${unicode?.(SECRET.slice(4, 9))}${entitiesHex?.(SECRET.slice(9))}`;
    expect(hidden(some, SECRET)).toBe(MARK);
    expect(hidden(encodeURIComponent(JSON.stringify(SECRET)), SECRET)).toBe(`%22${MARK}%22`);
    expect(hidden(urlAll?.(urlAll(SECRET)) ?? "", SECRET)).toBe(MARK);
  });

  it("with bytes of characters that are no ASCII, in UTF-8 and Latin-1", () => {
    const word = "gehäuse-größe";
    for (const text of [encodeURIComponent(word), "geh%E4use-gr%F6%DFe", "geh\\xc3\\xa4use-gr\\xf6\\xdfe"])
      expect(hidden(`(${text})`, word)).toBe(`(${MARK})`);
    expect(hidden("(GEHÄUSE-GRÖßE)", word)).toBe(`(${MARK})`);
  });

  it("as it stands, though it looks like an escape itself", () => {
    for (const text of ["50%25%41bcd", "a\\u0041b\\n", "&amp;&lt;word", "C:\\new\\table"])
      expect(hidden(`x ${text} y`, text)).toBe(`x ${MARK} y`);
  });

  it("without the blanks and line ends that a file gave it", () => {
    expect(hidden("token abcdef-123456.", " abcdef-123456\n")).toBe(`token ${MARK}.`);
  });
});

describe("a secret of fewer than eight characters", () => {
  it("is found as it is written, and in other cases of letters not", () => {
    expect(hidden("test Test TEST", "test")).toBe(`${MARK} Test TEST`);
    expect(hidden("t%65st", "test")).toBe(MARK);
  });
});

describe("a text that was torn", () => {
  it("loses what may be a part of a secret, at that end alone", () => {
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

  it("is whole where there is no secret", () => {
    expect(redactText("all of it", hiding(), { start: true, end: true })).toBe("all of it");
  });
});

it("What is found is taken whole out of a text of escapes, whatever stands around it", () => {
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

it("A megabyte of escapes takes time by its length alone", () => {
  const search = new SecretSearch(Array.from({ length: 5 }, (_, n) => `${SECRET}${n}`));
  const timed = (text: string) => {
    const begun = performance.now();
    search.find(text);
    return performance.now() - begun;
  };
  const slow = ["%41", "\\", "\\u0041", "&#65;", "%2525", "+", "a"].filter((piece) => {
    timed(piece.repeat(30_000));
    const [small, large] = [timed(piece.repeat(30_000)), timed(piece.repeat(120_000))];
    return large > small * 20 + 100;
  });
  expect(slow).toEqual([]);
});

// A text that comes in pieces shows what the whole text would show, and no secret on the way.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Hiding, redactText } from "../../../src/core/secret/redaction.ts";
import { SecretSearch } from "../../../src/core/secret/secret-search.ts";
import { StreamedRedaction } from "../../../src/core/secret/streamed-redaction.ts";
import { IS_FULL_TEST } from "../../full-test.ts";

const hidingOf = (secrets: readonly string[], names: readonly string[] = []): Hiding => ({
  names: new Set(names),
  search: new SecretSearch(secrets),
  digest: (text) => text.length.toString(16).padStart(12, "0"),
});

/** All that is given out, after each piece and after the end. */
function shown(pieces: readonly string[], hiding: Hiding): readonly string[] {
  const stream = new StreamedRedaction(() => hiding);
  const given = pieces.map((piece) => stream.add(piece));
  return [...given, stream.end()];
}

/** The text in pieces of these lengths, in turn. */
function cutBy(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = lengths[i % lengths.length] ?? 1;
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

const SECRETS = ["s-456789", "aaaa1", "aaaa", 'p"w\\1 ü', "abcd", "abcdefgh-1", "Kö%&20"];
const NAMES = ["password", "api_key"];

/** Ways in which a text may hold a secret, or nearly. */
const spellings = fc
  .constantFrom(...SECRETS)
  .chain((secret) =>
    fc.constantFrom(
      secret,
      secret.toUpperCase(),
      secret.slice(0, -1),
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(JSON.stringify(secret)).slice(3, -3),
      encodeURIComponent(secret),
      encodeURIComponent(encodeURIComponent(secret)),
      Array.from(secret, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
      Array.from(secret, (letter) => `&#${letter.charCodeAt(0)};`).join(""),
      Buffer.from(secret).toString("base64"),
      Buffer.from(`user:${secret}`).toString("base64"),
      Buffer.from(secret).toString("hex"),
    ),
  );
const pairs = fc
  .tuple(fc.constantFrom("password", "Pass_Word", "api-key", "apikeys", "note"), fc.string({ maxLength: 12 }))
  .chain(([name, value]) =>
    fc.constantFrom(
      `{"${name}": ${JSON.stringify(value)}}`,
      JSON.stringify(JSON.stringify({ [name]: value })),
      `{"${name}":12345.6}`,
      `?${name}=${encodeURIComponent(value)}&x=1`,
      `"${name}":"${value}`,
    ),
  );
const others = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom(
    "[secret:00000000000a]",
    "[secret]",
    "[secr",
    "\\",
    "\\\\\\",
    '"',
    "&",
    "100% of",
    "📬",
    "a",
    " ",
  ),
);
const text = fc
  .array(fc.oneof(spellings, pairs, others), { maxLength: 8 })
  .map((parts) => parts.join("").toWellFormed());
const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 });

const [named, unnamed] = [hidingOf(SECRETS, NAMES), hidingOf(SECRETS)];

describe("a text in pieces", () => {
  it("shows, put together, what the whole text shows, wherever it was cut", () => {
    fc.assert(
      fc.property(text, lengths, (whole, cuts) => {
        expect(shown(cutBy(whole, cuts), named).join("")).toBe(redactText(whole, named));
      }),
      { numRuns: IS_FULL_TEST ? 20_000 : 500 },
    );
  });

  it("never shows a secret, not even across pieces", () => {
    fc.assert(
      fc.property(text, lengths, (whole, cuts) => {
        let all = "";
        for (const piece of shown(cutBy(whole, cuts), unnamed)) {
          all += piece;
          expect(redactText(all, unnamed)).toBe(all);
        }
      }),
      { numRuns: IS_FULL_TEST ? 10_000 : 150 },
    );
  });

  it("hides a secret that comes in three pieces, as soon as it is whole", () => {
    expect(shown(["sent s-4", "56", "789 now", "."], hidingOf(["s-456789"]))).toEqual([
      "sent ",
      "",
      "[secret:000000000008] now",
      ".",
      "",
    ]);
  });

  it("hides a secret that a call's arguments escape", () => {
    const pieces = ['{"pw":"p', "\\", '"w', "\\\\", "1 \\u00f", 'c"}'];
    expect(shown(pieces, hidingOf(SECRETS)).join("")).toBe('{"pw":"[secret:000000000007]"}');
  });

  it("hides a value under a secret name before the value has ended", () => {
    const given = shown(['{"pass', 'word" :', ' "hunt', "er2", '", "n":1}'], hidingOf([], NAMES));
    expect(given.join("")).toBe('{"password" : "[secret:000000000007,7-characters]", "n":1}');
    expect(given.slice(0, 4).join("")).toBe("{");
  });

  it("is held back only where it may be the beginning of a secret", () => {
    const pieces = ["The", " weather", " is", " fine", " to", "day."];
    const given = shown(pieces, hidingOf(SECRETS, NAMES));
    const [held, all] = [pieces, given].map((texts) => texts.slice(0, 6).join("").length);
    expect(all).toBe(held);
    expect(given.filter((piece) => piece === "")).toEqual([""]);
  });

  it("is shown as it is if there are no secrets", () => {
    expect(shown(["\\", '"pass', "📬".slice(0, 1)], hidingOf([]))).toEqual([
      "\\",
      '"pass',
      "📬".slice(0, 1),
      "",
    ]);
  });

  it("is searched no more often than it doubles, while a value under a secret name has no end", () => {
    const search = new SecretSearch(SECRETS);
    let searched = 0;
    const find = search.find.bind(search);
    search.find = (held) => {
      searched += held.length;
      return find(held);
    };
    const stream = new StreamedRedaction(() => ({ ...hidingOf([], NAMES), search }));
    stream.add('{"password":"');
    for (let piece = 0; piece < 20_000; piece++) stream.add("xyzxyzxyz ");
    expect(searched).toBeGreaterThan(200_000);
    expect(searched).toBeLessThan(2_000_000);
  });
});

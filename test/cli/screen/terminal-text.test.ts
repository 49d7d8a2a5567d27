import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cleanLine,
  cleanText,
  cut,
  pad,
  paragraph,
  widthOf,
  wrap,
} from "../../../src/cli/context/terminal-text.ts";

describe("text of any origin on a terminal", () => {
  it("shows control characters as symbols", () => {
    expect(cleanLine("a\u001b[2Jb\u0007c\u007fd\u009be")).toBe("a␛[2Jb␇c␡d\\u009be");
  });

  it("is not reordered by bidirectional marks", () => {
    expect(cleanLine("pay \u202ebob\u2066")).toBe("pay \\u202ebob\\u2066");
  });

  it.each([
    "\u200b",
    "\u00ad",
    "\u3164",
    "\u115f",
    "\u{e0041}",
    "\u200d",
    "\u034f",
    "\u2800",
    "\ufe0f",
    "\u{e0100}",
  ])("makes the invisible %j visible", (unseen) => {
    const code = unseen.codePointAt(0)?.toString(16) ?? "";
    const escape = code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
    expect(cleanLine(`pay${unseen}ee`)).toBe(`pay${escape}ee`);
  });

  it("stays on one line, or keeps its lines", () => {
    expect(cleanLine("one\r\ntwo\nthree\tfour")).toBe("one⏎two⏎three four");
    expect(cleanText("one\r\ntwo\rthree")).toBe("one\ntwo\nthree");
  });

  it("contains no lone surrogates", () => {
    expect(cleanLine("a\ud800b")).toBe("a�b");
  });

  it("never contains a control character, whatever the input", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(cleanLine(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });
});

describe("the width of a text", () => {
  it.each([
    ["plain", 5],
    ["日本語", 6],
    ["é", 1],
    ["e\u0301", 1],
    ["👍", 2],
    ["👨‍👩‍👧", 2],
    ["🇩🇪", 2],
    ["❤️", 2],
    ["한국", 4],
    ["a\u200bb", 2],
  ])("of %s is %i", (text, columns) => {
    expect(widthOf(text)).toBe(columns);
  });
});

describe("a text that is too long", () => {
  it("is cut, and ends with …", () => {
    expect(cut("abcdef", 4)).toBe("abc…");
    expect(cut("abcd", 4)).toBe("abcd");
  });

  it("is cut between characters that take two columns, not inside", () => {
    expect(cut("日本語", 4)).toBe("日…");
  });

  it("is padded by columns, not by characters", () => {
    expect(pad("日本", 6)).toBe("日本  ");
    expect(pad("7", 3, "right")).toBe("  7");
  });

  it("is wrapped at blanks, and inside a word only if necessary", () => {
    expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
    expect(wrap("abcdefghij", 4)).toEqual(["abcd", "efgh", "ij"]);
  });

  it("is wrapped in linear time, however wide the terminal is", () => {
    const text = `${"👩‍👩‍👧".repeat(4_000)} ${"␛[31m".repeat(8_000)}`;
    const timed = (columns: number) => {
      const begun = performance.now();
      expect(wrap(text, columns).length).toBeGreaterThan(10);
      return performance.now() - begun;
    };
    timed(20);
    expect(timed(2_000)).toBeLessThan(timed(20) * 5 + 100);
  });

  it("fits, whatever the input, and loses nothing but blanks", () => {
    const words = fc.array(fc.string({ unit: "grapheme", maxLength: 30 }), { maxLength: 12 });
    fc.assert(
      fc.property(words, fc.integer({ min: 2, max: 60 }), (parts, columns) => {
        const text = parts.join(" ");
        const lines = paragraph(text, columns).slice(0, -1).split("\n");
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        expect(lines.join("").replaceAll(" ", "")).toBe(cleanText(text).replaceAll(/[\n ]/g, ""));
        expect(widthOf(cut(cleanLine(text), columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

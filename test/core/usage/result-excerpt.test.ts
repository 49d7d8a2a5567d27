import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/core/json.ts";
import type { ToolOutput } from "../../../src/core/message.ts";
import { type Cutting, shownOutput } from "../../../src/core/usage/result-excerpt.ts";
import { estimateResultTokens, estimateTokens } from "../../../src/core/usage/token-estimate.ts";

const CUTTING: Cutting = { toolName: "read_page", isRead: true, estimate: (text) => estimateTokens(text) };

const cut = (output: ToolOutput, maxTokens: number, cutting = CUTTING) =>
  shownOutput(output, cutting).within(maxTokens).output;
/** The text of a text result. */
const valueOf = ({ value }: ToolOutput): string => {
  if (typeof value === "string") return value;
  throw new Error("The result is no text.");
};
const textOf = (value: string, maxTokens: number, cutting = CUTTING) =>
  valueOf(cut({ type: "text", value }, maxTokens, cutting));
const tokensOf = (output: ToolOutput) =>
  estimateResultTokens(output, JSON.stringify(output.value), CUTTING.estimate);

const numbered = Array.from({ length: 20_000 }, (_, i) => `Line ${i} of the page.`).join("\n");

describe("a result that is cut", () => {
  it("keeps its head and its tail, and says between them how much is missing and how to read it", () => {
    const text = textOf(numbered, 1_000);
    const [, head = "", omitted, total, tail = ""] =
      /^([^]+)\n\n\[(\d+) of (\d+) characters of this result are not shown\. To read the rest, call read_page again for a smaller part, if it takes arguments for that\.\]\n\n([^]+)$/.exec(
        text,
      ) ?? [];
    expect(numbered.startsWith(head)).toBe(true);
    expect(numbered.endsWith(tail)).toBe(true);
    expect(head.length).toBeGreaterThan(tail.length);
    expect(tail.length).toBeGreaterThan(500);
    expect(Number(total)).toBe(numbered.length);
    expect(Number(omitted)).toBe(numbered.length - head.length - tail.length);
  });

  it("does not send the model back to a tool that has effects", () => {
    const text = textOf(numbered, 1_000, { ...CUTTING, isRead: false });
    expect(text).toContain("calling read_page again may repeat its effect");
    expect(text).not.toContain("for a smaller part");
  });

  it("fits, and uses most of its limit", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("word ", "x", "7", "\n", "😀", '"', "ü", " "),
        fc.integer({ min: 100, max: 20_000 }),
        (unit, maxTokens) => {
          const output = cut({ type: "text", value: unit.repeat(700_000) }, maxTokens);
          const tokens = 24 + estimateTokens(valueOf(output));
          expect(tokens).toBeLessThanOrEqual(maxTokens);
          expect(tokens).toBeGreaterThan(maxTokens * 0.9 - 10);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("never holds half of a character", () => {
    for (let maxTokens = 60; maxTokens < 300; maxTokens++)
      expect(textOf(`a${"😀".repeat(5_000)}`, maxTokens).isWellFormed()).toBe(true);
  });

  it("says only how much is missing if there is no room for more", () => {
    expect(textOf(numbered, 48)).toMatch(/\n\[\d+ of \d+ characters not shown\]\n/);
    expect(textOf(numbered, 1)).toBe(`[${numbered.length} of ${numbered.length} characters not shown]`);
  });

  it("becomes a text if it was JSON, because half of a JSON value is not JSON", () => {
    const value = { rows: Array.from({ length: 5_000 }, (_, id) => ({ id, name: `Row ${id}` })) };
    const output = cut({ type: "json", value }, 500);
    expect(output.type).toBe("text");
    expect(valueOf(output)).toMatch(/^\{"rows":\[\{"id":0,"name":"Row 0"\}/);
    expect(valueOf(output)).toMatch(/\{"id":4999,"name":"Row 4999"\}\]\}$/);
  });

  it("stays an error if it was one", () => {
    expect(cut({ type: "error-text", value: numbered }, 500).type).toBe("error-text");
  });

  it("can be cut further without the original, with the same result as cutting once", () => {
    for (const less of [4_000, 900, 120, 10]) {
      const once = shownOutput({ type: "text", value: numbered }, CUTTING).within(less);
      const twice = shownOutput({ type: "text", value: numbered }, CUTTING).within(5_000).within(less);
      const [a = "", b = ""] = [once, twice].map(({ output }) => valueOf(output));
      expect(Math.abs(a.length - b.length)).toBeLessThan(less);
      expect(b).toMatch(new RegExp(`\\[\\d+ of ${numbered.length} characters`));
      expect(24 + estimateTokens(b)).toBeLessThanOrEqual(Math.max(less, 60));
    }
  });

  it("is shown in full if it fits after all, however it was counted when it was stored", () => {
    expect(cut({ type: "text", value: "short" }, 100)).toEqual({ type: "text", value: "short" });
  });

  it("counts only what may be shown: a counter that is slow on megabytes never gets them", () => {
    let longest = 0;
    const estimate = (text: string) => {
      longest = Math.max(longest, text.length);
      return Math.ceil(text.length / 4);
    };
    textOf("word ".repeat(1_000_000), 2_000, { ...CUTTING, estimate });
    expect(longest).toBeGreaterThan(5_000);
    expect(longest).toBeLessThan(20_000);
  });

  it("returns the same bytes for the same result", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.integer({ min: 40, max: 200 }), (json, maxTokens) => {
        const value = JSON.parse(json) as Json;
        const again = JSON.parse(JSON.stringify(value)) as Json;
        expect(cut({ type: "json", value }, maxTokens)).toEqual(
          cut({ type: "json", value: again }, maxTokens),
        );
      }),
    );
  });
});

describe("a result of several parts", () => {
  const picture = (length: number) => ({
    type: "file",
    mediaType: "image/png",
    data: { type: "data", data: "A".repeat(length) },
  });

  it("keeps a picture, whose bytes the model does not read as text, and cuts the text beside it", () => {
    const output = cut(
      { type: "content", value: [picture(2_000_000), { type: "text", text: numbered }] },
      4_000,
    );
    expect(output.value).toMatchObject([picture(2_000_000), { type: "text" }]);
    expect(JSON.stringify(output)).toContain("characters of this result are not shown");
    expect(tokensOf(output)).toBeLessThanOrEqual(4_000);
  });

  it("replaces a file by a note that it is too large", () => {
    const output = cut(
      { type: "content", value: [picture(30_000_000), { type: "text", text: "A map." }] },
      4_000,
    );
    expect(output.value).toEqual([
      { type: "text", text: expect.stringContaining("A file of image/png is too large to be shown.") },
      { type: "text", text: "A map." },
    ]);
  });

  it("becomes one text if it has more parts than there is room for", () => {
    const value = Array.from({ length: 20_000 }, (_, i) => ({ type: "text", text: `Part ${i}` }));
    const output = cut({ type: "content", value }, 1_000);
    expect(output.type).toBe("text");
    expect(tokensOf(output)).toBeLessThanOrEqual(1_100);
  });
});

import fc from "fast-check";
import { estimateTokenCount } from "tokenx";
import { describe, expect, it } from "vitest";
import { estimateMessageTokens, estimateTokens } from "../../../src/core/usage/token-estimate.ts";
import { SAMPLES } from "./token-samples.ts";

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom(
      "a",
      "B",
      "7",
      ".",
      "{",
      "'",
      " ",
      "\n",
      "\t",
      "ä",
      "é",
      "ł",
      "你",
      "の",
      "한",
      "。",
    ),
  }),
  fc
    .constantFrom(...Object.values(SAMPLES))
    .chain((sample) =>
      fc
        .tuple(fc.nat(sample.length), fc.nat(200))
        .map(([start, length]) => sample.slice(start, start + length)),
    ),
);

describe("estimateTokens", () => {
  it.each(Object.entries(SAMPLES).map(([name, text]) => ({ name, text })))(
    "is near tokenx on $name",
    ({ text }) => {
      const reference = estimateTokenCount(text);
      expect(reference).toBeGreaterThan(100);
      expect(Math.abs(estimateTokens(text) / reference - 1)).toBeLessThan(0.05);
    },
  );

  it.each<[string, number]>([
    ["", 0],
    [" ", 1],
    ["\n\n\n", 1],
    ["a", 1],
    ["estimate", 1],
    ["estimated", 2],
    ["Estimate", 2],
    ["123", 1],
    ["1234", 2],
    ["don't", 1],
    ["a b", 2],
    ["a, b", 3],
    ["......", 1],
    [".......", 2],
    ["a\nb", 3],
    ["a.\nb", 3],
    ["a.\n\nb", 4],
    ["a.\n  b", 4],
    ["   a   b   ", 2],
    ["😀", 2],
    ["你好", 2],
  ])("counts %j as %i", (text, tokens) => {
    expect(estimateTokens(text)).toBe(tokens);
  });

  it("never counts unknown scripts as cheaper than three characters per token", () => {
    const text = "تتحرك السقاطة في اتجاه واحد فقط";
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(text.replaceAll(" ", "").length / 3);
  });

  it("is a whole number, and 0 only for the empty text", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = estimateTokens(text);
        expect(Number.isSafeInteger(tokens)).toBe(true);
        expect(tokens >= 1).toBe(text !== "");
      }),
    );
  });

  it("of two texts together is the sum of both, except for the seam", () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        const parts = estimateTokens(a) + estimateTokens(b);
        const whole = estimateTokens(a + b);
        expect(whole).toBeGreaterThanOrEqual(parts - 2);
        expect(whole).toBeLessThanOrEqual(parts + 1);
      }),
      { numRuns: 2000 },
    );
  });

  it("does not go down by more than a token when text is added", () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(estimateTokens(a + b)).toBeGreaterThanOrEqual(
          Math.max(estimateTokens(a), estimateTokens(b)) - 1,
        );
      }),
      { numRuns: 2000 },
    );
  });

  it("is the same for the same text, however the string was built", () => {
    fc.assert(
      fc.property(anyText, fc.nat(), (text, at) => {
        const cut = at % (text.length + 1);
        const built = text.slice(0, cut) + text.slice(cut);
        expect(estimateTokens(built)).toBe(estimateTokens(text));
        expect(estimateTokens(text)).toBe(estimateTokens(text));
      }),
    );
  });

  it("takes linear time for a megabyte of white space or line breaks: restarting the scan at each would take minutes", () => {
    const traps = [" ", "\n", " \n", "a ", ".", "a", "\ud800", "{}\n"].map((unit) =>
      unit.repeat(Math.ceil(2 ** 20 / unit.length)),
    );
    for (const text of traps) expect(estimateTokens(text)).toBeGreaterThan(0);
  });
});

describe("estimateMessageTokens", () => {
  it("counts the text and the overhead of a message", () => {
    expect(estimateMessageTokens({ role: "user", content: "a b" })).toBe(4 + 2);
    expect(estimateMessageTokens({ role: "user", content: "" })).toBe(4);
  });

  it("counts parts as their JSON", () => {
    const content = [{ type: "text", text: "Hello" }];
    expect(estimateMessageTokens({ role: "assistant", content })).toBe(
      4 + estimateTokens(JSON.stringify(content)),
    );
  });

  it("counts with another estimator if one is given", () => {
    expect(estimateMessageTokens({ role: "user", content: "abc" }, (text) => text.length)).toBe(4 + 3);
  });
});

describe("a message with files", () => {
  const file = (mediaType: string, size: number) =>
    ({ type: "file", mediaType, size, blobId: "0".repeat(64) }) as const;
  const tokens = (...content: readonly ReturnType<typeof file>[]) =>
    estimateMessageTokens({ role: "user", content }) - estimateMessageTokens({ role: "user", content: "" });

  it("counts a picture like one in a tool result, whatever its size", () => {
    expect([tokens(file("image/png", 100)), tokens(file("image/jpeg", 3_000_000))]).toEqual([1_600, 1_600]);
    expect(tokens(file("image/png", 100), file("image/png", 100))).toBe(3_200);
  });

  it("counts any other file by its size, and a text by the characters in it", () => {
    expect(tokens(file("application/pdf", 100))).toBe(1_600);
    expect(tokens(file("application/pdf", 2_400_000))).toBe(100_000);
    for (const type of ["text/csv", "application/json", "application/ld+json", "application/yaml"])
      expect([type, tokens(file(type, 3_000))]).toEqual([type, 1_000]);
  });

  it("counts its texts as it counts a text", () => {
    const text = "What is due on this invoice?";
    expect(estimateMessageTokens({ role: "user", content: [{ type: "text", text }] })).toBe(
      estimateMessageTokens({ role: "user", content: text }),
    );
  });
});

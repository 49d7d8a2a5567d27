import { expect, it } from "vitest";
import { excessIn } from "../../../src/core/turn/answer-limits.ts";

it.each(["text", "toolName", "input"])(
  "Two million characters of an answer are the most, in its %s too",
  (field) => {
    const part = { type: "tool-call", toolName: "act", input: "{}" };
    expect(excessIn([{ ...part, [field]: "x".repeat(1_999_000) }])).toBeNull();
    expect(excessIn([{ ...part, [field]: "x".repeat(2_000_001) }])).toMatch(/more than 2000000 characters/);
  },
);

import { expect, it } from "vitest";
import { excessIn } from "../../../src/core/turn/answer-limits.ts";

it.each(["text", "toolName", "input"])(
  "an answer has at most two million characters, including its %s",
  (field) => {
    const part = { type: "tool-call", toolName: "act", input: "{}" };
    expect(excessIn([{ ...part, [field]: "x".repeat(1_999_000) }])).toBeNull();
    expect(excessIn([{ ...part, [field]: "x".repeat(2_000_001) }])).toMatch(/more than 2000000 characters/);
  },
);

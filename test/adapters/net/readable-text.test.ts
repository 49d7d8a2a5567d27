import { expect, it } from "vitest";
import { readableText } from "../../../src/adapters/net/readable-text.ts";

it.each([
  ["a header", "got Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"],
  ["a header of its own", 'sent "x-api-key": "wombat42"', "wombat42"],
  ["a URL", "GET https://x.org/v1?alt=json&key=wombat42&x=1 failed", "wombat42"],
  ["an OpenAI key", "Invalid key sk-proj-abc_DEF-123456", "abc_DEF"],
  ["a Google key", "key AIzaSyA-1234567890abcdef expired", "AIzaSy"],
  ["a token", "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln expired", "eyJhbGci"],
])("removes a secret from %s", (_name, text, secret) => {
  expect(readableText(text)).not.toContain(secret);
  expect(readableText(text)).toContain("[redacted]");
});

it.each([
  "The bearer token is invalid",
  "error code: token_limit_exceeded",
  "api_version_unsupported",
  "no API key was given",
])("leaves %s unchanged", (text) => {
  expect(readableText(text)).toBe(text);
});

it("takes no longer for a long text than for a short one", () => {
  for (const piece of ["-eyJ", "\u001b]"]) {
    const begun = performance.now();
    readableText(piece.repeat(50_000));
    expect(performance.now() - begun).toBeLessThan(1_000);
  }
});

it("is one short line without colours and without its full stop", () => {
  expect(readableText("\u001b[31mNo.\u001b[0m\n\n  Not  today.\n")).toBe("No. Not today");
  expect(readableText("x".repeat(1000))).toBe(`${"x".repeat(300)}…`);
});

import { expect, it } from "vitest";
import { readableText } from "../../../src/adapters/net/readable-text.ts";

it.each([
  ["a header", "got Authorization: Bearer abcdefghijklmnop", "abcdefghijklmnop"],
  ["a header of its own", 'sent "x-api-key": "wombat42"', "wombat42"],
  ["a URL", "GET https://x.org/v1?alt=json&key=wombat42&x=1 failed", "wombat42"],
  ["an OpenAI key", "Invalid key sk-proj-abc_DEF-123456", "abc_DEF"],
  ["a Google key", "key AIzaSyA-1234567890abcdef expired", "AIzaSy"],
  ["a header with another scheme", "Authorization: Basic YW5uOnNlY3JldA==", "YW5u"],
  ["a short header", "Authorization: Bearer wombat42", "wombat42"],
  ["a message about a masked key", "Incorrect API key provided: ****wombat.", "wombat"],
  ["a message about a key of letters", "Incorrect API key provided: wombat.", "wombat"],
  ["a parameter", "api_key=wombat was refused", "wombat"],
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
  "The bearer authentication failed",
  "Missing API key: set it with the apiKey option",
  "Create an API key: https://vercel.com/d?to=%2F%5Bteam%5D%2F%7E%2Fai%2Fapi-keys",
])("leaves %s unchanged", (text) => {
  expect(readableText(text)).toBe(text);
});

it.each([
  [
    "Incorrect API key provided: sk-proj-12345678. You can find your API key at https://platform.openai.com/account/api-keys.",
    "Incorrect API key provided: [redacted]. You can find your API key at https://platform.openai.com/account/api-keys",
  ],
  [
    "Incorrect API key provided: wombat42. You can find your API key in your account.",
    "Incorrect API key provided: [redacted]. You can find your API key in your account",
  ],
  ["The key (api_key=wombat42) has expired", "The key (api_key=[redacted]) has expired"],
  [
    "got Authorization: Bearer abcdefghijklmnop, which is old",
    "got Authorization: Bearer [redacted], which is old",
  ],
  ['sent {"x-api-key": "wombat42"} and more', 'sent {"x-api-key": "[redacted]"} and more'],
  [
    "Option 1 - API key:\nCreate an API key: https://vercel.com/keys\nProvide via 'apiKey' option.",
    "Option 1 - API key: Create an API key: https://vercel.com/keys Provide via 'apiKey' option",
  ],
])("redacts the key and nothing after it: %s", (text, readable) => {
  expect(readableText(text)).toBe(readable);
});

it("takes no longer for a long text than for a short one", () => {
  for (const piece of ["-eyJ", "\u001b]", "api key: ", "authorization", "Bearer ", "api key: ..."]) {
    const begun = performance.now();
    readableText(piece.repeat(50_000));
    expect(performance.now() - begun).toBeLessThan(1_000);
  }
});

it("is one short line without colours and without its full stop", () => {
  expect(readableText("\u001b[31mNo.\u001b[0m\n\n  Not  today.\n")).toBe("No. Not today");
  expect(readableText("x".repeat(1000))).toBe(`${"x".repeat(300)}…`);
});

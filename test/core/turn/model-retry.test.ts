import { describe, expect, it } from "vitest";
import type { ModelCallError } from "../../../src/core/errors.ts";
import {
  decideRetry,
  isOutage,
  isUncharged,
  LONGEST_PAUSE_MS,
  mayRejectFiles,
  refusedContents,
} from "../../../src/core/turn/model-retry.ts";

type Details = ModelCallError["details"];

const failed = (kind: Details["kind"], status: number | null, more: Partial<Details> = {}): Details => ({
  kind,
  status,
  retryAfterMs: null,
  retryable: true,
  ...more,
});

const LIMITS = { maxAttempts: 3, maxOutageMs: null };
const first = { failures: 1, refusals: 0, outageMs: 0 };
const refused = (refusals: number, outageMs = 0) => ({ failures: 0, refusals, outageMs });

describe("a failed model call", () => {
  it.each([
    ["429", failed("rate_limited", 429), true, true],
    ["503", failed("server_error", 503), true, true],
    ["529", failed("server_error", 529), true, true],
    ["no connection", failed("not_sent", null), true, true],
    ["a host that does not exist", failed("not_sent", null, { retryable: false }), false, true],
    ["an account without quota", failed("rejected", 429, { retryable: false }), false, true],
    ["408", failed("rejected", 408), false, true],
    ["500", failed("server_error", 500), false, false],
    ["502", failed("server_error", 502), false, false],
    ["a reset", failed("no_answer", null), false, false],
    ["a timeout", failed("timeout", null, { retryable: false }), false, false],
  ])("by %s is an outage or not, and is charged or not", (_name, details, outage, uncharged) => {
    expect([isOutage(details), isUncharged(details)]).toEqual([outage, uncharged]);
  });

  it("is repeated until there were as many failures as allowed", () => {
    const details = failed("server_error", 500);
    expect(decideRetry(details, first, LIMITS, 1)).toEqual({ kind: "again", inMs: 500 });
    expect(decideRetry(details, { ...first, failures: 3 }, LIMITS, 1)).toEqual({ kind: "end" });
  });

  it("is not repeated if the provider asks for a longer pause than a minute", () => {
    const details = failed("server_error", 500, { retryAfterMs: 61_000 });
    expect(decideRetry(details, first, LIMITS, 1)).toEqual({ kind: "end" });
  });
});

it.each([
  ["400", failed("rejected", 400), true],
  ["404, of a gateway whose model reads no pictures", failed("rejected", 404), true],
  ["413", failed("rejected", 413), true],
  ["a status that is not known", failed("rejected", null), true],
  ["a library that does not know a type", failed("not_sent", null, { contents: true }), true],
  ["a missing package", failed("not_sent", null), false],
  ["401", failed("rejected", 401), false],
  ["an account without credit", failed("rejected", 400, { account: true }), false],
  ["408", failed("rejected", 408), false],
  ["429", failed("rate_limited", 429), false],
  ["500", failed("server_error", 500), false],
  ["a reset", failed("no_answer", null), false],
])("a failure by %s may be about a file in the request, or not", (_, details, expected) => {
  expect(mayRejectFiles(details)).toBe(expected);
});

it.each([
  ["400", failed("rejected", 400), "texts"],
  ["413", failed("rejected", 413), "texts"],
  ["422", failed("rejected", 422), "texts"],
  ["404", failed("rejected", 404), null],
  ["403", failed("rejected", 403), null],
  ["401", failed("rejected", 401), null],
  ["an account without credit", failed("rejected", 400, { account: true }), null],
  ["a library that does not know a type", failed("not_sent", null, { contents: true }), null],
  ["429", failed("rate_limited", 429), null],
  ["500", failed("server_error", 500), null],
  ["a reset", failed("no_answer", null), null],
])(
  "after a failure by %s, a request without files has its texts set aside, or nothing",
  (_, details, expected) => {
    expect(refusedContents(details, { hasFiles: false, hasTexts: true })).toBe(expected);
    expect(refusedContents(details, { hasFiles: false, hasTexts: false })).toBeNull();
  },
);

it("files are set aside before texts", () => {
  const details = failed("rejected", 400);
  expect(refusedContents(details, { hasFiles: true, hasTexts: true })).toBe("files");
});

describe("an outage", () => {
  const details = failed("server_error", 503);

  it("is waited out without a limit, with pauses of up to a minute", () => {
    expect(decideRetry(details, refused(1), LIMITS, 1)).toEqual({ kind: "outage", inMs: 500 });
    const late = decideRetry(details, refused(1_000_000, 2 ** 40), LIMITS, 1);
    expect(late).toEqual({ kind: "outage", inMs: 60_000 });
  });

  it("has the pause that the provider asks for, up to a day", () => {
    const asks = (retryAfterMs: number) => decideRetry({ ...details, retryAfterMs }, refused(1), LIMITS, 1);
    expect(asks(7_200_000)).toEqual({ kind: "outage", inMs: 7_200_000 });
    expect(asks(10 ** 15)).toEqual({ kind: "outage", inMs: LONGEST_PAUSE_MS });
  });

  it("ends with a last request at maxOutageMs", () => {
    const limits = { ...LIMITS, maxOutageMs: 10_000 };
    const after = (outageMs: number) => decideRetry(details, refused(1, outageMs), limits, 1);
    expect(after(9_500)).toEqual({ kind: "outage", inMs: 500 });
    expect(after(9_900.5)).toEqual({ kind: "outage", inMs: 100 });
    expect(after(10_000)).toEqual({ kind: "outage_too_long", maxOutageMs: 10_000, askedMs: null });
  });

  it("ends at once if the provider asks for a pause that ends after maxOutageMs", () => {
    const limits = { ...LIMITS, maxOutageMs: 10_000 };
    const asking = { ...details, retryAfterMs: 4_000 };
    expect(decideRetry(asking, refused(1, 6_000), limits, 1)).toEqual({ kind: "outage", inMs: 4_000 });
    const late = decideRetry(asking, refused(1, 6_001), limits, 1);
    expect(late).toEqual({ kind: "outage_too_long", maxOutageMs: 10_000, askedMs: 4_000 });
  });
});

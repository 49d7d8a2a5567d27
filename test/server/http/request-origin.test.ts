import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decideSource,
  type RequestSource,
  type SourceDecision,
} from "../../../src/server/http/request-origin.ts";

const OWN = ["http://127.0.0.1:4747"];
const kindOf = (source: RequestSource): SourceDecision["kind"] => decideSource(source, OWN).kind;

const sources = fc.record({
  isSafe: fc.boolean(),
  isOfToken: fc.boolean(),
  hasCookie: fc.boolean(),
  fetchSite: fc.constantFrom(null, "same-origin", "none", "same-site", "cross-site", "odd"),
  origin: fc.constantFrom(
    null,
    "null",
    "http://127.0.0.1:4747",
    "http://127.0.0.1:3000",
    "https://evil.example",
  ),
});

describe("the source of a request", () => {
  it("is a page of another site whenever the browser says so, and no token was added", () => {
    fc.assert(
      fc.property(sources, (source) => {
        const saysOther =
          source.fetchSite === null
            ? source.origin !== null && !OWN.includes(source.origin)
            : !["same-origin", "none"].includes(source.fetchSite);
        if (saysOther && !source.isOfToken) expect(kindOf(source)).toBe("foreign");
      }),
    );
  });

  it("is our own page, or a program, if nothing says otherwise", () => {
    const silent = { isSafe: false, isOfToken: false, hasCookie: false, fetchSite: null, origin: null };
    expect(kindOf(silent)).toBe("own");
    expect(kindOf({ ...silent, hasCookie: true })).toBe("foreign");
    expect(kindOf({ ...silent, hasCookie: true, isSafe: true })).toBe("own");
    expect(kindOf({ ...silent, hasCookie: true, origin: OWN[0] ?? null })).toBe("own");
  });
});

import { describe, expect, it } from "vitest";
import { isRefused, targetPath } from "../../../dashboard/src/pages/access/audit-target.ts";
import { parseScope, type Token, tokenState } from "../../../dashboard/src/pages/access/scope-text.ts";
import { scopeWords } from "../../../dashboard/src/words/scope-words.ts";

describe("a scope as it is typed", () => {
  it("is no limit where nothing is typed", () => {
    expect(parseScope("", " , ")).toEqual({ scope: { pipelines: null, labels: null }, problem: null });
  });

  it("has pipelines, and labels whose values may have any sign", () => {
    const { scope } = parseScope("report, triage", "tenant=acme, query=a=b");
    expect(scope).toEqual({ pipelines: ["report", "triage"], labels: { tenant: "acme", query: "a=b" } });
    expect(scopeWords(scope)).toBe("report, triage · tenant=acme · query=a=b");
  });

  it.each(["acme", "=acme"])("says that %s is no label", (labels) => {
    expect(parseScope("", labels).problem).toBe(`“${labels}” is no label: write name=value.`);
  });
});

describe("a token", () => {
  const token: Token = {
    id: "t-1",
    kind: "token",
    name: "ci",
    role: "viewer",
    scope: { pipelines: null, labels: null },
    createdAt: "2026-11-01T00:00:00.000Z",
    createdBy: null,
    expiresAt: "2026-11-18T00:00:00.000Z",
    lastUsedAt: null,
    revokedAt: null,
  };
  const expiry = Date.parse("2026-11-18T00:00:00.000Z");

  it("is open until it expires or is revoked", () => {
    expect(tokenState(token, expiry - 1)).toBe("open");
    expect(tokenState(token, expiry)).toBe("expired");
    expect(tokenState({ ...token, revokedAt: token.createdAt }, 0)).toBe("revoked");
    expect(tokenState({ ...token, expiresAt: null }, expiry)).toBe("open");
  });
});

describe("the target of an act", () => {
  it.each([
    ["approveWait", "q-1~2", "/waits/q-1~2"],
    ["settleCall", "q-1/triage#3.1", "/runs/q-1?view=ledger&at=q-1%2Ftriage%233.1"],
    ["getArtifact", "q-1/report.pdf", "/runs/q-1"],
    ["bulk", "q-1", "/runs/q-1"],
    ["exportRuns", "q-1", "/runs/q-1"],
    ["fireSchedule", "nightly", "/schedules?at=nightly"],
    ["revokeToken", "t-1", "/access?all=1"],
    ["chat", "desk/7", null],
    ["somethingNewer", "x", null],
  ])("of %s is where it can be looked at", (act, target, path) => {
    expect(targetPath(act, target)).toBe(path);
  });

  it("was refused if the status says so", () => {
    expect(["200", "202", "403 forbidden", "500"].map(isRefused)).toEqual([false, false, true, true]);
  });
});

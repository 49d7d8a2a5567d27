import { describe, expect, it } from "vitest";
import { decideAccess, isUseNoted } from "../../../src/core/access/access-decision.ts";
import { accessHash, accessSecret, isAccessSecret } from "../../../src/core/access/access-secret.ts";
import { mayDo, ROLES, readRole } from "../../../src/core/access/role.ts";

describe("a role", () => {
  it("may do what the one before it may, and more", () => {
    const may = ROLES.map((role) =>
      (["read", "act", "administer"] as const).map((each) => mayDo(role, each)),
    );
    expect(may).toEqual([
      [true, false, false],
      [true, true, false],
      [true, true, true],
    ]);
  });

  it("is one of three", () => {
    expect(readRole("operator")).toBe("operator");
    expect(() => readRole("root")).toThrow('The role is "root": give one of viewer, operator, admin.');
  });
});

describe("a secret", () => {
  it("is a text that is recognised, and found by its hash", () => {
    const secret = accessSecret(new Uint8Array(32).fill(255));
    expect(secret).toBe(`pawl_${"_".repeat(42)}8`);
    expect(isAccessSecret(secret)).toBe(true);
    expect(accessHash(secret)).toHaveLength(32);
    expect(() => accessSecret(new Uint8Array(16))).toThrow("32 random bytes");
  });

  it.each(["", "pawl_", "pawl_short", `pawl_${"a".repeat(44)}`, `Bearer pawl_${"a".repeat(43)}`])(
    "is not %j",
    (text) => {
      expect(isAccessSecret(text)).toBe(false);
    },
  );
});

describe("an access", () => {
  const token = { kind: "token", expiresAt: 10, redeemedAt: null, revokedAt: null } as const;

  it("is valid until it expires, is redeemed, or is revoked", () => {
    expect(decideAccess(token, 9)).toEqual({ kind: "valid" });
    expect(decideAccess(token, 10)).toEqual({ kind: "expired" });
    expect(decideAccess({ ...token, expiresAt: null }, 10)).toEqual({ kind: "valid" });
    expect(decideAccess({ ...token, kind: "code", redeemedAt: 5 }, 9)).toEqual({ kind: "redeemed" });
    expect(decideAccess({ ...token, redeemedAt: 5, revokedAt: 6 }, 9)).toEqual({ kind: "revoked" });
  });

  it("notes its first use, and then one a minute", () => {
    expect([isUseNoted(null, 0), isUseNoted(0, 59_999), isUseNoted(0, 60_000)]).toEqual([true, false, true]);
  });
});

import type { AuditProblem } from "../../core/access/audit-chain.ts";
import type { Role } from "../../core/access/role.ts";
import type { AccessScope } from "../../core/access/scope.ts";

export type { AuditEntry, AuditProblem, AuditRecord } from "../../core/access/audit-chain.ts";
export type { Permission, Role } from "../../core/access/role.ts";
export type { AccessScope, ScopeLabels } from "../../core/access/scope.ts";

/** A token or login code that is to be given to a person. */
export type NewAccess = {
  /** A code is exchanged once, for a session. */
  readonly kind: "token" | "code";
  /** Whose it is: the name that acts are recorded under. */
  readonly name: string;
  readonly role: Role;
  readonly scope: AccessScope;
  /** The SHA-256 of the secret, which is stored nowhere. */
  readonly hash: Uint8Array;
  /** In milliseconds since 1970; null for never. */
  readonly expiresAt: number | null;
  /** The name of the person who gives it. */
  readonly createdBy: string;
  /** The id of the access that it is made with, and that it ends with; null by default. */
  readonly madeFrom?: string | null;
};

/** A token or login code, without its secret. */
export type AccessRecord = Required<Omit<NewAccess, "hash">> & {
  /** The beginning of its hash. */
  readonly id: string;
  readonly createdAt: number;
  /** When a code was exchanged for a session. */
  readonly redeemedAt: number | null;
  /** To a minute. */
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
};

/** Which entries of the audit log are listed, the newest first. */
export type AuditRange = {
  /** Those before the one of this number. */
  readonly after?: number;
  /** At most this many; 100 by default, and no more than 1,000. */
  readonly limit?: number;
  /** The name of the person. */
  readonly who?: string;
  readonly act?: string;
  readonly target?: string;
  /** Those from this time on, in milliseconds since 1970. */
  readonly since?: number;
  /** Those up to this time, in milliseconds since 1970. */
  readonly until?: number;
};

/** The result of checking the audit log. Whoever keeps the last hash elsewhere notices if entries are missing at the end. */
export type AuditVerification = {
  readonly entries: number;
  readonly last: { readonly no: number; readonly hash: string } | null;
  /** The first entry that is not what was written; null if there is none. */
  readonly problem: AuditProblem | null;
};

/** The oldest entries are removed up to a time. */
export type AuditTrim = {
  /** In milliseconds since 1970. */
  readonly before: number;
};

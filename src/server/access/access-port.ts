import type { Role, Scope } from "../principal.ts";

/** A token or login code, without its secret. */
export type AccessRecord = {
  readonly accessId: string;
  readonly kind: "token" | "code";
  readonly name: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly madeFrom: string | null;
  readonly expiresAt: number | null;
  readonly redeemedAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
};

export type NewAccess = Pick<
  AccessRecord,
  "kind" | "name" | "role" | "scope" | "createdBy" | "madeFrom" | "expiresAt"
> & {
  readonly hash: Uint8Array;
};

export type NewAudit = {
  readonly who: string;
  readonly accessId: string | null;
  readonly role: Role | null;
  readonly act: string;
  readonly target: string | null;
  readonly status: number;
  readonly problem: string | null;
  readonly requestId: string | null;
};

/** What the server needs of the store for people. */
export interface AccessStore {
  grantAccess(access: NewAccess): Promise<AccessRecord>;
  redeemCode(hash: Uint8Array): Promise<AccessRecord | null>;
  revokeAccess(accessId: string): Promise<boolean>;
  findAccess(hash: Uint8Array): Promise<AccessRecord | null>;
  getAccess(accessId: string): Promise<AccessRecord | null>;
  listAccess(): Promise<readonly AccessRecord[]>;
  noteAccessUse(accessId: string): Promise<void>;
  recordAudit(entries: readonly NewAudit[]): Promise<void>;
}

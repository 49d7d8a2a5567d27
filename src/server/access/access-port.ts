import { ConfigurationError } from "../../core/errors.ts";
import type { Store } from "../../store/store.ts";
import type { Role, Scope } from "../principal.ts";

/** A token or login code that is to be given to a person. */
export type NewAccess = {
  readonly kind: "token" | "code";
  readonly name: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly hash: Uint8Array;
  readonly expiresAt: number | null;
  readonly createdBy: string;
  readonly madeFrom?: string | null;
};

/** A token or login code, without its secret. */
export type AccessRecord = Required<Omit<NewAccess, "hash">> & {
  readonly id: string;
  readonly createdAt: number;
  readonly redeemedAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
};

/** Something that a person did or read through a server. */
export type AuditEntry = {
  readonly who: { readonly name: string; readonly id: string | null; readonly role: Role | null };
  readonly act: string;
  readonly target: string | null;
  readonly status: number;
  readonly problem: string | null;
  readonly requestId: string | null;
};

export type AuditRecord = AuditEntry & { readonly no: number; readonly at: number };

export type AuditRange = {
  readonly after?: number;
  readonly limit?: number;
  readonly who?: string;
  readonly act?: string;
  readonly target?: string;
  readonly since?: number;
};

export interface AccessStore {
  grantAccess(access: NewAccess): Promise<AccessRecord>;
  redeemCode(hash: Uint8Array): Promise<AccessRecord | null>;
  revokeAccess(id: string): Promise<AccessRecord | null>;
  findAccess(hash: Uint8Array): Promise<AccessRecord | null>;
  getAccess(id: string): Promise<AccessRecord | null>;
  listAccess(): Promise<readonly AccessRecord[]>;
  noteAccessUse(id: string): Promise<void>;
  recordAudit(entries: readonly AuditEntry[]): Promise<void>;
  listAudit(range?: AuditRange): Promise<readonly AuditRecord[]>;
}

const NAMES = {
  grantAccess: true,
  redeemCode: true,
  revokeAccess: true,
  findAccess: true,
  getAccess: true,
  listAccess: true,
  noteAccessUse: true,
  recordAudit: true,
  listAudit: true,
} satisfies { readonly [Name in keyof AccessStore]: true };

/** The part of a store that knows people. A store of the user's own may not have it. */
export function accessStoreOf(store: Store): AccessStore {
  const has = (given: object): given is AccessStore => Object.keys(NAMES).every((name) => name in given);
  if (has(store)) return store;
  throw new ConfigurationError(
    "The store keeps no tokens and no audit log: open it with openStore, or implement grantAccess and the others of its family.",
  );
}

import type { Person } from "../../core/person.ts";
import type {
  AccessRecord,
  AuditEntry,
  AuditRange,
  AuditRecord,
  AuditTrim,
  AuditVerification,
  NewAccess,
} from "./access-records.ts";

/** Who may use a server of this store, and what people did through it. No bundle of a run has any of it. */
export interface AccessReader {
  /** The token or code with this SHA-256, whether or not it may still be used. */
  findAccess(hash: Uint8Array): Promise<AccessRecord | null>;
  getAccess(id: string): Promise<AccessRecord | null>;
  /** All of them, the newest first. */
  listAccess(): Promise<readonly AccessRecord[]>;
  /** The newest first. */
  listAudit(range?: AuditRange): Promise<readonly AuditRecord[]>;
  /** Reads the whole audit log, and compares each entry with its hash and with the one before it. */
  verifyAudit(): Promise<AuditVerification>;
}

/** The intents around access and the audit log. They are in no run's log. */
export interface AccessStore {
  /** Stores a token or a login code. The same hash again changes nothing. */
  grantAccess(access: NewAccess): Promise<AccessRecord>;

  /** Exchanges a login code, once. Null if there is no such code, or it was redeemed or revoked, or has expired. */
  redeemCode(hash: Uint8Array): Promise<AccessRecord | null>;

  /**
   * Ends a token or code for good, with all that were made from it, and from those: sessions and tokens. Resolves to it; null if
   * there is none.
   */
  revokeAccess(id: string): Promise<AccessRecord | null>;

  /** Ends the session of a code, as its person asks. What was made in the session stays: revoking the code ends that too. */
  endSession(id: string): Promise<void>;

  /** Notes that a token was used, or the session of a code. At most once a minute; else nothing is written. */
  noteAccessUse(id: string): Promise<void>;

  /** Appends to the audit log, in one transaction. Nothing ever changes an entry. */
  recordAudit(entries: readonly AuditEntry[]): Promise<void>;

  /**
   * Removes the oldest entries of the audit log, up to the first one that is not older, and appends who did it: the rest still
   * verifies. Some at a time: `isDone` is false while there are more.
   */
  trimAudit(
    trim: AuditTrim,
    person?: Person,
  ): Promise<{ readonly deleted: number; readonly isDone: boolean }>;
}

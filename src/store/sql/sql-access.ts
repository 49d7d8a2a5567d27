import { randomBytes } from "node:crypto";
import type * as contract from "../store.ts";
import * as access from "./access/access-intents.ts";
import * as audit from "./access/audit-intents.ts";
import { SqlQueue } from "./sql-queue.ts";

/** The intents around the access of people, and the log of what they did. */
export abstract class SqlAccess extends SqlQueue implements contract.AccessStore {
  grantAccess(given: contract.NewAccess): Promise<contract.AccessRecord> {
    return this.act("grantAccess", null, (tx) => access.grantAccess(tx, given));
  }

  redeemCode(hash: Uint8Array): Promise<contract.AccessRecord | null> {
    const call = callId();
    return this.act("redeemCode", null, (tx) => access.redeemCode(tx, hash, call));
  }

  revokeAccess(id: string): Promise<contract.AccessRecord | null> {
    return this.act("revokeAccess", null, (tx) => access.revokeAccess(tx, id));
  }

  endSession(id: string): Promise<void> {
    return this.act("endSession", null, (tx) => access.endSession(tx, id));
  }

  noteAccessUse(id: string): Promise<void> {
    return this.act("noteAccessUse", null, (tx) => access.noteAccessUse(tx, id));
  }

  recordAudit(entries: readonly contract.AuditEntry[]): Promise<void> {
    const batch = callId();
    return this.act("recordAudit", null, (tx) => audit.recordAudit(tx, entries, batch));
  }

  trimAudit(
    trim: contract.AuditTrim,
    person: contract.Person = {},
  ): ReturnType<contract.AccessStore["trimAudit"]> {
    const batch = callId();
    return this.act("trimAudit", null, (tx) => audit.trimAudit(tx, trim, person, batch));
  }
}

/** Identifies one call in the database: its transaction may be run again after its commit, if the answer to that is lost. */
function callId(): Uint8Array {
  return randomBytes(16);
}

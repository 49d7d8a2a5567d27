import { accessHash } from "../../core/access/access-secret.ts";
import { EVERYTHING } from "../../core/access/scope.ts";
import type { AuditEntry, NewAccess } from "../../store/store.ts";

/** A token or code of this name, which its secret is made from. */
export function newAccess(
  kind: NewAccess["kind"],
  name: string,
  over: Partial<NewAccess> = {},
): NewAccess & Required<Pick<NewAccess, "hash">> {
  return {
    kind,
    name,
    role: "operator",
    scope: EVERYTHING,
    hash: accessHash(`${kind} ${name}`),
    expiresAt: null,
    createdBy: "Root 🌱",
    ...over,
  };
}

/** An act of this person. */
export function newAuditEntry(name: string, over: Partial<AuditEntry> = {}): AuditEntry {
  return {
    who: { name, id: "a-1", role: "operator" },
    act: "runs.cancel",
    target: "run-1",
    status: 200,
    problem: null,
    requestId: "q-1",
    ...over,
  };
}

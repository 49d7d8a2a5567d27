import type { AccessRecord, AccessStore, Store } from "../../../src/store/store.ts";
import { newAccess, newAuditEntry } from "../../../src/testing/store/sample-access.ts";

/** Prepares an intent around access, and returns it. */
type PrepareAccess = (store: Store, name: string) => Promise<() => Promise<unknown>>;

/** The id is made from the hash, and that from the name. */
export function withoutId(access: AccessRecord | null): Omit<AccessRecord, "id"> | null {
  if (access === null) return null;
  const { id: _, ...rest } = access;
  return rest;
}

export const ACCESS_CASES: Readonly<Record<keyof AccessStore, PrepareAccess>> = {
  grantAccess: (store, name) =>
    Promise.resolve(async () => withoutId(await store.grantAccess(newAccess("token", name)))),
  redeemCode: async (store, name) => {
    const code = newAccess("code", name);
    await store.grantAccess(code);
    return async () => withoutId(await store.redeemCode(code.hash));
  },
  revokeAccess: async (store, name) => {
    const { id } = await store.grantAccess(newAccess("token", name));
    return async () => withoutId(await store.revokeAccess(id));
  },
  endSession: async (store, name) => {
    const { id } = await store.grantAccess(newAccess("code", name));
    return () => store.endSession(id);
  },
  noteAccessUse: async (store, name) => {
    const { id } = await store.grantAccess(newAccess("token", name));
    return () => store.noteAccessUse(id);
  },
  recordAudit: (store, name) => Promise.resolve(() => store.recordAudit([newAuditEntry(name)])),
  trimAudit: async (store, name) => {
    // Those of the cases before.
    await store.trimAudit({ before: Number.MAX_SAFE_INTEGER }, { by: "the test" });
    await store.recordAudit([newAuditEntry(name)]);
    return () => store.trimAudit({ before: Number.MAX_SAFE_INTEGER }, { by: name });
  },
};

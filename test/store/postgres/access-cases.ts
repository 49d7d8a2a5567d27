import type { AccessStore, Store } from "../../../src/store/store.ts";
import { newAccess, newAuditEntry } from "../../../src/testing/store/sample-access.ts";

/** Prepares an intent around access, and returns it. */
type PrepareAccess = (store: Store, name: string) => Promise<() => Promise<unknown>>;

export const ACCESS_CASES: Readonly<Record<keyof AccessStore, PrepareAccess>> = {
  grantAccess: (store, name) => Promise.resolve(() => store.grantAccess(newAccess("token", name))),
  redeemCode: async (store, name) => {
    const code = newAccess("code", name);
    await store.grantAccess(code);
    return () => store.redeemCode(code.hash);
  },
  revokeAccess: async (store, name) => {
    const { id } = await store.grantAccess(newAccess("token", name));
    return () => store.revokeAccess(id);
  },
  noteAccessUse: async (store, name) => {
    const { id } = await store.grantAccess(newAccess("token", name));
    return () => store.noteAccessUse(id);
  },
  recordAudit: (store, name) => Promise.resolve(() => store.recordAudit([newAuditEntry(name)])),
  trimAudit: async (store, name) => {
    await store.recordAudit([newAuditEntry(name)]);
    return () => store.trimAudit({ before: 0 });
  },
};

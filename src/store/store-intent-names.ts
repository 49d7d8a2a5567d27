import type { Store, StoreReader } from "./store.ts";

/** A method of `Store` that is not a plain read. */
export type StoreIntent = Exclude<keyof Store, keyof StoreReader>;

/** As a record, so that the compiler refuses a name that is missing, extra or listed twice. */
const NAMES = {
  createRun: true,
  claimRun: true,
  renewLease: true,
  releaseRun: true,
  interruptRun: true,
  attend: true,
  beginEffect: true,
  pinShape: true,
  beginStep: true,
  finishStep: true,
  skipStep: true,
  decideLoop: true,
  openTurn: true,
  settleModelCall: true,
  journalResponse: true,
  startToolCalls: true,
  openToolCall: true,
  correlateToolCall: true,
  endToolCallTry: true,
  recordReceipt: true,
  offerLateReceipt: true,
  commitTurn: true,
  beginLineage: true,
  acceptDivergence: true,
  keepTrace: true,
  dropTurn: true,
  forkRun: true,
  beginWork: true,
  completeWork: true,
  approve: true,
  deny: true,
  answer: true,
  settle: true,
  keepArtifact: true,
  requestCancel: true,
  collectBlobs: true,
  redactionKey: true,
  close: true,
} as const satisfies { readonly [Name in StoreIntent]: true };

/** The names of all methods of `Store` that `StoreReader` does not have, in the order of the contract. */
export const STORE_INTENTS = Object.keys(NAMES) as readonly StoreIntent[];

/** True for the name of a method that is not a plain read. */
export function isStoreIntent(name: string | symbol): name is StoreIntent {
  return Object.hasOwn(NAMES, name);
}

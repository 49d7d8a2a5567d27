import type { Fence, Store, StoreReader } from "../../store/store.ts";
import type { Life } from "./life.ts";

export type Intent = Exclude<keyof Store, keyof StoreReader | "close">;

/** Which methods of a store write; those have points around them. */
const INTENTS: { readonly [I in Intent]: true } = {
  createRun: true,
  claimRun: true,
  renewLease: true,
  releaseRun: true,
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
};

export const INTENT_NAMES = Object.keys(INTENTS) as readonly Intent[];

/** Told of every write that a worker made under its fence, once it is durable. */
export type OnFencedWrite = (intent: Intent, fence: Fence) => Promise<void>;

/** The store as one process has it: each intent with its points, and nothing at all once the process is dead. */
export function portedStore(inner: Store, life: Life, onWrite: OnFencedWrite): Store {
  return new Proxy(inner, {
    get: (store, name) => {
      const member: unknown = Reflect.get(store, name, store);
      if (typeof member !== "function" || typeof name !== "string") return member;
      const method = (...args: unknown[]): unknown => Reflect.apply(member, store, args);
      if (!isIntent(name)) return (...args: unknown[]) => life.look(() => method(...args));
      return (...args: unknown[]) =>
        life.through(`store.${name}`, async () => {
          const result = await method(...args);
          const fence = args[0];
          if (isFence(fence)) await onWrite(name, fence);
          return result;
        });
    },
  });
}

function isIntent(name: string): name is Intent {
  return Object.hasOwn(INTENTS, name);
}

function isFence(value: unknown): value is Fence {
  return typeof value === "object" && value !== null && "runId" in value && "epoch" in value;
}

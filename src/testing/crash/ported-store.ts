import { StoreUnavailableError } from "../../core/errors.ts";
import type { EffectTry, Fence, Store, StoreReader } from "../../store/store.ts";
import type { Life } from "./life.ts";

export type Intent = Exclude<keyof Store, keyof StoreReader | "close" | "attend" | "redactionKey">;

/** Which methods of a store write; those have points around them. */
const INTENTS: { readonly [I in Intent]: true } = {
  createRun: true,
  claimRun: true,
  renewLease: true,
  releaseRun: true,
  interruptRun: true,
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
};

export const INTENT_NAMES = Object.keys(INTENTS) as readonly Intent[];

/** Who is told of what a process does. */
export type ToldOfStore = {
  /** Of every write that a worker made under its fence, once it is durable. */
  readonly onWrite: (intent: Intent, fence: Fence) => Promise<void>;
  /** Of every effect that was noted as about to leave. */
  readonly onEffect: (fence: Fence, effect: EffectTry) => Promise<void>;
};

/** The store as one process has it: each intent with its points, and nothing at all once the process is dead. */
export function portedStore(inner: Store, life: Life, told: ToldOfStore): Store {
  return new Proxy(inner, {
    get: (store, name) => {
      const member: unknown = Reflect.get(store, name, store);
      if (typeof member !== "function" || typeof name !== "string") return member;
      const method = (...args: unknown[]): unknown => Reflect.apply(member, store, args);
      // In memory alone, or not of the database: it takes no time.
      if (name === "attend" || name === "redactionKey") return method;
      if (!isIntent(name)) return (...args: unknown[]) => life.look(() => method(...args));
      return (...args: unknown[]) =>
        life.through(`store.${name}`, async () => {
          // A mark has its place in a file that is there already.
          if (life.isDiskFull && name !== "beginEffect") throw diskFull();
          const result = await method(...args);
          const [fence, effect] = args;
          if (name === "beginEffect") await told.onEffect(fence as Fence, effect as EffectTry);
          else if (isFence(fence)) await told.onWrite(name, fence);
          return result;
        });
    },
  });
}

function diskFull(): StoreUnavailableError {
  return new StoreUnavailableError("The simulated disk is full: nothing was written.", { reason: "full" });
}

function isIntent(name: string): name is Intent {
  return Object.hasOwn(INTENTS, name);
}

function isFence(value: unknown): value is Fence {
  return typeof value === "object" && value !== null && "runId" in value && "epoch" in value;
}

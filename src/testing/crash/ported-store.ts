import {
  type EffectAttempt,
  type Fence,
  isStoreIntent,
  STORE_INTENTS,
  type Store,
  type StoreIntent,
} from "../../store/store.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** Not transactions: they do not touch the database, or close it. */
const WITHOUT_POINTS = ["attend", "redactionKey", "close"] as const satisfies readonly StoreIntent[];

/** A method of a store that has crash points around it: it writes. */
export type Intent = Exclude<StoreIntent, (typeof WITHOUT_POINTS)[number]>;

export const INTENT_NAMES: readonly Intent[] = STORE_INTENTS.filter(isIntent);

/** Notified of the writes of a process. */
export type StoreListener = {
  /** Before every write; if it throws, there is none. */
  readonly beforeWrite: (intent: Intent) => void;
  /** After every write that has succeeded. */
  readonly onIntent: (intent: Intent, args: readonly unknown[], result: unknown) => Promise<void>;
  /** After every fenced write of a worker, once it is durable. */
  readonly onWrite: (intent: Intent, fence: Fence) => Promise<void>;
  /** After every effect that was marked as about to be sent. */
  readonly onEffect: (fence: Fence, effect: EffectAttempt) => Promise<void>;
};

/** For a process whose writes count for nothing. */
export const NO_LISTENER: StoreListener = {
  beforeWrite: () => undefined,
  onIntent: () => Promise.resolve(),
  onWrite: () => Promise.resolve(),
  onEffect: () => Promise.resolve(),
};

/** The store of one process: each intent has its points, and no call returns once the process is dead. */
export function portedStore(inner: Store, life: SimulatedProcess, listener: StoreListener): Store {
  return new Proxy(inner, {
    get: (store, name) => {
      const member: unknown = Reflect.get(store, name, store);
      if (typeof member !== "function" || typeof name !== "string") return member;
      const method = (...args: unknown[]): unknown => Reflect.apply(member, store, args);
      // These do not touch the database, and take no time.
      if (name === "attend" || name === "redactionKey") return method;
      if (!isIntent(name)) return (...args: unknown[]) => life.read(() => method(...args));
      return (...args: unknown[]) =>
        life.call(`store.${name}`, async () => {
          listener.beforeWrite(name);
          const result = await method(...args);
          await listener.onIntent(name, args, result);
          const [fence, effect] = args;
          if (name === "beginEffect") await listener.onEffect(fence as Fence, effect as EffectAttempt);
          else if (isFence(fence)) await listener.onWrite(name, fence);
          return result;
        });
    },
  });
}

function isIntent(name: string): name is Intent {
  return isStoreIntent(name) && !WITHOUT_POINTS.some((other) => other === name);
}

function isFence(value: unknown): value is Fence {
  return typeof value === "object" && value !== null && "runId" in value && "epoch" in value;
}

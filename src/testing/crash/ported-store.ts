import { StoreUnavailableError } from "../../core/errors.ts";
import {
  type EffectAttempt,
  type Fence,
  isStoreIntent,
  STORE_INTENTS,
  type Store,
  type StoreIntent,
} from "../../store/store.ts";
import type { Life } from "./life.ts";

/** Not transactions: in memory alone, a key that is kept outside of the database, and the end of the store. */
const WITHOUT_POINTS = ["attend", "redactionKey", "close"] as const satisfies readonly StoreIntent[];

/** A method of a store that has crash points around it: it writes. */
export type Intent = Exclude<StoreIntent, (typeof WITHOUT_POINTS)[number]>;

export const INTENT_NAMES: readonly Intent[] = STORE_INTENTS.filter(isIntent);

/** Who is told of what a process does. */
export type ToldOfStore = {
  /** Of every write that a worker made under its fence, once it is durable. */
  readonly onWrite: (intent: Intent, fence: Fence) => Promise<void>;
  /** Of every effect that was noted as about to leave. */
  readonly onEffect: (fence: Fence, effect: EffectAttempt) => Promise<void>;
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
          if (name === "beginEffect") await told.onEffect(fence as Fence, effect as EffectAttempt);
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
  return isStoreIntent(name) && !WITHOUT_POINTS.some((other) => other === name);
}

function isFence(value: unknown): value is Fence {
  return typeof value === "object" && value !== null && "runId" in value && "epoch" in value;
}

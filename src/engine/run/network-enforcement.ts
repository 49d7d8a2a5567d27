import { AsyncLocalStorage } from "node:async_hooks";
import { FinalFailure } from "../../core/errors.ts";
import { checkUrl, type NetworkPolicy } from "../../core/network-policy.ts";
import { type NetworkRefusedError, refusal } from "../../core/network-refusal.ts";
import type { RunRules } from "../definition/run-rules.ts";

// Implements `policy.network: "enforce"`. Node's `fetch` and the package `undici` send their requests through one global
// dispatcher, stored under the symbols below. There, the request of a tool is recognised by its async context.

/** The part of undici's dispatcher that is used. */
type Dispatcher = { dispatch(options: DispatchOptions, handler: unknown): boolean };
type DispatchOptions = { readonly origin?: string | URL; readonly path?: string };

/** The symbols of undici's global dispatcher, one for each version of its interface. */
const DISPATCHER_SYMBOLS = ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].map((name) =>
  Symbol.for(name),
);

/** A tool call under enforcement, and the errors of its refused requests. */
type EnforcedCall = { readonly network: NetworkPolicy; readonly refused: Set<unknown> };

const enforcedCalls = new AsyncLocalStorage<EnforcedCall>();
const guards = new WeakSet<object>();

/**
 * Runs a tool; with `policy.network: "enforce"`, its requests through the global dispatcher reach `allowedDomains` only. A
 * refused request fails in the tool like any `fetch` that cannot connect. If the tool does not catch that error, its call
 * fails and is not retried.
 */
export function enforceNetwork({ network, enforcesNetwork }: RunRules, work: () => unknown): unknown {
  if (!enforcesNetwork || network.allowedDomains.length === 0) return work();
  guardDispatchers();
  const call: EnforcedCall = { network, refused: new Set() };
  return enforcedCalls.run(call, async () => {
    try {
      return await work();
    } catch (error) {
      const refused = refusalIn(error, call);
      throw refused === null ? error : new FinalFailure(refused.message, {}, { cause: error });
    }
  });
}

/**
 * Called before each tool call: another dispatcher may have been set since. A guard is never removed: a call that was cut
 * off may still send, and requests outside of tool calls pass unchanged.
 */
function guardDispatchers(): void {
  // Reading it loads Node's own undici, which sets the dispatcher if there is none.
  void globalThis.Headers;
  const known = new Map<object, object>();
  for (const symbol of DISPATCHER_SYMBOLS) {
    const present: unknown = Reflect.get(globalThis, symbol);
    if (!isDispatcher(present) || guards.has(present)) continue;
    const guard = known.get(present) ?? guarded(present);
    known.set(present, guard);
    Reflect.set(globalThis, symbol, guard);
  }
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === "object" && value !== null && "dispatch" in value;
}

/** Methods that send through `this.dispatch` and use no private fields. */
const SENDING_METHODS: readonly (string | symbol)[] = [
  "request",
  "stream",
  "pipeline",
  "connect",
  "upgrade",
  "compose",
];

/** Wraps a dispatcher and checks each request before it is sent; redirects are requests too. */
function guarded(dispatcher: Dispatcher): Dispatcher {
  const dispatch: Dispatcher["dispatch"] = (options, handler) => {
    assertAllowed(options);
    return dispatcher.dispatch(options, handler);
  };
  const guard = new Proxy(dispatcher, {
    get(target, name): unknown {
      if (name === "dispatch") return dispatch;
      const value: unknown = Reflect.get(target, name, target);
      // Other methods use private fields, which only the dispatcher itself has.
      return typeof value === "function" && !SENDING_METHODS.includes(name)
        ? (value.bind(target) as unknown)
        : value;
    },
  });
  guards.add(guard);
  return guard;
}

function assertAllowed({ origin, path = "/" }: DispatchOptions): void {
  const call = enforcedCalls.getStore();
  if (call === undefined) return;
  const url = origin === undefined ? null : URL.parse(path, String(origin));
  const check = checkUrl(call.network, url ?? "");
  if (check.ok) return;
  const error = refusal(url, check.why);
  call.refused.add(error);
  throw error;
}

const MAX_CAUSES = 20;

/** The refusal among the causes of an error: the error of `fetch` itself only says that it failed. */
function refusalIn(error: unknown, { refused }: EnforcedCall): NetworkRefusedError | null {
  try {
    let cause = error;
    for (let i = 0; i < MAX_CAUSES && cause instanceof Error; i++, cause = cause.cause)
      if (refused.has(cause)) return cause as NetworkRefusedError;
  } catch {
    // Reading its fields throws, so it is not one of ours.
  }
  return null;
}

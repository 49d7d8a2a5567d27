import { AsyncLocalStorage } from "node:async_hooks";
import { FinalFailure } from "../../core/errors.ts";
import { checkUrl, type NetworkPolicy } from "../../core/network-policy.ts";
import { type NetworkRefusedError, refusal } from "../../core/network-refusal.ts";
import type { RunRules } from "../definition/run-rules.ts";

// What `policy.network: "enforce"` does. Node's `fetch` and the package `undici` send their requests through one dispatcher
// of the process, which they keep under these names: the request of a tool is known there by its async context.

/** The part of undici's dispatcher that is used. */
type Dispatcher = { dispatch(options: DispatchOptions, handler: unknown): boolean };
type DispatchOptions = { readonly origin?: string | URL; readonly path?: string };

/** As undici names them: by the version of its dispatcher. */
const PLACES = ["undici.globalDispatcher.1", "undici.globalDispatcher.2"].map((name) => Symbol.for(name));

/** A call of a tool that is bound, and what was refused to it. */
type EnforcedCall = { readonly network: NetworkPolicy; readonly refused: Set<unknown> };

const enforcedCalls = new AsyncLocalStorage<EnforcedCall>();
const guards = new WeakSet<object>();

/**
 * Runs a tool so that what it requests through the process's dispatcher goes to `allowedDomains` only, where the rules say so
 * and name any. A request that is refused fails in the tool as any `fetch` that cannot connect; where the tool lets that
 * through, its call has failed, and is not tried again.
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
 * Before each call: another dispatcher may have been set since. A guard is never taken away again: a call that was given up on
 * may still send, and to those who are no tool it changes nothing.
 */
function guardDispatchers(): void {
  // Reading it loads Node's own undici, which sets the dispatcher unless there is one.
  void globalThis.Headers;
  const known = new Map<object, object>();
  for (const place of PLACES) {
    const present: unknown = Reflect.get(globalThis, place);
    if (!isDispatcher(present) || guards.has(present)) continue;
    const guard = known.get(present) ?? guarded(present);
    known.set(present, guard);
    Reflect.set(globalThis, place, guard);
  }
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === "object" && value !== null && "dispatch" in value;
}

/** They send by `this.dispatch`, and look at nothing else of a dispatcher. */
const SENDING: readonly (string | symbol)[] = [
  "request",
  "stream",
  "pipeline",
  "connect",
  "upgrade",
  "compose",
];

/** The dispatcher that was there, whosever it is, with a look at each request before it is dispatched: redirects are requests too. */
function guarded(dispatcher: Dispatcher): Dispatcher {
  const dispatch: Dispatcher["dispatch"] = (options, handler) => {
    assertAllowed(options);
    return dispatcher.dispatch(options, handler);
  };
  const guard = new Proxy(dispatcher, {
    get(target, name): unknown {
      if (name === "dispatch") return dispatch;
      const value: unknown = Reflect.get(target, name, target);
      // Their private fields are those of the dispatcher itself.
      return typeof value === "function" && !SENDING.includes(name) ? (value.bind(target) as unknown) : value;
    },
  });
  guards.add(guard);
  return guard;
}

function assertAllowed({ origin, path = "/" }: DispatchOptions): void {
  const call = enforcedCalls.getStore();
  if (call === undefined) return;
  const url = origin === undefined ? null : URL.parse(path, String(origin));
  const verdict = checkUrl(call.network, url ?? "");
  if (verdict.ok) return;
  const error = refusal(url, verdict.why);
  call.refused.add(error);
  throw error;
}

const MOST_CAUSES = 20;

/** Among what caused the error: `fetch` says no more than that it failed. */
function refusalIn(error: unknown, { refused }: EnforcedCall): NetworkRefusedError | null {
  try {
    let cause = error;
    for (let i = 0; i < MOST_CAUSES && cause instanceof Error; i++, cause = cause.cause)
      if (refused.has(cause)) return cause as NetworkRefusedError;
  } catch {
    // It cannot be looked at, so it is none of ours.
  }
  return null;
}

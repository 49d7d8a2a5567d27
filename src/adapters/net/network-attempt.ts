import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe } from "node:diagnostics_channel";

/**
 * How far the HTTP requests of one call got: none was seen, one was created, or the headers of one were sent.
 * `unseen` does not mean that nothing was sent: the call may use a transport other than Node's `fetch`.
 */
export type NetworkProgress = "unseen" | "created" | "sent";

export type NetworkAttempt = { readonly progress: NetworkProgress };

type MutableAttempt = { progress: NetworkProgress };

const attempts = new AsyncLocalStorage<MutableAttempt>();
const attemptOfRequest = new WeakMap<object, MutableAttempt>();
let subscribed = false;

/**
 * Runs a call and watches what Node's `fetch` (undici) does for it. Wrapping `globalThis.fetch` would be simpler, but
 * would miss both whether a connection was made and the providers that kept the original function.
 *
 * @example
 * await watchNetwork(async (attempt) => {
 *   await fetch("https://example.com");
 *   attempt.progress; // "sent"
 * });
 */
export function watchNetwork<T>(call: (attempt: NetworkAttempt) => Promise<T>): Promise<T> {
  subscribeOnce();
  const attempt: MutableAttempt = { progress: "unseen" };
  return attempts.run(attempt, () => call(attempt));
}

function subscribeOnce(): void {
  if (subscribed) return;
  subscribed = true;
  subscribe("undici:request:create", (message) => {
    const request = requestIn(message);
    const attempt = attempts.getStore();
    if (request === null || attempt === undefined) return;
    attemptOfRequest.set(request, attempt);
    if (attempt.progress === "unseen") attempt.progress = "created";
  });
  // Matched by the request, not by the async context: headers are written when a socket becomes free, which may
  // happen in the context of the call that used the socket before.
  subscribe("undici:client:sendHeaders", (message) => {
    const request = requestIn(message);
    const attempt = request === null ? undefined : attemptOfRequest.get(request);
    if (attempt !== undefined) attempt.progress = "sent";
  });
}

function requestIn(message: unknown): object | null {
  if (typeof message !== "object" || message === null || !("request" in message)) return null;
  return typeof message.request === "object" ? message.request : null;
}

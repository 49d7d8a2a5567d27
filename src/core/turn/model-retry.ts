import { backoffMs, LONGEST_BACKOFF_MS } from "../backoff.ts";
import type { ModelCallError } from "../errors.ts";

type FailureDetails = ModelCallError["details"];

/** The provider is overloaded or down for a while. Any other 5xx may come after the provider has worked on an answer. */
const UNAVAILABLE_STATUSES: ReadonlySet<number> = new Set([503, 529]);

/** True if the provider certainly did not work on the request, so nothing is charged for it. */
export function isUncharged({ kind, status }: FailureDetails): boolean {
  switch (kind) {
    case "not_sent":
    case "rejected":
    case "rate_limited":
      return true;
    case "server_error":
      return status !== null && UNAVAILABLE_STATUSES.has(status);
    case "no_answer":
    case "timeout":
      return false;
  }
}

/** True if the provider takes no requests at the moment: it refused this one unread, or cannot be reached. */
export function isOutage(details: FailureDetails): boolean {
  return details.retryable && details.kind !== "rejected" && isUncharged(details);
}

/** The request cannot be processed as it is: too long, or a part of it is not valid. */
const BAD_REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * True if the provider may have rejected what the request contains, so that the same history would be rejected again. Any
 * other failure (a wrong key, no credit, a wrong address, an outage) leaves the history good.
 */
export function rejectsHistory({ kind, status, account }: FailureDetails): boolean {
  return kind === "rejected" && account !== true && (status === null || BAD_REQUEST_STATUSES.has(status));
}

/** A wrong key, no credit, a timeout of the server and a limit of requests: none is about what the request contains. */
const OTHER_REJECTIONS: ReadonlySet<number | null> = new Set([401, 402, 408, 429]);

/**
 * True if the provider may have rejected a file in the request. In doubt it has: gateways answer 404 for a model that reads
 * no pictures, and a file that is shown again would be rejected again.
 */
export function mayRejectFiles({ kind, status, account, contents }: FailureDetails): boolean {
  if (kind === "not_sent") return contents === true;
  return kind === "rejected" && account !== true && !OTHER_REJECTIONS.has(status);
}

/** What a provider has refused in a request: files, or what users have said. It is shown in another way from then on. */
export type RefusedContents = "files" | "texts";

/**
 * What to set aside after a failed request, so that the next one is not refused for the same. Files come first: without
 * them the texts may be answered. Null if the request may be good, or if nothing in it can be set aside.
 */
export function refusedContents(
  details: FailureDetails,
  { hasFiles, hasTexts }: { readonly hasFiles: boolean; readonly hasTexts: boolean },
): RefusedContents | null {
  if (hasFiles && mayRejectFiles(details)) return "files";
  return hasTexts && rejectsHistory(details) ? "texts" : null;
}

/** True if the same request would fail in the same way: a person has to change something first. */
export function needsCorrection(details: FailureDetails): boolean {
  return !details.retryable && (details.kind === "not_sent" || details.kind === "rejected");
}

/** The failed attempts at a turn so far, in this process. */
export type FailedAttempts = {
  /** Attempts that failed in any other way than by an outage. */
  readonly failures: number;
  /** Attempts in a row that an outage refused, and how long ago the first of them was. */
  readonly refusals: number;
  readonly outageMs: number;
};

export type RetryLimits = {
  readonly maxAttempts: number;
  /** The longest outage to wait out; null for any. */
  readonly maxOutageMs: number | null;
};

/** What follows a failed attempt. `outage`: the provider is asked until it takes requests again. */
export type ModelRetry =
  | { readonly kind: "again" | "outage"; readonly inMs: number }
  | { readonly kind: "end" }
  /** The outage has lasted for `maxOutageMs`, or the provider asks for a pause (`askedMs`) that ends later. */
  | { readonly kind: "outage_too_long"; readonly maxOutageMs: number; readonly askedMs: number | null };

/** A provider that asks for a longer pause is asked again after a day: refused requests cost nothing. */
export const LONGEST_PAUSE_MS = 24 * 60 * 60_000;

/**
 * Decides what follows a failed attempt, which is counted in `attempts` already. The next one comes at least as late as the
 * provider asked for. Outages are waited out and do not count against `maxAttempts`. `random` is from 0 up to 1.
 */
export function decideRetry(
  details: FailureDetails,
  attempts: FailedAttempts,
  limits: RetryLimits,
  random: number,
): ModelRetry {
  const asked = details.retryAfterMs ?? 0;
  if (isOutage(details)) {
    const askedMs = Math.min(asked, LONGEST_PAUSE_MS);
    const inMs = Math.max(askedMs, backoffMs(attempts.refusals, random));
    const { maxOutageMs } = limits;
    if (maxOutageMs === null) return { kind: "outage", inMs };
    const leftMs = Math.ceil(maxOutageMs - attempts.outageMs);
    if (leftMs <= 0) return { kind: "outage_too_long", maxOutageMs, askedMs: null };
    if (askedMs > leftMs) return { kind: "outage_too_long", maxOutageMs, askedMs };
    // The last request comes at the limit.
    return { kind: "outage", inMs: Math.min(inMs, leftMs) };
  }
  const isLast = attempts.failures >= limits.maxAttempts;
  // The run fails instead of such a long pause, and can be resumed later.
  if (!details.retryable || isLast || asked > LONGEST_BACKOFF_MS) return { kind: "end" };
  return { kind: "again", inMs: Math.max(asked, backoffMs(attempts.failures, random)) };
}

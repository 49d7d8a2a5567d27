import { FinalFailure, NotApplied } from "../../core/errors.ts";
import type { ToolCallContext } from "../../engine/definition/tool.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";
import { NetworkRefusedError } from "../net/guarded-fetch.ts";
import { watchNetwork } from "../net/network-attempt.ts";
import { readableText } from "../net/readable-text.ts";
import { retryAfterMs } from "../net/retry-after.ts";

/** Only the host: the rest of a URL may be secret, and errors are stored. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "the server";
}

/**
 * Makes a request that may change something. A failure before its headers were sent means that it did not happen, and
 * throws `NotApplied`; after any later failure the outcome is unknown.
 */
export async function requestOnce(
  url: string,
  call: Hider,
  request: () => Promise<Response>,
): Promise<Response> {
  return watchNetwork(async (attempt) => {
    try {
      return await request();
    } catch (error) {
      const why = failureText(error, call);
      if (attempt.progress !== "sent")
        throw new NotApplied(`Nothing was sent to ${hostOf(url)}: ${why}.`, {}, { cause: error });
      throw new Error(`${hostOf(url)} gave no answer: ${why}.`, { cause: error });
    }
  });
}

/** Hides secrets in a text, before it is cut. */
export type Hider = Pick<ToolCallContext, "hide">;

/** Why a request failed, in a few words: `fetch failed` alone says nothing. */
export function failureText(error: unknown, { hide }: Hider): string {
  if (NetworkRefusedError.isInstance(error)) return readableText(error.message);
  const texts = [...causesOf(error)].map(messageOf).filter((text) => text !== "" && text !== "fetch failed");
  return readableText(hide(texts[0] ?? messageOf(error)));
}

/**
 * Throws for an error response to a request that would have changed something. `message` is the beginning of its body,
 * without secrets.
 */
export function assertAccepted(
  url: string,
  { status, headers }: Response,
  { message, keyed }: { readonly message: string; readonly keyed: boolean },
): void {
  if (status < 400) return;
  const reason = message.trim() === "" ? "" : `: ${readableText(message)}`;
  const answer = `${hostOf(url)} answered ${status}${reason}.`;
  const asksToWait = retryAfterMs(Object.fromEntries(headers)) !== null;
  if (status === 429 || (status === 503 && asksToWait)) throw new NotApplied(answer);
  // Another attempt with the same key is still in progress there: a retry gets its outcome.
  if (status === 409 && keyed) throw new Error(answer);
  if (status < 500) throw new FinalFailure(answer, { applied: false });
  throw new Error(`${answer} It may have happened anyway.`);
}

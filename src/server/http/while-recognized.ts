import { heldResponse } from "./held-response.ts";

/** As long as other processes take to notice that a token was revoked. */
const EVERY_MS = 3_000;

/**
 * A stream that breaks once its reader is no longer who they were when they opened it: a token was revoked, a session ended, a
 * role changed. A reader who may still read opens another one. A look that fails says nothing, and the next one decides.
 */
export function whileRecognized(
  response: Response,
  isStillTheSame: () => Promise<boolean>,
  everyMs = EVERY_MS,
): Response {
  const unknown = new AbortController();
  const look = async () => {
    if (await isStillTheSame().catch(() => true)) return;
    unknown.abort(new Error("The reader of the stream is no longer allowed to read it."));
  };
  const timer = setInterval(() => void look(), everyMs).unref();
  return heldResponse(response, { until: [unknown.signal], release: () => clearInterval(timer) });
}

import { ModelCallError } from "../../core/errors.ts";
import type { ModelCallPlace } from "../../engine/run/effects-port.ts";
import { type ProcessTools, RUN_ID, type Scenario, workUntilTheEnd } from "./scenario.ts";

/** What a provider does instead of answering, or to its answer. */
export type ModelFault =
  /** It fails, with status 500. */
  | "failed"
  /** It is asked too often: status 429, and nothing is counted. */
  | "refused"
  /** The connection breaks before it has begun. */
  | "request-lost"
  /** It has answered, and counted it, and the connection breaks. */
  | "answer-lost"
  /** It says nothing, until whoever asked gives up. */
  | "silent";

/** Decides what goes wrong with a request of a process; null where nothing does. */
export type ModelFaults = (life: number, place: ModelCallPlace) => ModelFault | null;

/** The error that an adapter makes of it. One that was silent is the asker's own to notice. */
export function faultError(fault: Exclude<ModelFault, "silent">): ModelCallError {
  const [message, details] = ERRORS[fault];
  return new ModelCallError(`The provider ${message}.`, details);
}

const unanswered = { kind: "no_answer", status: null, retryAfterMs: null, retryable: true } as const;

const ERRORS: {
  readonly [F in Exclude<ModelFault, "silent">]: readonly [string, ModelCallError["details"]];
} = {
  failed: ["failed (500)", { kind: "server_error", status: 500, retryAfterMs: null, retryable: true }],
  refused: [
    "refused the request for now (429)",
    { kind: "rate_limited", status: 429, retryAfterMs: 3_000, retryable: true },
  ],
  "request-lost": ["was asked and gave no answer: the connection broke", unanswered],
  "answer-lost": ["answered, and the connection broke", unanswered],
};

/**
 * Works until the end, where providers fall silent: a request that nobody answered in time is not made again by itself, it
 * fails the run, and somebody resumes it.
 */
export async function workInSpiteOfSilence(scenario: Scenario, tools: ProcessTools): Promise<unknown> {
  for (let rounds = 1; ; rounds++) {
    try {
      return await workUntilTheEnd(scenario, tools);
    } catch (error) {
      if (!isTimeout(error) || rounds === MOST_ROUNDS) throw error;
    }
    try {
      await tools.runner.resume(RUN_ID, { wait: true });
    } catch (error) {
      if (!isTimeout(error)) throw error;
    }
  }
}

const MOST_ROUNDS = 20;

function isTimeout(error: unknown): boolean {
  return ModelCallError.isInstance(error) && error.details.kind === "timeout";
}

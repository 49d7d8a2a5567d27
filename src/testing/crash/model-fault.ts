import { ModelCallError } from "../../core/errors.ts";
import type { ModelAttemptId } from "../../engine/run/effects-port.ts";
import { type ProcessTools, RUN_ID, type Scenario, workUntilDone } from "./scenario.ts";

/** A failure of a provider, before or after it has answered. */
export type ModelFault =
  /** It fails, with status 500. */
  | "failed"
  /** Rate limited: status 429, and nothing is charged. */
  | "refused"
  /** The connection breaks before the provider has started. */
  | "request-lost"
  /** It has answered and charged, and then the connection breaks. */
  | "answer-lost"
  /** It does not answer until the caller gives up. */
  | "silent";

/** Picks the fault of a request; null for none. */
export type ModelFaults = (life: number, place: ModelAttemptId) => ModelFault | null;

/** The error that an adapter throws for it. A silent provider is noticed by the caller's own timeout. */
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

/** Like `workUntilDone`, but resumes a run that failed with a model timeout, which Pawl does not retry. */
export async function workDespiteTimeouts(scenario: Scenario, tools: ProcessTools): Promise<unknown> {
  for (let rounds = 1; ; rounds++) {
    try {
      return await workUntilDone(scenario, tools);
    } catch (error) {
      if (!isTimeout(error) || rounds === MAX_ROUNDS) throw error;
    }
    try {
      await tools.runner.resume(RUN_ID, { wait: true });
    } catch (error) {
      if (!isTimeout(error)) throw error;
    }
  }
}

const MAX_ROUNDS = 20;

function isTimeout(error: unknown): boolean {
  return ModelCallError.isInstance(error) && error.details.kind === "timeout";
}

import { PawlError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import { reviveError } from "../../../core/stored-error.ts";
import type { ExchangeRecord, MessageRecord, RunRecord, WaitRecord } from "../../../store/store.ts";

/**
 * A call of an agent that `asAgent` made has no answer: the run failed, an exchange ended without one, or the run waits for
 * people. `runId` names the run; `details.why` is `failed`, `cancelled`, `waits`, `withdrawn`, or how the exchange ended.
 */
export class MirroredRunError extends PawlError<{ why: string } & JsonObject> {
  readonly code = "mirrored_run";
}

function mirrorError(runId: string, why: string, message: string, details: JsonObject = {}): Error {
  const error = new MirroredRunError(message, { why, ...details });
  error.runId = runId;
  return error;
}

/** The errors for ends without an answer. */
export const endError = {
  ofRun: ({ runId, status, error, moved }: RunRecord): Error => {
    if (status === "moved")
      return mirrorError(
        runId,
        "moved",
        `Run ${runId} was moved to the store ${moved?.to ?? ""}: ask there.`,
      );
    if (status === "cancelled" || error === null)
      return mirrorError(runId, status, `Run ${runId} was cancelled: runner.resume(runId) continues it.`);
    // The same error that `runner.run` would throw.
    const revived = reviveError(error);
    revived.runId = runId;
    return revived;
  },
  ofExchange: (runId: string, { exchange, outcome, why }: ExchangeRecord): Error =>
    mirrorError(
      runId,
      outcome ?? "failed",
      `Exchange ${exchange} of run ${runId} ended without an answer (${outcome ?? "failed"}): ${why ?? "no reason is stored"}`,
    ),
  ofClosedConversation: (runId: string): Error =>
    mirrorError(runId, "closed", `Conversation ${runId} is closed: begin another one, with another run id.`),
  ofMessage: (runId: string, { id, status, reason }: MessageRecord): Error =>
    mirrorError(
      runId,
      status,
      `Message ${id} to run ${runId} was ${status}${reason === null ? "" : ` (${reason})`}: send it again.`,
    ),
};

/** The run waits for people about something that the SDK has no part for. */
export function waitsError(runId: string, waits: readonly WaitRecord[]): Error {
  const questions = waits.map(({ waitId, question }) => `${waitId}: ${question}`).join(" ");
  return mirrorError(
    runId,
    "waits",
    `Run ${runId} waits for a person (${questions}). Answer with pawl waits or the store's approve, deny, answer and settle, and make the same call again.`,
    { waits: waits.map(({ waitId }) => waitId) },
  );
}

/** The run went back behind what was shown already, which the SDK cannot take back. */
export function shownIsAbandoned(runId: string, turn: number | null): Error {
  const which = turn === null ? "A turn" : `Turn ${turn}`;
  return mirrorError(
    runId,
    "withdrawn",
    `${which} of run ${runId} was shown and is no longer part of the run, which was resumed from an earlier place: make the same call again.`,
  );
}

/** What was shown of an answer while it was written is not the answer. */
export function attemptWithdrawn(runId: string, turn: number): Error {
  return mirrorError(
    runId,
    "withdrawn",
    `The model's answer in turn ${turn} of run ${runId} was taken back while it was shown, and the AI SDK cannot remove it: make the same call again, or use asAgent(runner, { parts: "journaled" }), which shows answers once they are stored.`,
  );
}

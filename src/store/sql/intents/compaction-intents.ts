import { ResumeError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Compaction, Fence, SummaryOpening, TurnOpened } from "../../store.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import type { SqlScript } from "../script.ts";
import { lastExchange, openOf } from "../tables/exchange-rows.ts";
import { granularState } from "../tables/granular-state.ts";
import { switchLineage } from "../tables/lineage-rows.ts";
import { openModelCall, reclaim } from "../tables/model-calls.ts";
import { fencedStep, recordEvent, stepHead } from "../tables/run-row.ts";
import { insertRow, type Transaction } from "../transaction.ts";
import { chargeFacts } from "./turn-intents.ts";

export function* openSummary(
  tx: Transaction,
  fence: Fence,
  opening: SummaryOpening,
): SqlScript<Exclude<TurnOpened, { readonly kind: "stale" }>> {
  const { stepKey, turnIndex } = opening;
  const run = yield* fencedStep(tx, fence, stepKey);
  const state = yield* stateBetweenExchanges(run, opening);
  const step = (yield* stepHead(run, stepKey)).path;
  const opened = yield* openModelCall(tx, run, opening, state);
  if (opened.kind === "denied") {
    const { unit, wanted, remaining } = opened;
    recordEvent(tx, run, "summary.denied", { step, turn: turnIndex, unit, wanted, remaining });
    return opened;
  }
  const { attempt, reserved } = opened;
  recordEvent(tx, run, "summary.opened", { step, turn: turnIndex, attempt, reserved });
  return opened;
}

/** Unlike a new lineage from a milestone, this abandons nothing: every turn up to it still counts. */
export function* compactHistory(tx: Transaction, fence: Fence, compaction: Compaction): SqlScript<void> {
  const { stepKey, turnIndex, summary, fingerprint, call } = compaction;
  const run = yield* fencedStep(tx, fence, stepKey);
  const state = yield* stateBetweenExchanges(run, compaction);
  const charge = settleSummary(tx, run, state, compaction);
  const lineage = switchLineage(tx, run, state, fingerprint, {
    first_turn: turnIndex,
    base_turn: turnIndex - 1,
    open_turn: null,
    checkpoint_index: null,
    summary,
  });
  const step = (yield* stepHead(run, stepKey)).path;
  // The cached state of the step belongs to the old lineage.
  run.steps.delete(stepKey);
  recordEvent(tx, run, "lineage.begun", {
    step,
    lineage,
    turn: turnIndex,
    baseTurn: turnIndex - 1,
    reason: "compaction",
    author: call === null ? "function" : "model",
    ...charge,
  });
}

/** Settles the call that the summary is from. Its answer is no turn: it is stored with the lineage. */
function settleSummary(
  tx: Transaction,
  run: RunHead,
  state: GranularStateRow,
  { stepKey, turnIndex, call }: Compaction,
): JsonObject {
  if (call === null) {
    if (state.lastCall !== null && state.lastCall.reserved !== null)
      throw new Error(`A model call of step ${stepKey} is open: settle it first.`);
    return {};
  }
  if (call.stepKey !== stepKey || call.turnIndex !== turnIndex)
    throw new Error(`The summary before turn ${turnIndex} is charged with the call of another turn.`);
  const settled = reclaim(tx, run, state, call);
  insertRow(tx, run, "failed_model_calls", { step_no: stepKey, turn_index: turnIndex, ...settled });
  return chargeFacts(call);
}

/** The state of a conversation with no open exchange, if this is its next turn. */
function* stateBetweenExchanges(
  run: RunHead,
  { stepKey, turnIndex }: Pick<SummaryOpening, "stepKey" | "turnIndex">,
): SqlScript<GranularStateRow> {
  const state = yield* granularState(run, stepKey);
  const { path } = yield* stepHead(run, stepKey);
  const last = yield* lastExchange(run, stepKey);
  if (last === null) throw new Error(`Step ${path} has no exchanges: there is nothing to summarize.`);
  if (state.isComplete && state.turnIndex === turnIndex - 1 && openOf(last) === null) return state;
  throw new ResumeError(
    `Step ${path} of run ${run.runId} is not between two exchanges before turn ${turnIndex}: load it again.`,
    { irrecoverable: false, changes: [] },
  );
}

import { isJsonObject } from "../core/json.ts";
import { factsOf, numberIn } from "../export/event-facts.ts";
import { isoTime } from "../export/figures.ts";
import { LogReader } from "../export/log-reader.ts";
import type { EventRecord, ModelOutage, RunRecord, StoreReader } from "../store/store.ts";
import type { WithIsoTimes } from "./iso-times.ts";
import { hasEnded } from "./run-status.ts";

/** The outage that a run waits out, as its log has it; `isAsking` if the next request is on its way. */
export type RunOutage = ModelOutage & { readonly isAsking: boolean };

/**
 * The outage that the run waits out, or was waiting out when its worker stopped; null for none. `committedTurn` is the
 * last committed turn of the current step.
 */
export async function readOutage(
  store: StoreReader,
  run: RunRecord,
  committedTurn: number,
): Promise<RunOutage | null> {
  if (hasEnded(run) || !(await isRefused(store, run, committedTurn))) return null;
  let outage: RunOutage | null = null;
  for await (const event of new LogReader(store, run.runId).events()) outage = outageAfter(outage, event);
  return outage;
}

/** The last settled request of the open turn cost nothing. Only then is the log read: it may be long. */
async function isRefused(
  store: StoreReader,
  { runId, currentStep }: RunRecord,
  committedTurn: number,
): Promise<boolean> {
  if (currentStep === null) return false;
  const after = { stepPath: currentStep, turnIndex: committedTurn, attempt: Number.MAX_SAFE_INTEGER };
  const calls = await store.listModelCalls(runId, { after });
  return calls.findLast(({ charge }) => charge !== null)?.charge?.basis === "none";
}

function outageAfter(outage: RunOutage | null, event: EventRecord): RunOutage | null {
  switch (event.type) {
    case "model.settled":
      return outageIn(event);
    case "turn.opened":
    case "summary.opened":
      return outage === null ? null : { ...outage, isAsking: true };
    case "run.claimed":
      return outage === null ? null : { ...outage, isAsking: false };
    case "turn.journaled":
    case "lineage.begun":
    case "turn.committed":
      return null;
    default:
      return outage;
  }
}

function outageIn(event: EventRecord): RunOutage | null {
  const { outage } = factsOf(event);
  if (!isJsonObject(outage)) return null;
  const since = numberIn(outage, "since");
  if (since === null) return null;
  return { since, retryAt: numberIn(outage, "retryAt"), status: numberIn(outage, "status"), isAsking: false };
}

/** The outage that a run waits out. */
export type OutageDocument = WithIsoTimes<RunOutage, "since" | "retryAt">;

export function outageDocument(outage: RunOutage): OutageDocument {
  return { ...outage, since: isoTime(outage.since), retryAt: isoTime(outage.retryAt) };
}

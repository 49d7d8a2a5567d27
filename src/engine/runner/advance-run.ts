import { ConfigurationError } from "../../core/errors.ts";
import { MAX_STALLS } from "../../core/run/stall-decision.ts";
import type { RunRecord, Store } from "../../store/store.ts";
import type { RunEvent, RunEventListener } from "../ports/run-events.ts";
import type { RunResult } from "../ports/run-result.ts";
import { type Advanced, type AdvanceOptions, assertAdvanceOptions } from "./queue-options.ts";
import { requireRun } from "./run-checks.ts";

/** When a run that another worker has is looked at again. */
const BUSY_LOOK_MS = 1_000;

/** Claims the run for a worker, as `RunRequests.workOn` does. */
type WorkOn = (
  claim: { readonly from: readonly ["queued", "running"]; readonly maxStalls: number },
  options: { readonly release: AbortSignal },
  listener: RunEventListener,
) => Promise<
  | { readonly kind: "claimed"; readonly ended: Promise<RunResult<unknown>> }
  | { readonly kind: "busy"; readonly until: number }
  | { readonly kind: "refused" | "limited" | "stalled" | "not_found" }
>;

/** One claim, some turns, and a release; then what has to happen next. */
export async function advance(
  store: Store,
  runId: string,
  options: AdvanceOptions,
  { workOn, now }: { readonly workOn: WorkOn; readonly now: () => number },
): Promise<Advanced> {
  assertAdvanceOptions(options);
  const { turns = 1, signal } = options;
  if (!Number.isSafeInteger(turns) || turns < 1)
    throw new ConfigurationError(`advance was asked for ${turns} turns: give a whole number of at least 1.`);
  const found = await requireRun(store, runId);
  if (found.wakeAt !== null) await store.wakeRun(runId);
  const release = new AbortController();
  const onSignal = () => release.abort();
  signal?.addEventListener("abort", onSignal, { once: true });
  if (signal?.aborted === true) onSignal();
  try {
    const outcome = await workOn(
      // As a worker does: one in which every process dies must not kill the next one for ever.
      { from: ["queued", "running"], maxStalls: MAX_STALLS },
      { release: release.signal },
      countingTurns(turns, () => release.abort()),
    );
    if (outcome.kind === "busy") return { next: "at", at: Math.min(outcome.until, now() + BUSY_LOOK_MS) };
    if (outcome.kind === "claimed") await settled(store, runId, outcome.ended);
  } finally {
    signal?.removeEventListener("abort", onSignal);
  }
  return nextOf(await requireRun(store, runId), now());
}

/** An error that ended the run is in its record; any other is the caller's. */
async function settled(store: Store, runId: string, ended: Promise<unknown>): Promise<void> {
  try {
    await ended;
  } catch (error) {
    const { status } = await requireRun(store, runId);
    if (status !== "failed" && status !== "cancelled" && status !== "waiting") throw error;
  }
}

/** Calls back after so many turns of agents, or steps of code without turns. */
function countingTurns(turns: number, onLast: () => void): RunEventListener {
  let left = turns;
  const ofAgents = new Set<string>();
  return (event: RunEvent) => {
    if (event.type === "turn.committed") ofAgents.add(event.step);
    const isTurn = event.type === "turn.committed";
    const isStep = event.type === "step.finished" && !ofAgents.has(event.step);
    if (!isTurn && !isStep) return;
    left -= 1;
    if (left === 0) onLast();
  };
}

function nextOf({ status, wakeAt, readyAt, leaseUntil }: RunRecord, now: number): Advanced {
  switch (status) {
    case "succeeded":
    case "failed":
    case "cancelled":
      return { next: "ended", status };
    case "queued":
      // A fork that no person has resumed.
      if (readyAt === null) return { next: "wait" };
      return wakeAt === null ? { next: "now" } : { next: "at", at: wakeAt };
    case "waiting":
      return wakeAt === null ? { next: "wait" } : { next: "at", at: wakeAt };
    case "running":
      return { next: "at", at: Math.min(leaseUntil, now + BUSY_LOOK_MS) };
    case "moved":
      return { next: "wait" };
  }
}

import { canonicalHash } from "../../core/canonical-json.ts";
import { missingRunError } from "../../core/run/missing-run.ts";
import type {
  AttemptReason,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  RunRecord,
  RunStatus,
  Store,
} from "../../store/store.ts";
import { shapeOf } from "../definition/pipeline/pipeline-shape.ts";
import { assertSameSpec } from "../definition/run-spec-checks.ts";
import { type ClockReading, readClock } from "../run/lease-keeper.ts";
import { folderOf } from "../run/run-folder.ts";
import { assertWorkspaceIsFree } from "../run/workspace-owner.ts";
import { wasRefused } from "./failed-run.ts";
import type { ClaimFindings } from "./leased-run.ts";
import { assertSetupRuns } from "./new-contract.ts";
import { newRunId } from "./new-run-id.ts";
import { placeOf } from "./place-options.ts";
import { aboutRun, assertSameRun, runBusy } from "./run-checks.ts";
import { decideUnnamedStart, type StartInput, startRefused } from "./run-selection.ts";
import {
  type ContinueOptions,
  limitOf,
  type ResumeOptions,
  type RunnerSetup,
  type RunOptions,
  starterOf,
} from "./runner-options.ts";
import { wakeIfDue } from "./wake-if-due.ts";

/** A run that this process has claimed, or one that has ended. */
export type StartOutcome =
  | {
      readonly kind: "work";
      readonly claim: Claim;
      readonly claimedAt: ClockReading;
      readonly found: ClaimFindings;
    }
  | { readonly kind: "ended"; readonly run: RunRecord };

/** The statuses in which a run may be claimed, and why it is claimed. */
export type ClaimRequest = {
  readonly from: readonly RunStatus[];
  readonly attempt: AttemptReason;
  readonly budgets?: ResumeOptions["budgets"];
  /** The caller continues a run that had stopped. */
  readonly isRequested?: boolean;
  /** The caller's options take the place of a resume request. */
  readonly replacesRequest?: boolean;
};

/** The reason of a claim that no `resume` asked for. */
export const AUTO_RESUME: AttemptReason = { resumedFrom: "turn", reason: null };

/** The runs that `run` continues. */
export const UNFINISHED: ClaimRequest = { from: ["queued", "running"], attempt: AUTO_RESUME };
const REFUSED: ClaimRequest = { from: ["failed"], attempt: AUTO_RESUME, isRequested: true };

const NEWLY_CREATED: ClaimFindings = { resumed: false, isRequested: false, lost: [], foundInDoubt: [] };
const BUSY_POLL_MS = 100;

/** For a call that names no run: resumes the run that a dead or closed process left, or begins a new one. */
export async function startUnnamedRun(
  setup: RunnerSetup,
  store: Store,
  start: StartInput,
  options: RunOptions,
): Promise<StartOutcome> {
  const begin = () => startNamedRun(setup, store, newRunId(), start, options);
  if (options.fresh === true) return begin();
  for (;;) {
    const choice = await decideUnnamedStart(store, setup.root.name, start);
    switch (choice.kind) {
      case "begin":
        return begin();
      case "resume": {
        const claimedAt = readClock(setup.clock);
        const outcome = await store.claimRun(choice.runId, claimOptions(setup, UNFINISHED, options));
        if (outcome.kind === "claimed") return resumedRun(outcome, claimedAt);
        // Another process claimed or ended it meanwhile: decide again.
        break;
      }
      case "refuse":
        if (choice.why === "waiting" && (await wakeIfDue(store, choice.runIds[0] ?? ""))) break;
        if (choice.why !== "held" || options.wait !== true) throw await startRefused(store, choice);
        await setup.clock.sleep(BUSY_POLL_MS, options.signal);
    }
  }
}

/** Begins the run with this id, or continues it if it exists and is unfinished, or failed because its model was not called. */
export async function startNamedRun(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  { input, spec, hasOwnSpec }: StartInput,
  options: RunOptions,
): Promise<StartOutcome> {
  const { root, rules } = setup;
  const inputHash = canonicalHash(input);
  const starter = starterOf(rules, options.startedBy ?? setup.options.startedBy);
  if (spec !== null)
    await assertWorkspaceIsFree(folderOf(runId, spec, setup.options.workspaceRoot ?? ".").path, runId);
  const claimedAt = readClock(setup.clock);
  const created = await store.createRun({
    runId,
    pipeline: root.name,
    entrypoint: setup.options.entrypoint ?? "library",
    input,
    inputHash,
    shape: shapeOf(root),
    limit: limitOf(options.budget),
    deadline: options.deadline?.at ?? null,
    spec,
    leaseMs: setup.leaseMs,
    marksEffects: true,
    ...placeOf(options),
    ...starter,
  });
  if (created.kind === "created")
    return { kind: "work", claim: created.claim, claimedAt, found: NEWLY_CREATED };
  return aboutRun(runId, async () => {
    const run = await store.getRun(runId);
    if (run !== null) assertSameRun(run, root.name, inputHash);
    if (run !== null && spec !== null && hasOwnSpec) assertSameSpec(run, spec);
    if (run !== null && run.spec !== null) assertSetupRuns(setup, run.spec);
    return claimNamedRun(setup, store, runId, options);
  });
}

/** Two claims: by the first one's answer, a run that failed in another way is left as it is, also after a wait. */
async function claimNamedRun(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  options: RunOptions,
): Promise<StartOutcome> {
  for (;;) {
    const begun = await claimRun(setup, store, runId, UNFINISHED, options);
    if (begun.kind !== "ended" || begun.run.status !== "failed") return begun;
    if (!(await wasRefused(store, begun.run))) {
      // That takes several reads: another process may have continued the run meanwhile, and changed what they read.
      const run = await store.getRun(runId);
      if (run === null || run.epoch === begun.run.epoch) return begun;
      continue;
    }
    const claimedAt = readClock(setup.clock);
    const outcome = await store.claimRun(runId, claimOptions(setup, REFUSED, options));
    if (outcome.kind === "claimed") return resumedRun(outcome, claimedAt, REFUSED);
    // Another process claimed it meanwhile: the first claim waits for it, or reports it.
  }
}

/** Claims a run. With `wait: true` it waits until no other process holds it. */
export async function claimRun(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  request: ClaimRequest,
  options: ContinueOptions,
): Promise<StartOutcome> {
  const claim = { ...claimOptions(setup, request, options), budgets: request.budgets ?? {} };
  for (;;) {
    await wakeIfDue(store, runId);
    const claimedAt = readClock(setup.clock);
    const outcome: ClaimOutcome = await store.claimRun(runId, claim);
    switch (outcome.kind) {
      case "claimed":
        return resumedRun(outcome, claimedAt, request);
      case "refused":
        return { kind: "ended", run: outcome.run };
      case "not_found":
        throw missingRunError(runId, await store.getTombstone(runId));
      case "limited":
      case "stalled":
        throw new Error(`Run ${runId} was claimed without limits, and is ${outcome.kind}.`);
      case "busy":
        if (options.wait !== true) throw runBusy(runId, outcome);
        await setup.clock.sleep(BUSY_POLL_MS, options.signal);
    }
  }
}

export function claimOptions(
  { leaseMs }: RunnerSetup,
  { from, attempt, replacesRequest = false }: ClaimRequest,
  { budget, deadline }: ContinueOptions,
): ClaimOptions {
  return {
    leaseMs,
    from,
    attempt,
    marksEffects: true,
    replacesRequest,
    ...(budget === undefined ? {} : { limit: limitOf(budget) }),
    ...(deadline === undefined ? {} : { deadline: deadline.at }),
  };
}

/** The outcome for a run that had begun before this claim. */
export function resumedRun(
  { claim, chargedAsLost, foundInDoubt }: Extract<ClaimOutcome, { kind: "claimed" }>,
  claimedAt: ClockReading,
  { isRequested = false }: Pick<ClaimRequest, "isRequested"> = {},
): StartOutcome {
  // A run that was enqueued begins with its first claim; a fork continues the turns of another.
  const resumed = claim.epoch > 1 || claim.run.forkedFrom !== null;
  const found = { resumed, isRequested, lost: chargedAsLost, foundInDoubt };
  return { kind: "work", claim, claimedAt, found };
}

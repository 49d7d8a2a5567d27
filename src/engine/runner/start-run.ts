import { v7 as uuidv7 } from "uuid";
import { canonicalHash } from "../../core/canonical-json.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import type { Json } from "../../core/json.ts";
import { UNPRICED } from "../../core/usage/usage.ts";
import type {
  AttemptReason,
  Claim,
  ClaimOptions,
  ClaimOutcome,
  RunRecord,
  RunStatus,
  Store,
} from "../../store/store.ts";
import { shapeOf } from "../definition/pipeline-shape.ts";
import { makeRules } from "../definition/run-rules.ts";
import { assertRunnable, assertSameSpec, combineConstraints } from "../definition/run-spec-checks.ts";
import { type ClockReading, readClock } from "../run/lease-keeper.ts";
import { folderOf } from "../run/run-folder.ts";
import { assertWorkspaceIsFree } from "../run/workspace-owner.ts";
import type { ClaimFindings } from "./leased-run.ts";
import { assertSameRun, runBusy, runNotFound } from "./run-checks.ts";
import { decideUnnamedStart, startRefused } from "./run-selection.ts";
import {
  type ContinueOptions,
  limitOf,
  type ResumeOptions,
  type RunnerSetup,
  type RunOptions,
  starterOf,
} from "./runner-options.ts";

/** A run that this process has claimed, or one that has ended. */
export type StartOutcome =
  | {
      readonly kind: "work";
      readonly claim: Claim;
      readonly claimedAt: ClockReading;
      readonly found: ClaimFindings;
    }
  | { readonly kind: "ended"; readonly run: RunRecord };

/** The input of a new run, and its contract. */
export type StartInput = { readonly input: Json; readonly spec: RunSpec | null };

/** The statuses in which a run may be claimed, and why it is claimed. */
export type ClaimRequest = {
  readonly from: readonly RunStatus[];
  readonly attempt: AttemptReason;
  readonly budgets?: ResumeOptions["budgets"];
};

/** The reason of a claim that no `resume` asked for. */
export const AUTO_RESUME: AttemptReason = { resumedFrom: "turn", reason: null };

const NEWLY_CREATED: ClaimFindings = { resumed: false, lost: [], foundInDoubt: [] };
const BUSY_POLL_MS = 100;

/** For a call that names no run: resumes the run that a dead or closed process left, or begins a new one. */
export async function startUnnamedRun(
  setup: RunnerSetup,
  store: Store,
  start: StartInput,
  options: RunOptions,
): Promise<StartOutcome> {
  const begin = () => startNamedRun(setup, store, uuidv7(), start, options);
  if (options.fresh === true) return begin();
  for (;;) {
    const choice = await decideUnnamedStart(store, setup.root.name, canonicalHash(start.input), start.spec);
    switch (choice.kind) {
      case "begin":
        return begin();
      case "resume": {
        const claimedAt = readClock(setup.clock);
        const request: ClaimRequest = { from: ["queued", "running"], attempt: AUTO_RESUME };
        const outcome = await store.claimRun(choice.runId, claimOptions(setup, request, options));
        if (outcome.kind === "claimed") return resumedRun(outcome, claimedAt);
        // Another process claimed or ended it meanwhile: decide again.
        break;
      }
      case "refuse":
        if (choice.why !== "held" || options.wait !== true) throw await startRefused(store, choice);
        await setup.clock.sleep(BUSY_POLL_MS, options.signal);
    }
  }
}

/** Begins the run with this id, or resumes it if it exists. */
export async function startNamedRun(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  { input, spec }: StartInput,
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
    ...starter,
  });
  if (created.kind === "created")
    return { kind: "work", claim: created.claim, claimedAt, found: NEWLY_CREATED };
  const run = await store.getRun(runId);
  if (run !== null) assertSameRun(run, root.name, inputHash);
  if (run !== null && spec !== null) assertSameSpec(run, spec);
  if (run !== null && run.spec !== null) assertSetupRuns(setup, run.spec);
  return claimRun(setup, store, runId, { from: ["queued", "running"], attempt: AUTO_RESUME }, options);
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
    const claimedAt = readClock(setup.clock);
    const outcome: ClaimOutcome = await store.claimRun(runId, claim);
    switch (outcome.kind) {
      case "claimed":
        return resumedRun(outcome, claimedAt);
      case "refused":
        return { kind: "ended", run: outcome.run };
      case "not_found":
        throw runNotFound(runId);
      case "busy":
        if (options.wait !== true) throw runBusy(runId, outcome);
        await setup.clock.sleep(BUSY_POLL_MS, options.signal);
    }
  }
}

export function claimOptions(
  { leaseMs }: RunnerSetup,
  { from, attempt }: ClaimRequest,
  { budget, deadline }: ContinueOptions,
): ClaimOptions {
  return {
    leaseMs,
    from,
    attempt,
    marksEffects: true,
    ...(budget === undefined ? {} : { limit: limitOf(budget) }),
    ...(deadline === undefined ? {} : { deadline: deadline.at }),
  };
}

/** The outcome for a run that had begun before this claim. */
export function resumedRun(
  { claim, chargedAsLost, foundInDoubt }: Extract<ClaimOutcome, { kind: "claimed" }>,
  claimedAt: ClockReading,
): StartOutcome {
  return { kind: "work", claim, claimedAt, found: { resumed: true, lost: chargedAsLost, foundInDoubt } };
}

/** Throws if this runner, with its options, cannot execute a run with this contract. */
export function assertSetupRuns({ root, options }: RunnerSetup, spec: RunSpec): void {
  const { pricing = UNPRICED, stopConditions, policy, constraints } = options;
  assertRunnable(spec, root, pricing, stopConditions);
  makeRules(policy, combineConstraints(constraints, spec));
}

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
import type { FoundAtClaim } from "./leased-run.ts";
import { assertSameRun, busy, runNotFound } from "./run-checks.ts";
import {
  type ContinueOptions,
  limitOf,
  type ResumeOptions,
  type RunnerSetup,
  type RunOptions,
  starterOf,
} from "./runner-options.ts";
import { notBegun, startOf } from "./which-run.ts";

/** A run that this process has claimed, or one that is over. */
export type Begun =
  | {
      readonly kind: "work";
      readonly claim: Claim;
      readonly claimedAt: ClockReading;
      readonly found: FoundAtClaim;
    }
  | { readonly kind: "ended"; readonly run: RunRecord };

/** What a run is to be started with. */
export type StartInput = { readonly input: Json; readonly spec: RunSpec | null };

/** How a run is claimed: in which states, and why. */
export type ClaimRequest = {
  readonly from: readonly RunStatus[];
  readonly attempt: AttemptReason;
  readonly budgets?: ResumeOptions["budgets"];
};

/** A run that is continued without anybody having asked for it by name. */
export const AUTO_RESUME: AttemptReason = { resumedFrom: "turn", reason: null };

const JUST_BEGUN: FoundAtClaim = { resumed: false, lost: [], foundInDoubt: [] };
const BUSY_POLL_MS = 100;

/** A call that names no run: continues the one that a dead or closed process left, or begins a new one. */
export async function startUnnamedRun(
  setup: RunnerSetup,
  store: Store,
  start: StartInput,
  options: RunOptions,
): Promise<Begun> {
  const begin = () => startNamedRun(setup, store, uuidv7(), start, options);
  if (options.fresh === true) return begin();
  for (;;) {
    const choice = await startOf(store, setup.root.name, canonicalHash(start.input), start.spec);
    switch (choice.kind) {
      case "begin":
        return begin();
      case "resume": {
        const claimedAt = readClock(setup.clock);
        const request: ClaimRequest = { from: ["queued", "running"], attempt: AUTO_RESUME };
        const outcome = await store.claimRun(choice.runId, claimOptions(setup, request, options));
        if (outcome.kind === "claimed") return continued(outcome, claimedAt);
        // Another process was faster, or has ended it: that has to be looked at again.
        break;
      }
      case "refuse":
        if (choice.why !== "held" || options.wait !== true) throw await notBegun(store, choice);
        await setup.clock.sleep(BUSY_POLL_MS, options.signal);
    }
  }
}

/** Begins the run of this id, or continues it where it is there. */
export async function startNamedRun(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  { input, spec }: StartInput,
  options: RunOptions,
): Promise<Begun> {
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
  if (created.kind === "created") return { kind: "work", claim: created.claim, claimedAt, found: JUST_BEGUN };
  const run = await store.getRun(runId);
  if (run !== null) assertSameRun(run, root.name, inputHash);
  if (run !== null && spec !== null) assertSameSpec(run, spec);
  if (run !== null && run.spec !== null) assertSetupRuns(setup, run.spec);
  return claimRun(setup, store, runId, { from: ["queued", "running"], attempt: AUTO_RESUME }, options);
}

/** Claims a run, and waits for it where the caller wants that. */
export async function claimRun(
  setup: RunnerSetup,
  store: Store,
  runId: string,
  request: ClaimRequest,
  options: ContinueOptions,
): Promise<Begun> {
  const claim = { ...claimOptions(setup, request, options), budgets: request.budgets ?? {} };
  for (;;) {
    const claimedAt = readClock(setup.clock);
    const outcome: ClaimOutcome = await store.claimRun(runId, claim);
    switch (outcome.kind) {
      case "claimed":
        return continued(outcome, claimedAt);
      case "refused":
        return { kind: "ended", run: outcome.run };
      case "not_found":
        throw runNotFound(runId);
      case "busy":
        if (options.wait !== true) throw busy(runId, outcome);
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

/** A run that was claimed with its history. */
export function continued(
  { claim, chargedAsLost, foundInDoubt }: Extract<ClaimOutcome, { kind: "claimed" }>,
  claimedAt: ClockReading,
): Begun {
  return { kind: "work", claim, claimedAt, found: { resumed: true, lost: chargedAsLost, foundInDoubt } };
}

/** Throws where the runner's own options do not allow what the contract asks for. */
export function assertSetupRuns({ root, options }: RunnerSetup, spec: RunSpec): void {
  const { pricing = UNPRICED, stopConditions, policy, constraints } = options;
  assertRunnable(spec, root, pricing, stopConditions);
  makeRules(policy, combineConstraints(constraints, spec));
}

import { canonicalHash } from "../../core/canonical-json.ts";
import { ConfigurationError, ResumeError, RunNotBegunError } from "../../core/errors.ts";
import { isDefaultContract } from "../../core/job/default-budgets.ts";
import type { RunSpec } from "../../core/job/run-spec.ts";
import type { Json } from "../../core/json.ts";
import { sleepInWords } from "../../core/run/wait-answer.ts";
import { assertChosenRunId, runIdOfKey } from "../../core/run-key.ts";
import {
  decideRunStart,
  type RunStart,
  type StartRefusal,
  type UnfinishedRun,
} from "../../core/run-start.ts";
import { assertRunId } from "../../core/step-path.ts";
import { reviveError } from "../../core/stored-error.ts";
import { asksPeople } from "../../core/wait.ts";
import type { RunOfInput, RunRecord, RunStatus, Store } from "../../store/store.ts";
import { isSameSpec } from "../definition/run-spec-checks.ts";
import { runBusy, withRunId } from "./run-checks.ts";
import type { RunnerOptions, RunOptions } from "./runner-options.ts";

/** The input of a new run, and its contract. */
export type StartInput = {
  readonly input: Json;
  readonly spec: RunSpec | null;
  /** The caller has given the contract, and not only the defaults of the runner. */
  readonly hasOwnSpec: boolean;
};

/** The id of the run that the caller names by id or key; null if it names none. */
export function namedRunId(
  { runId, key }: RunOptions,
  pipeline: string,
  identity: RunnerOptions["identity"],
): string | null {
  if (runId !== undefined && key !== undefined)
    throw new ConfigurationError("A run was given both a runId and a key: give one of them.");
  if (key !== undefined) return runIdOfKey(pipeline, key);
  if (runId !== undefined) {
    assertRunId(runId);
    assertChosenRunId(runId);
    return runId;
  }
  if (identity === "required")
    throw new ConfigurationError(
      'The runner has identity: "required", and this call names no run: give a runId, or a key such as the id of the message or order that the run is for.',
    );
  return null;
}

/** Decides what a call without a run id does: begin a run, resume the unfinished run of the same input, or refuse. */
export async function decideUnnamedStart(
  store: Store,
  pipeline: string,
  { input, spec, hasOwnSpec }: StartInput,
): Promise<RunStart> {
  const runs = await store.findRunsOf(pipeline, canonicalHash(input));
  const found = runs.filter(({ run }) =>
    hasOwnSpec ? isSameSpec(run.spec, spec) : isDefaultContract(run.spec, { pipeline, input }),
  );
  const [newest] = found;
  const movedAway = found.flatMap(({ run }) => (isUnfinished(run.moved?.status ?? null) ? [run.runId] : []));
  if (newest?.run.moved?.status === "failed" && (await hadEffects(store, newest.run.runId)))
    movedAway.push(newest.run.runId);
  if (movedAway.length > 0) return { kind: "refuse", why: "moved", runIds: movedAway };
  if (newest?.run.status === "failed") assertNotDiverged(newest.run);
  const failed = newest?.run.status === "failed" && (await hadEffects(store, newest.run.runId));
  return decideRunStart(found.flatMap(unfinished), failed ? newest.run.runId : null);
}

function unfinished({ run: { runId, status }, isHeld }: RunOfInput): UnfinishedRun[] {
  return isUnfinished(status) ? [{ runId, status, isHeld }] : [];
}

function isUnfinished(status: RunStatus | null): status is UnfinishedRun["status"] {
  return status === "queued" || status === "running" || status === "waiting";
}

/** Throws the error of a diverged run again: a new run of the same input would repeat its effects. */
function assertNotDiverged({ runId, error }: RunRecord): void {
  const revived = error === null ? null : reviveError(error);
  if (!ResumeError.isInstance(revived) || !revived.irrecoverable) return;
  const reminder = `This is how run ${runId} of the same input ended: resume it, or begin a new one with \`fresh: true\`.`;
  throw withRunId(runId, new ResumeError(`${revived.message} (${reminder})`, revived.details));
}

/** True if the run had, or may have had, effects outside. */
async function hadEffects(store: Store, runId: string): Promise<boolean> {
  const calls = await store.listToolCalls(runId);
  return calls.some(
    ({ effect, status, receipt }) =>
      effect === "external" &&
      (status === "running" ||
        status === "in_doubt" ||
        receipt?.status === "succeeded" ||
        receipt?.uncertain === true),
  );
}

/** The error that names the runs in the way, and what to do about each. */
export async function startRefused(
  store: Store,
  { why, runIds }: Extract<RunStart, { kind: "refuse" }>,
): Promise<Error> {
  const [runId = ""] = runIds;
  if (why === "held") {
    const run = await store.getRun(runId);
    return withRunId(runId, runBusy(runId, { owner: run?.owner ?? "", until: run?.leaseUntil ?? 0 }));
  }
  const sleep = why === "waiting" ? await sleepOf(store, runId) : null;
  const reason = sleep === null ? REASONS[why](runIds.join(", ")) : sleep;
  const message = `No new run was begun: ${reason} To begin another one anyway, use \`fresh: true\`.`;
  return withRunId(runId, new RunNotBegunError(message, { why, runIds }));
}

/** What the run waits for, if that is no person; null if it is one. */
async function sleepOf(store: Store, runId: string): Promise<string | null> {
  const open = await store.listWaits(runId, { open: true });
  const sleeps = open.flatMap(({ kind, matches, dueAt }) =>
    asksPeople(kind) ? [] : { kind, matches, dueAt },
  );
  if (sleeps.length === 0 || sleeps.length < open.length) return null;
  const next = sleeps.some(({ kind }) => kind === "message")
    ? "send it the message with `send`, and continue it with `resume`"
    : "continue it then, with this call or with `resume`";
  return `run ${runId} of the same input waits ${sleeps.map(sleepInWords).join(" and ")}; ${next}, or let a worker do that.`;
}

const REASONS: { readonly [W in Exclude<StartRefusal, "held">]: (runs: string) => string } = {
  waiting: (run) =>
    `run ${run} of the same input waits for a person; answer what it asks, or continue it with \`resume\`.`,
  several: (runs) =>
    `several runs of the same input are unfinished (${runs}); continue one with \`resume\`, cancel the others, and give runs a \`runId\` or a \`key\` to tell them apart.`,
  moved: (runs) =>
    `a run of the same input was moved to another store, and did not succeed before (${runs}); continue it there.`,
  failed: (run) =>
    `run ${run} of the same input has failed after it had effects outside; continue it with \`resume\`, so that they are not done again.`,
};

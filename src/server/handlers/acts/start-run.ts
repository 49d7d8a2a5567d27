import type { z } from "zod";
import { isInScope } from "../../../core/access/scope.ts";
import { canonicalHash } from "../../../core/canonical-json.ts";
import { PawlError, RunDeletedError } from "../../../core/errors.ts";
import type { RunSpecInput } from "../../../core/job/run-spec-input.ts";
import type { Json } from "../../../core/json.ts";
import { runIdOfKey, runIdOfRequestKey } from "../../../core/run-key.ts";
import type { EnqueuedRun, EnqueueOptions } from "../../../engine/runner/queue-options.ts";
import { enqueueUnder } from "../../../engine/runner/queued-runs.ts";
import { type Runner, runnerSetup } from "../../../engine/runner/runner.ts";
import type { newRun } from "../../api/schemas/run.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { AccessScope, Principal } from "../../principal.ts";
import { hasPipeline, isWhole, scopeKey } from "../../scope/run-scope.ts";
import { outsideScope, withScopeLabels } from "../../scope/scope-labels.ts";
import { personOf } from "../acting-person.ts";
import { requireRunner } from "../known-pipeline.ts";
import type { ServerParts } from "../server-parts.ts";
import { type AskedRun, differencesOf } from "./same-request.ts";

type NewRunRequest = z.output<typeof newRun>;

/** What the run is recognized by if the same request comes again. */
type RunIdentity = { readonly key: string } | { readonly runId: string };

/**
 * Stores a run for a worker. A run that is started under a scope is in it. An id that is another run's is refused: with what
 * differs, if the run is in the scope, and without a word about it if it may be of another tenant.
 */
export async function startRun(
  parts: ServerParts,
  principal: Principal,
  identity: RunIdentity,
  request: NewRunRequest,
): Promise<EnqueuedRun> {
  const { scope } = principal;
  if (!hasPipeline(scope, request.pipeline))
    throw outsideScope(
      `Pipeline ${request.pipeline} is outside of your scope: start another one, or ask for another token.`,
    );
  const runner = requireRunner(parts, request.pipeline);
  const asked = { ...request, metadata: withScopeLabels(scope, request.metadata) };
  const options = enqueueOptions(principal, asked);
  const what = "runId" in identity ? `run id ${identity.runId}` : "key";
  try {
    const input = request.input ?? null;
    const started = await ("runId" in identity
      ? runner.enqueue(input, { ...options, runId: identity.runId })
      : enqueuedUnderKey(parts, scope, runner, { key: identity.key, input, options }));
    if (started.existed) await assertSameRequest(parts, scope, { runId: started.runId, what }, asked);
    return started;
  } catch (error) {
    if (RunDeletedError.isInstance(error) && !isWhole(scope)) throw takenProblem(what);
    // The id of a run is set in errors about a run that is there, and differs.
    if (!PawlError.isInstance(error) || error.runId === undefined || RunDeletedError.isInstance(error))
      throw error;
    await assertSameRequest(parts, scope, { runId: error.runId, what }, asked);
    throw differsProblem(what, ["spec"]);
  }
}

async function enqueuedUnderKey(
  { store }: ServerParts,
  scope: AccessScope,
  runner: Runner,
  { key, input, options }: { readonly key: string; readonly input: Json; readonly options: EnqueueOptions },
): Promise<EnqueuedRun> {
  const setup = runnerSetup(runner);
  return enqueueUnder(setup, store, await runIdOf(store, scope, setup.root.name, key), input, options);
}

/**
 * Keys of different scopes are different keys: two tenants may number their orders alike. In a scope a key is one run, of
 * whatever pipeline. A run that `runner.enqueue` has made of the key, or a server before that was so, is that run.
 */
async function runIdOf(
  store: ServerParts["store"],
  scope: AccessScope,
  pipeline: string,
  key: string,
): Promise<string> {
  const runId = runIdOfRequestKey(scopeKey(scope), key);
  const ownKey = isWhole(scope) ? key : canonicalHash([scopeKey(scope), key]).toString("hex");
  const older = runIdOfKey(pipeline, ownKey);
  return !(await isTaken(store, runId)) && (await isTaken(store, older)) ? older : runId;
}

/** The id of a deleted run is not used again. */
async function isTaken(store: ServerParts["store"], runId: string): Promise<boolean> {
  return (await store.getRun(runId)) !== null || (await store.getTombstone(runId)) !== null;
}

/** Throws if the run is outside of the scope, or was not started by this request. */
async function assertSameRequest(
  { store }: ServerParts,
  scope: AccessScope,
  { runId, what }: { readonly runId: string; readonly what: string },
  asked: AskedRun,
): Promise<void> {
  const run = await store.getRun(runId);
  if (run === null || !isInScope(scope, run)) throw takenProblem(what);
  const differing = await differencesOf(store, run, asked);
  if (differing.length > 0) throw differsProblem(what, differing);
}

function enqueueOptions(principal: Principal, request: AskedRun): EnqueueOptions {
  const { spec, queue, concurrencyKey, priority, metadata, context, notBefore } = request;
  return {
    startedBy: personOf(principal),
    // Checked by the runner, as every contract is.
    ...(spec === undefined ? {} : { spec: spec as RunSpecInput }),
    ...(queue === undefined ? {} : { queue }),
    ...(concurrencyKey === undefined ? {} : { concurrencyKey }),
    ...(priority === undefined ? {} : { priority }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(context === undefined ? {} : { context }),
    ...(notBefore === undefined ? {} : { notBefore: new Date(notBefore) }),
  };
}

/** The request would have started another run than the one that its key or id stands for. */
function differsProblem(what: string, differing: readonly string[]): HttpProblem {
  return new HttpProblem(
    409,
    "run_exists",
    `The ${what} is another run's, which was started with another ${differing.join(", ")}: use another one, or send the request as it was.`,
    { details: { differing } },
  );
}

/** Without a word about the run: it may be outside of the scope. */
export function takenProblem(what: string): HttpProblem {
  return new HttpProblem(409, "run_exists", `The ${what} is another run's: use another one.`);
}

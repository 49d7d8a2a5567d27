import type { z } from "zod";
import { isInScope } from "../../../core/access/scope.ts";
import { canonicalHash } from "../../../core/canonical-json.ts";
import { PawlError, RunDeletedError } from "../../../core/errors.ts";
import type { RunSpecInput } from "../../../core/job/run-spec-input.ts";
import type { EnqueuedRun, EnqueueOptions } from "../../../engine/runner/queue-options.ts";
import type { newRun } from "../../api/schemas/run.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { AccessScope, Principal } from "../../principal.ts";
import { hasPipeline, isWhole, scopeKey } from "../../scope/run-scope.ts";
import { outsideScope, withScopeLabels } from "../../scope/scope-labels.ts";
import { personOf } from "../acting-person.ts";
import { requireRunner } from "../known-pipeline.ts";
import type { ServerParts } from "../server-parts.ts";

type NewRunRequest = z.output<typeof newRun>;

/** What the run is recognized by if the same request comes again. */
type RunIdentity = { readonly key: string } | { readonly runId: string };

/**
 * Stores a run for a worker. A run that is started under a scope is in it. An id that is another run's is refused without a
 * word about that run: it may be of another tenant.
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
  const options = { ...identityIn(scope, identity), ...enqueueOptions(principal, request) };
  const taken = () => takenProblem("runId" in identity ? `run id ${identity.runId}` : "key");
  try {
    const started = await runner.enqueue(request.input ?? null, options);
    if (started.existed && !(await isSeen(parts, scope, started.runId))) throw taken();
    return started;
  } catch (error) {
    // The id of a run is set in errors about a run that is there, and differs.
    const isTaken = PawlError.isInstance(error) && error.runId !== undefined;
    const isDeleted = RunDeletedError.isInstance(error) && !isWhole(scope);
    throw isTaken || isDeleted ? taken() : error;
  }
}

async function isSeen({ store }: ServerParts, scope: AccessScope, runId: string): Promise<boolean> {
  const run = await store.getRun(runId);
  return run !== null && isInScope(scope, run);
}

/** Keys of different scopes are different keys: two tenants may number their orders alike. */
function identityIn(scope: AccessScope, identity: RunIdentity): RunIdentity {
  if ("runId" in identity || isWhole(scope)) return identity;
  return { key: canonicalHash([scopeKey(scope), identity.key]).toString("hex") };
}

function enqueueOptions(principal: Principal, request: NewRunRequest): EnqueueOptions {
  const { spec, queue, concurrencyKey, priority, context, notBefore } = request;
  const metadata = withScopeLabels(principal.scope, request.metadata);
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

/** The same for a run in the scope and for one outside of it. */
export function takenProblem(what: string): HttpProblem {
  return new HttpProblem(409, "run_exists", `The ${what} is another run's: use another one.`);
}

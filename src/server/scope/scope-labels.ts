import { mergeScopeLabels } from "../../core/access/scope.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { RunMetadata } from "../../store/store.ts";
import { HttpProblem } from "../http-problem.ts";
import type { AccessScope } from "../principal.ts";

/** The metadata of a run that a principal of this scope starts: with its labels, so that the run is in it. */
export function withScopeLabels(scope: AccessScope, given: RunMetadata | undefined): RunMetadata | undefined {
  try {
    return mergeScopeLabels(scope, given ?? null) ?? undefined;
  } catch (error) {
    throw ConfigurationError.isInstance(error) ? outsideScope(error.message) : error;
  }
}

export function outsideScope(message: string): HttpProblem {
  return new HttpProblem(403, "outside_scope", message);
}

import { ResumeError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { type StepPath, withoutIterations } from "../../core/step-path.ts";
import {
  describeChanges,
  type FingerprintDocument,
  fingerprintChanges,
} from "../../core/turn/turn-fingerprint.ts";
import type { RunWith } from "../run/active-run.ts";

/** Says what is not as it was when the step began, old and new. */
export function diverged(runId: string, path: StepPath, was: Json, is: Json): ResumeError {
  const changes = fingerprintChanges(was, is);
  return new ResumeError(
    `Run ${runId} cannot go on: step ${path} is not what it was when it began. Changed: ${describeChanges(changes)}. No call was made; put it back and resume, go on from the last milestone (\`from: "milestone"\`), fork it at a turn, say that it may (\`acceptDivergence\`), or start a new run.`,
    { irrecoverable: true, changes },
  );
}

/**
 * An iteration has a fingerprint of its own, since its input differs. Everything else has to be what it was in the
 * iteration before: a loop does not go on with another agent half way.
 */
export async function assertSameAsEarlierIteration(
  run: RunWith<"runId" | "store">,
  path: StepPath,
  document: FingerprintDocument,
): Promise<void> {
  const step = withoutIterations(path);
  if (step === path) return;
  const instances = await run.store.listSteps(run.runId);
  const earlier = instances.findLast(
    (other) => other.path !== path && withoutIterations(other.path) === step,
  );
  if (earlier === undefined) return;
  const { fingerprint } = await run.store.readConversation(earlier.stepKey, 0);
  const was = fingerprint?.document as FingerprintDocument | undefined;
  if (was === undefined) return;
  const is = { ...document, input: was.input };
  if (fingerprintChanges(was, is).length > 0) throw diverged(run.runId, path, was, is);
}

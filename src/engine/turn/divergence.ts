import { ResumeError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { type StepPath, withoutIterations } from "../../core/step-path.ts";
import {
  describeChanges,
  type FingerprintDocument,
  fingerprintChanges,
  hashChanges,
} from "../../core/turn/turn-fingerprint.ts";
import type { RunWith } from "../run/active-run.ts";

/** The error for a step that changed since it began. It lists the old and new values. */
export function divergenceError(runId: string, path: StepPath, was: Json, is: Json): ResumeError {
  const changes = fingerprintChanges(was, is);
  return new ResumeError(
    `Run ${runId} cannot continue: step ${path} has changed since it began. Changed: ${describeChanges(changes)}. No call was made. Undo the change and resume, resume from the last milestone (\`from: "milestone"\`), fork the run at a turn, accept the change (\`acceptDivergence\`), or start a new run.`,
    { irrecoverable: true, changes, changesHash: hashChanges(changes) },
  );
}

/**
 * Each iteration has its own fingerprint, since its input differs. Everything else must be the same as in the iteration
 * before: a loop does not switch to another agent halfway.
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
  const { fingerprint } = await run.store.readConversation(run.runId, earlier.stepKey, 0);
  const was = fingerprint?.document as FingerprintDocument | undefined;
  if (was === undefined) return;
  const is = { ...document, input: was.input };
  if (fingerprintChanges(was, is).length > 0) throw divergenceError(run.runId, path, was, is);
}

import { ConfigurationError } from "../errors.ts";
import { stepId } from "../step-path.ts";

/** A response can be given up as long as none of its calls has gone out or has come to an end. */
export function assertDroppable(
  turn: { readonly runId: string; readonly stepPath: string; readonly turnIndex: number },
  isBegun: boolean,
): void {
  if (!isBegun) return;
  throw new ConfigurationError(
    `Turn ${turn.turnIndex} of ${stepId(turn.runId, turn.stepPath)} cannot be dropped: one of its calls was dispatched or is settled. Resume it as it is, or go on from a milestone.`,
  );
}

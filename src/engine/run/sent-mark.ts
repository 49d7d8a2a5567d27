import type { EffectAttempt, EffectInProgress } from "../../store/store.ts";
import { type ActiveRun, reach } from "./active-run.ts";

/** Notes that an effect is about to leave. What keeps that from being noted keeps it here, with nothing sent. */
export async function writeSentMark(
  run: ActiveRun,
  effect: EffectAttempt,
): Promise<EffectInProgress | Error> {
  try {
    return await run.store.beginEffect(run.fence, effect);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Where a process may die with its note written and nothing sent. */
export function reachAfterSentMark(
  run: ActiveRun,
  point: "model:noted" | "tool:noted",
  { stepPath, turnIndex }: { readonly stepPath: string; readonly turnIndex: number },
  effect: EffectInProgress,
): void {
  try {
    reach(run, point, stepPath, turnIndex);
  } catch (error) {
    effect.end();
    throw error;
  }
}

/** The last thing before the tool or the model: a process that is stopped before this sends nothing when it wakes. */
export function assertMaySend(run: ActiveRun, effect: EffectInProgress): void {
  try {
    run.stop.lease.assertHeld();
    run.stop.signal.throwIfAborted();
  } catch (error) {
    effect.withdraw();
    throw error;
  }
}

import type { EffectAttempt, EffectInProgress } from "../../store/store.ts";
import { type RunWith, reach } from "./active-run.ts";

/** Writes the sent mark of an effect that is about to be sent. Returns an error if it cannot: then nothing may be sent. */
export async function writeSentMark(
  run: RunWith<"store" | "fence">,
  effect: EffectAttempt,
): Promise<EffectInProgress | Error> {
  try {
    return await run.store.beginEffect(run.fence, effect);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The crash point at which the sent mark is written and nothing is sent yet. */
export function reachAfterSentMark(
  run: RunWith<"runId" | "observe">,
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

/** The last check before the tool or the model: a process that was paused before this sends nothing when it wakes. */
export function assertMaySend(run: RunWith<"stop">, effect: EffectInProgress): void {
  try {
    run.stop.lease.assertHeld();
    run.stop.signal.throwIfAborted();
  } catch (error) {
    effect.withdraw();
    throw error;
  }
}

import type { Runner } from "../../../engine/runner/runner.ts";
import { runnerSetup } from "../../../engine/runner/runner.ts";
import type { RunView } from "./run-view.ts";

/** All turns up to the next rest. */
const ALL_TURNS = Number.MAX_SAFE_INTEGER;
const LONGEST_PAUSE_MS = 60_000;

/**
 * Works on a run in this process until it rests, unless another process does: then it looks again from time to time, in case
 * that one has died. It continues after the viewer has left, as a worker would: a run is not cut off by a reader.
 */
export async function driveRun<O, I>(runner: Runner<O, I>, view: RunView): Promise<void> {
  const { clock } = runnerSetup(runner);
  try {
    for (;;) {
      const advanced = await runner.advance(view.runId, { turns: ALL_TURNS });
      if (advanced.next === "wait" || advanced.next === "ended") return;
      if (advanced.next === "now") continue;
      if (view.left.aborted) return;
      const pause = Math.min(Math.max(1, advanced.at - clock.now()), LONGEST_PAUSE_MS);
      await clock.sleep(pause, view.left).catch(() => undefined);
      if (view.left.aborted) return;
    }
  } catch (error) {
    view.fail(error);
  }
}

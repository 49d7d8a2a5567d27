import type { CrashPoint, CrashProbe } from "../engine/ports/crash-points.ts";

/**
 * A probe that kills this process with SIGKILL when it reaches a point, as a power cut would: nothing is flushed and
 * nothing is cleaned up. `turn` narrows it to one turn (or one iteration, or 0 for points outside of turns).
 *
 * @example
 * new Runner(pipeline, { store, probe: crashAt("turn:journaled", { turn: 3 }) });
 */
export function crashAt(
  point: CrashPoint,
  where: { readonly turn?: number; readonly step?: string } = {},
): CrashProbe {
  return (reached, site) => {
    if (reached !== point) return;
    if (where.turn !== undefined && where.turn !== site.turnIndex) return;
    if (where.step !== undefined && where.step !== site.stepPath) return;
    process.kill(process.pid, "SIGKILL");
    // The signal is delivered asynchronously to other threads; this thread must not continue.
    for (;;);
  };
}

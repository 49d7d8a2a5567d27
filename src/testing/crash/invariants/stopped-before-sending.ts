import type { Evidence, ProcessRecord } from "../evidence.ts";
import { isSamePoint } from "../point.ts";
import type { Effect, SeenCall, WitnessLine } from "../witness.ts";

/**
 * The one window that fencing cannot close (docs/guarantees.md): a process that was stopped after it checked its lease,
 * and before its tool sent anything, sends it when it wakes. Only a key helps there.
 */
export function excusedEffects(evidence: Evidence, lines: readonly WitnessLine[]): ReadonlySet<Effect> {
  const stopped = evidence.lives.filter(({ pausedAt }) => pausedAt.length > 0);
  if (stopped.length === 0) return new Set();
  const excused = lines.filter((line, i): line is Effect => {
    if (line.kind !== "effect" || line.recovery === "keyed" || line.recovery === "repeat") return false;
    const life = stopped.find(({ number }) => number === line.life);
    if (life === undefined || line.isDropped) return false;
    return wasStoppedBefore(life, line) || wasOvertaken(line, lines.slice(0, i));
  });
  // One effect is the intended one: if all effects of a key are excused, the first is not.
  const real = lines.filter((line): line is Effect => line.kind === "effect" && !line.isDropped);
  return new Set(
    excused.filter((effect) => {
      const same = real.filter(({ key }) => key === effect.key);
      return same[0] !== effect || same.some((other) => !excused.includes(other));
    }),
  );
}

/** True if the process was stopped right before this call of its tool, while its lease expired. */
export function wasStoppedBefore(
  { pausedAt }: ProcessRecord,
  { tool, nth }: Pick<SeenCall, "tool" | "nth">,
): boolean {
  return pausedAt.some((point) => isSamePoint(point, { phase: "before", call: `tool.${tool}`, nth }));
}

/** True if another process worked on the same call after this one had entered its tool, and before the effect. */
function wasOvertaken({ life, key, attempt }: Effect, before: readonly WitnessLine[]): boolean {
  const entered = before.findLastIndex(
    (line) => line.kind === "entered" && line.life === life && line.key === key && line.attempt === attempt,
  );
  return before.slice(entered).some((line) => "key" in line && line.key === key && line.life !== life);
}

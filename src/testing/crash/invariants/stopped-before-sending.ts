import type { Evidence, LifeRecord } from "../evidence.ts";
import { isSamePoint } from "../point.ts";
import type { Effect, SeenCall, WitnessLine } from "../witness.ts";

/**
 * The one window that fencing cannot close (docs/guarantees.md): a process that was stopped after it had looked at its
 * lease, and before its tool had sent anything, sends it when it wakes. Only a key helps there.
 */
export function excusedEffects(evidence: Evidence, lines: readonly WitnessLine[]): ReadonlySet<Effect> {
  const stopped = evidence.lives.filter(({ pausedAt }) => pausedAt.length > 0);
  if (stopped.length === 0) return new Set();
  const excused = lines.filter((line, i): line is Effect => {
    if (line.kind !== "effect" || line.recovery === "keyed" || line.recovery === "repeat") return false;
    const life = stopped.find(({ number }) => number === line.life);
    if (life === undefined || line.isDropped) return false;
    return stoodBefore(life, line) || wasOvertaken(line, lines.slice(0, i));
  });
  // One of them is the one that was to happen: where all have an excuse, the first needs none.
  const real = lines.filter((line): line is Effect => line.kind === "effect" && !line.isDropped);
  return new Set(
    excused.filter((effect) => {
      const same = real.filter(({ key }) => key === effect.key);
      return same[0] !== effect || same.some((other) => !excused.includes(other));
    }),
  );
}

/** Whether a process stood right before this call of its tool while its lease ran out. */
export function stoodBefore(
  { pausedAt }: LifeRecord,
  { tool, nth }: Pick<SeenCall, "tool" | "nth">,
): boolean {
  return pausedAt.some((point) => isSamePoint(point, { phase: "before", call: `tool.${tool}`, nth }));
}

/** Whether another process was at the same call between the time that this one entered its tool and what it did there. */
function wasOvertaken({ life, key, attempt }: Effect, before: readonly WitnessLine[]): boolean {
  const entered = before.findLastIndex(
    (line) => line.kind === "entered" && line.life === life && line.key === key && line.attempt === attempt,
  );
  return before.slice(entered).some((line) => "key" in line && line.key === key && line.life !== life);
}

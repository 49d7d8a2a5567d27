import { seededRandom } from "../testing/crash/seeded-random.ts";
import type { Effect } from "./answer-hold.ts";
import { PHASES, type Phase } from "./job-pipeline.ts";

/** Where a process is killed. */
export type Kill =
  /** At the n-th crash point that it reaches in the phase. */
  | { readonly kind: "point"; readonly phase: Phase; readonly nth: number }
  /** When the outside has had the effect and has not answered yet: nobody in here can know. */
  | { readonly kind: "outside"; readonly phase: Phase; readonly effect: Effect }
  /** Wherever it is, this long after it began to work. */
  | { readonly kind: "time"; readonly afterMs: number };

/**
 * About how many crash points each phase reaches, so that each of them has its chance. One too many is no harm: the last
 * one is taken then.
 */
const POINTS: Readonly<Record<Phase, number>> = {
  plan: 17,
  crawl: 73,
  synthesise: 25,
  render: 3,
  upload: 11,
  send: 7,
  notify: 7,
};

/** What each phase makes the outside do. */
const EFFECTS: Readonly<Partial<Record<Phase, Effect>>> = {
  crawl: "page",
  upload: "upload",
  send: "mail",
  notify: "notification",
};

/** One kill in every phase. The same seed gives the same kills. */
export function killsOf(seed: number): readonly Kill[] {
  const random = seededRandom(seed);
  return PHASES.map((phase) => {
    const nth = 1 + Math.floor(random() * POINTS[phase]);
    const effect = EFFECTS[phase];
    const isOutside = random() < 0.5;
    return effect !== undefined && isOutside
      ? { kind: "outside", phase, effect }
      : { kind: "point", phase, nth };
  });
}

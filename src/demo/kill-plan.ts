import { seededRandom } from "../testing/crash/seeded-random.ts";
import type { DemoEffect } from "./answer-hold.ts";
import { PHASES, type Phase } from "./job-pipeline.ts";

/** Where a process is killed. */
export type Kill =
  /** At the n-th crash point that it reaches in the phase. */
  | { readonly kind: "point"; readonly phase: Phase; readonly nth: number }
  /** After the effect on a service and before its answer: the process cannot know that it happened. */
  | { readonly kind: "outside"; readonly phase: Phase; readonly effect: DemoEffect }
  /** This long after it started to work, wherever it is. */
  | { readonly kind: "time"; readonly afterMs: number };

/**
 * About how many crash points each phase reaches, so that each of them can be picked. A number that is too high does no harm:
 * the last point is used then.
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

/** The effect of each phase on the services. */
const EFFECTS: Readonly<Partial<Record<Phase, DemoEffect>>> = {
  crawl: "page",
  upload: "upload",
  send: "mail",
  notify: "notification",
};

/** One kill in every phase. The same seed returns the same kills. */
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

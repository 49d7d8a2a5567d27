import { hash } from "node:crypto";
import { pick, seededRandom } from "./seeded-random.ts";

/** How one viewer of a run behaves. */
export type ViewerConduct = {
  /** From 1. */
  readonly number: number;
  /**
   * When it joins: with the run, after so many steps of it, when a second process works on it, or after it has ended. A step
   * is a point that a process has reached, or time that has passed.
   */
  readonly joins: "at once" | { readonly step: number } | "second process" | "after the end";
  /** How likely it is to look at each step. */
  readonly attention: number;
  /** At each of its looks it may stand still in the middle, for some steps. */
  readonly stalls: boolean;
  /** Its process dies after so many events, and comes back with its last cursor, or from the beginning; null for never. */
  readonly dies: { readonly afterEvents: number; readonly returnsFrom: "cursor" | "beginning" } | null;
  /** For what it does at a step. */
  readonly random: () => number;
};

/** The viewers of a schedule. The same text, the same viewers. */
export function viewerConducts(schedule: string, count: number): readonly ViewerConduct[] {
  return Array.from({ length: count }, (_, i) =>
    i === 0 ? attentive(schedule) : someConduct(schedule, i + 1),
  );
}

/** It sees what there is to be seen, in every schedule. */
function attentive(schedule: string): ViewerConduct {
  const random = seededRandom(seedOf(schedule, 1));
  return { number: 1, joins: "at once", attention: 1, stalls: false, dies: null, random };
}

const LAST_STEP = 40;
const MOST_EVENTS = 12;

function someConduct(schedule: string, number: number): ViewerConduct {
  const random = seededRandom(seedOf(schedule, number));
  const step = 1 + Math.floor(random() * LAST_STEP);
  const joins = pick(random, ["at once", { step }, { step }, "second process", "after the end"] as const);
  const attention = pick(random, [1, 0.5, 0.15]);
  const returnsFrom = pick(random, ["cursor", "beginning"] as const);
  const dies = random() < 0.5 ? { afterEvents: 1 + Math.floor(random() * MOST_EVENTS), returnsFrom } : null;
  return { number, joins, attention, stalls: random() < 0.4, dies, random };
}

function seedOf(schedule: string, number: number): number {
  return Number.parseInt(hash("sha256", `${number} ${schedule}`, "hex").slice(0, 8), 16);
}

import { hash } from "node:crypto";

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

/** Numbers in [0, 1) that are the same for the same seed. */
type RandomFrom = (seed: number) => () => number;

/** The viewers of a schedule. The same text, the same viewers. */
export function viewerConducts(
  schedule: string,
  count: number,
  randomFrom: RandomFrom,
): readonly ViewerConduct[] {
  return Array.from({ length: count }, (_, i) =>
    i === 0
      ? attentive(randomFrom(seedOf(schedule, 1)))
      : someConduct(i + 1, randomFrom(seedOf(schedule, i + 1))),
  );
}

/** It sees what there is to be seen, in every schedule. */
function attentive(random: () => number): ViewerConduct {
  return { number: 1, joins: "at once", attention: 1, stalls: false, dies: null, random };
}

const LAST_STEP = 40;
const MOST_EVENTS = 12;

function someConduct(number: number, random: () => number): ViewerConduct {
  const pick = <T>(first: T, ...others: readonly T[]): T =>
    [first, ...others][Math.floor(random() * (others.length + 1))] ?? first;
  const step = 1 + Math.floor(random() * LAST_STEP);
  const joins = pick<ViewerConduct["joins"]>(
    "at once",
    { step },
    { step },
    "second process",
    "after the end",
  );
  const attention = pick(1, 0.5, 0.15);
  const returnsFrom = pick<"cursor" | "beginning">("cursor", "beginning");
  const dies = random() < 0.5 ? { afterEvents: 1 + Math.floor(random() * MOST_EVENTS), returnsFrom } : null;
  return { number, joins, attention, stalls: random() < 0.4, dies, random };
}

function seedOf(schedule: string, number: number): number {
  return Number.parseInt(hash("sha256", `${number} ${schedule}`, "hex").slice(0, 8), 16);
}

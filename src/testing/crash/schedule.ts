import { ConfigurationError } from "../../core/errors.ts";
import { type Point, parsePoint, pointText } from "./point.ts";

/** The disturbance of the processes that work on a run. Its text names it, and replays it. */
export type Schedule =
  /** Each process dies at its point, and a new one continues; the one after the last point is left alone. */
  | { readonly kind: "crash"; readonly at: readonly Point[] }
  /**
   * The first process is stopped at a point, for longer than its lease. Another one takes the run, and the first wakes
   * when that one has reached `wake`, or has ended.
   */
  | { readonly kind: "pause"; readonly at: Point; readonly wake: Point | null }
  /** The first process closes its store at a point, as its handler for SIGTERM would, and ends; a second one continues. */
  | { readonly kind: "close"; readonly at: Point }
  /** From a point on the disk is full, until the process fails; then it has space, and the same process works again. */
  | { readonly kind: "disk"; readonly at: Point }
  /** Everything at random, from this seed alone. */
  | { readonly kind: "random"; readonly seed: number };

export const UNDISTURBED: Schedule = { kind: "crash", at: [] };

/** The text of a schedule; `parseSchedule` reads it. */
export function scheduleText(schedule: Schedule): string {
  switch (schedule.kind) {
    case "crash":
      return schedule.at.length === 0
        ? "undisturbed"
        : schedule.at.map((point) => `crash ${pointText(point)}`).join("; ");
    case "pause":
      return `pause ${pointText(schedule.at)}; wake ${schedule.wake === null ? "at the end" : pointText(schedule.wake)}`;
    case "close":
    case "disk":
      return `${schedule.kind} ${pointText(schedule.at)}`;
    case "random":
      return `seed ${schedule.seed}`;
  }
}

/** The schedule of a text from a report. */
export function parseSchedule(text: string): Schedule {
  const parts = text.split(";").map((part) => part.trim());
  const [first = "", second] = parts;
  if (first === "undisturbed" && parts.length === 1) return UNDISTURBED;
  const seed = /^seed (\d+)$/.exec(first)?.[1];
  if (seed !== undefined && parts.length === 1) return { kind: "random", seed: Number(seed) };
  if (parts.every((part) => part.startsWith("crash ")))
    return { kind: "crash", at: parts.map((part) => parsePoint(part.slice("crash ".length))) };
  const [, ended, at] = /^(close|disk) (.+)$/.exec(first) ?? [];
  if (at !== undefined && parts.length === 1)
    return { kind: ended === "close" ? "close" : "disk", at: parsePoint(at) };
  if (first.startsWith("pause ") && second?.startsWith("wake ") === true && parts.length === 2) {
    const at = parsePoint(first.slice("pause ".length));
    const wake = second.slice("wake ".length);
    return { kind: "pause", at, wake: wake === "at the end" ? null : parsePoint(wake) };
  }
  throw new ConfigurationError(
    `${JSON.stringify(text)} is not a schedule: copy one that the explorer printed, "crash before store.commitTurn 2" or "seed 7".`,
  );
}

/** The number of disturbances: of two schedules that break the same promise, the report shows the smaller. */
export function sizeOf(schedule: Schedule): number {
  switch (schedule.kind) {
    case "crash":
      return schedule.at.length;
    case "close":
    case "disk":
      return 1;
    case "pause":
      return schedule.wake === null ? 2 : 3;
    case "random":
      return 1_000;
  }
}

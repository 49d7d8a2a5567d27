import { ConfigurationError } from "../../core/errors.ts";

/**
 * A place to crash: right before or right after a call through a port, named by the call (`store.commitTurn`,
 * `tool.send_email`, `model`) and its number in this process, from 1.
 */
export type Point = {
  readonly phase: "before" | "after";
  readonly call: string;
  readonly nth: number;
};

/** `before store.commitTurn 2` */
export function pointText({ phase, call, nth }: Point): string {
  return `${phase} ${call} ${nth}`;
}

export function parsePoint(text: string): Point {
  const [, phase, call, nth] = /^(before|after) (\S+) ([1-9]\d*)$/.exec(text.trim()) ?? [];
  if (phase === undefined || call === undefined)
    throw new ConfigurationError(
      `${JSON.stringify(text)} is not a point: write it as the explorer does, "before store.commitTurn 2".`,
    );
  return { phase: phase as Point["phase"], call, nth: Number(nth) };
}

export function isSamePoint(a: Point, b: Point): boolean {
  return a.phase === b.phase && a.call === b.call && a.nth === b.nth;
}

import type { Chapter } from "../../export/run-outline.ts";
import type { AttemptRecord, RunRecord } from "../../store/store.ts";
import { isInterrupted } from "../run-status.ts";

/** The worker of a life. `host` and `pid` are null if the name of the owner does not have them. */
type LifeOwner = {
  readonly name: string;
  readonly host: string | null;
  readonly pid: number | null;
};

/**
 * How a life ended.
 * - `released`: the worker released the run: it has ended, or waits.
 * - `left`: the worker gave the run up in good order, for the next one to resume.
 * - `died`: nothing was heard of the worker, and another one took over, or the lease has expired.
 * - `open`: a worker has the run now.
 */
export type LifeEnd = "released" | "left" | "died" | "open";

/** What one worker did with a run, from its claim on. Times are milliseconds since 1970. */
export type Life = {
  /** From 1. */
  readonly number: number;
  readonly epoch: number;
  readonly owner: LifeOwner;
  readonly startedAt: number;
  /** Null if nothing recorded its end. */
  readonly endedAt: number | null;
  /** Of its own events: renewals of the lease are in no log. */
  readonly lastSign: number;
  readonly end: LifeEnd;
  readonly endStatus: AttemptRecord["endStatus"];
  /** When it died: between its last sign and the next claim; `to` is null if there was no other claim. */
  readonly diedBetween: { readonly from: number; readonly to: number | null } | null;
  readonly resumedFrom: AttemptRecord["resumedFrom"];
  readonly reason: string | null;
  /** Its part of the log. */
  readonly firstSeq: number;
  readonly lastSeq: number;
};

/** The lives of a run, in order. */
export function livesOf(run: RunRecord, chapters: readonly Chapter[], now: number): readonly Life[] {
  return chapters.map((chapter, index) => {
    const { number, attempt, lastSign, firstSeq, lastSeq } = chapter;
    const { epoch, owner, startedAt, endedAt, endStatus, resumedFrom, reason } = attempt;
    const end = lifeEnd(run, chapter, now);
    const next = chapters[index + 1]?.attempt.startedAt ?? null;
    return {
      number,
      epoch,
      owner: ownerIn(owner),
      startedAt,
      endedAt,
      lastSign,
      end,
      endStatus,
      diedBetween: end === "died" ? { from: lastSign, to: next } : null,
      resumedFrom,
      reason,
      firstSeq,
      lastSeq,
    };
  });
}

function lifeEnd(run: RunRecord, { end, attempt }: Chapter, now: number): LifeEnd {
  if (attempt.endStatus === "interrupted") return "left";
  return end === "open" && isInterrupted(run, now) ? "died" : end;
}

/** The last time at which the worker is known to have had the run. */
export function lifeReach({ end, endedAt, lastSign }: Life, now: number): number {
  return endedAt ?? (end === "open" ? Math.max(now, lastSign) : lastSign);
}

/** Stores name their owners `host/pid/id`. */
function ownerIn(name: string): LifeOwner {
  const match = /^(.+)\/(\d+)\/[^/]+$/.exec(name);
  return match === null
    ? { name, host: null, pid: null }
    : { name, host: match[1] ?? null, pid: Number(match[2]) };
}

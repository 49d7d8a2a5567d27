import { pointText } from "../../../src/testing/crash/point.ts";
import type { Evidence, LifeEnd, Scenario } from "../../../src/testing/index.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/**
 * In `changed-shape` an old program and a new one work on the same run, and either may reshape it: where both are there at
 * the same time, which of them ends it is chance.
 */
export const RANDOM_SCENARIOS: readonly (readonly [name: string, make: () => Scenario])[] = Object.entries(
  SCENARIOS,
).filter(([name]) => name !== "changed-shape");

/**
 * All that there is of a course, as text that can be compared. Processes are named by when they are met first, since the
 * names of their locks are different each time on purpose; and so are the hashes of the events that hold them, and the digests
 * of the rows that do.
 */
export function courseLog(evidence: Evidence): string {
  const { lives, witness, moments, accounts, again, writes, integrity } = evidence;
  const owners = new Map<string, string>();
  const told = {
    lives: lives.map(({ reached, pausedAt, ...life }) => ({
      ...life,
      reached: reached.map(pointText),
      pausedAt: pausedAt.map(pointText),
    })),
    witness,
    moments,
    accounts,
    again,
    writes,
    integrity,
  };
  const isOfTheChain = (name: string) => name === "hash" || name === "head" || name === "marks";
  const namesNobody = (value: unknown) =>
    Array.isArray(value) && /^(run|attempt \d+)$/.test(String(value[0])) ? value.slice(0, 1) : value;
  return JSON.stringify(
    told,
    (name, value: unknown) => (isOfTheChain(name) ? null : namesNobody(value)),
    1,
  ).replaceAll(/[^"/ ]+\/\d+\/[0-9a-f]{8}-[0-9a-f]{12}/g, (owner) => {
    const name = owners.get(owner) ?? `process ${owners.size + 1}`;
    owners.set(owner, name);
    return name;
  });
}

/** What was done to the processes of many courses, so that nobody takes quiet ones for a proof. */
export class CourseTally {
  courses = 0;
  crashes = 0;
  /** Points at which a process stood while time went by. */
  stood = 0;
  /** Processes that found the run to be another's. */
  overtaken = 0;
  /** Requests that no answer came to, or whose answer did not arrive. */
  unanswered = 0;
  /** The most processes of one course. */
  lives = 0;

  add({ lives, moments, witness, accounts }: Evidence): void {
    this.courses += 1;
    this.crashes += moments.length;
    this.stood += lives.reduce((sum, { pausedAt }) => sum + pausedAt.length, 0);
    this.overtaken += lives.filter(({ end }) => end.kind === "threw" && end.name === "LeaseLostError").length;
    const asked = witness.filter(({ kind }) => kind === "asked").length;
    const paid = accounts
      .flatMap(({ modelCalls }) => modelCalls)
      .filter(({ charge }) => charge?.basis === "provider");
    this.unanswered += asked - paid.length;
    this.lives = Math.max(this.lives, lives.length);
  }

  toString(): string {
    const { courses, crashes, stood, overtaken, unanswered } = this;
    return `${courses} courses, ${crashes} crashes, ${stood} stops, ${overtaken} processes overtaken, ${unanswered} requests without an answer`;
  }
}

/** Whoever is left alone comes to an end, and to one that others may come to as well. */
export function endsAsItMay({ lives, undisturbed }: Evidence): string | null {
  if (undisturbed === null) return null;
  const known = [...MAY_HAPPEN, ...undisturbed.lives.map(({ end }) => nameOf(end))];
  const odd = lives.find(
    ({ end }) => end.kind === "stuck" || (end.kind === "threw" && !known.includes(end.name)),
  );
  return odd === undefined ? null : `Process ${odd.number} ended oddly: ${JSON.stringify(odd.end)}`;
}

/** Another one has the run, or has had it meanwhile; or it works with a prompt that is not the run's. */
const MAY_HAPPEN: readonly string[] = ["LeaseLostError", "RunBusyError", "WorkerBusyError", "ResumeError"];

function nameOf(end: LifeEnd): string {
  return end.kind === "threw" ? end.name : end.kind;
}

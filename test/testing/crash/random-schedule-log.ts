import type { Evidence, ProcessOutcome, Scenario } from "../../../src/testing/crash/index.ts";
import { pointText } from "../../../src/testing/crash/point.ts";
import { SCENARIOS } from "./scenarios/index.ts";

const TWO_PROGRAMS: readonly string[] = [
  "changed-shape",
  "conversation-deploy",
  "resume-with-redo",
  "resume-changed-twice",
  "resume-changed-later",
];

/**
 * Without those in which an old and a new program work on the same run. If both work at the same time, it is random which
 * of them ends it, and whether the other one finds its own agent in the middle of an exchange.
 */
export const RANDOM_SCENARIOS: readonly (readonly [name: string, make: () => Scenario])[] = Object.entries(
  SCENARIOS,
).filter(([name]) => !TWO_PROGRAMS.includes(name));

/**
 * All evidence of a schedule, as text that can be compared. Owners are numbered in order of appearance, since the names of
 * their locks differ each time on purpose. So do the hashes of events and the digests of rows that hold them: they are left
 * out.
 */
export function evidenceLog(evidence: Evidence): string {
  const { lives, witness, moments, accounts, again, writes, integrity, viewers } = evidence;
  const owners = new Map<string, string>();
  const log = {
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
    viewers,
  };
  const isHash = (name: string) => name === "hash" || name === "marks";
  const withoutDigest = (value: unknown) =>
    Array.isArray(value) && /^(runs|attempts \d+)$/.test(String(value[0])) ? value.slice(0, 1) : value;
  return JSON.stringify(
    log,
    (name, value: unknown) => (isHash(name) ? null : withoutDigest(value)),
    1,
  ).replaceAll(/[^"/ ]+\/\d+\/(?:[0-9a-f]{8}-[0-9a-f]{12}|pg-\d+(?:-[0-9a-f]+)?)/g, (owner) => {
    const name = owners.get(owner) ?? `process ${owners.size + 1}`;
    owners.set(owner, name);
    return name;
  });
}

/** Counts the disturbances of many random schedules: without any, they would prove nothing. */
export class ScheduleTally {
  schedules = 0;
  crashes = 0;
  /** Points at which time passed while a process stood there. */
  stops = 0;
  /** Processes that had lost the run to another. */
  overtaken = 0;
  /** Requests without an answer, or whose answer was lost. */
  unanswered = 0;
  /** The most processes of one schedule. */
  lives = 0;

  add({ lives, moments, witness, accounts }: Evidence): void {
    this.schedules += 1;
    this.crashes += moments.length;
    this.stops += lives.reduce((sum, { pausedAt }) => sum + pausedAt.length, 0);
    this.overtaken += lives.filter(({ end }) => end.kind === "threw" && end.name === "LeaseLostError").length;
    const asked = witness.filter(({ kind }) => kind === "asked").length;
    const paid = accounts
      .flatMap(({ modelCalls }) => modelCalls)
      .filter(({ charge }) => charge?.basis === "provider");
    this.unanswered += asked - paid.length;
    this.lives = Math.max(this.lives, lives.length);
  }

  toString(): string {
    const { schedules, crashes, stops, overtaken, unanswered } = this;
    return `${schedules} schedules, ${crashes} crashes, ${stops} stops, ${overtaken} processes overtaken, ${unanswered} requests without an answer`;
  }
}

/** Every process ends, and in one of the expected ways. */
export function endsAsExpected({ lives, undisturbed }: Evidence): string | null {
  if (undisturbed === null) return null;
  const known = [...EXPECTED_ERRORS, ...undisturbed.lives.map(({ end }) => nameOf(end))];
  const odd = lives.find(
    ({ end }) => end.kind === "stuck" || (end.kind === "threw" && !known.includes(end.name)),
  );
  return odd === undefined ? null : `Process ${odd.number} ended unexpectedly: ${JSON.stringify(odd.end)}`;
}

/** Another process owns the run, or did meanwhile; or this one has another prompt than the run began with. */
const EXPECTED_ERRORS: readonly string[] = [
  "LeaseLostError",
  "RunBusyError",
  "WorkerBusyError",
  "ResumeError",
];

function nameOf(end: ProcessOutcome): string {
  return end.kind === "threw" ? end.name : end.kind;
}

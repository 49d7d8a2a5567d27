import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import type { WitnessLine } from "../witness.ts";

/** What the store held of a run at one time. */
export type Observation = { readonly when: string; readonly account: RunAccount };

/** All observations of every run, in order: at each stop, at the end, and after resuming again. */
export function allObservations({ moments, accounts, again }: Evidence): readonly Observation[] {
  const observed = (when: string, runs: readonly RunAccount[]) => runs.map((account) => ({ when, account }));
  return [
    ...moments.flatMap((runs, i) => observed(`at stop ${i + 1}`, runs)),
    ...observed("at the end", accounts),
    ...observed("after resuming again", again.accounts),
  ];
}

/** An observation together with a later one of the same run. */
export type ObservationPair = Observation & { readonly later: RunAccount | null; readonly laterWhen: string };

/**
 * Each stop paired with the end, and the end paired with what was stored after resuming again. A run that was deleted
 * meanwhile has no later state.
 */
export function earlierAndLater(evidence: Evidence): readonly ObservationPair[] {
  const { moments, accounts, again } = evidence;
  const paired = (when: string, from: readonly RunAccount[], laterWhen: string, to: readonly RunAccount[]) =>
    from
      .map((account) => ({ when, account, laterWhen, later: accountOf(to, account.run.runId) }))
      .filter(({ account, later }) => later !== null || !isDeleted(evidence, account.run.runId));
  return [
    ...moments.flatMap((runs, i) => paired(`at stop ${i + 1}`, runs, "at the end", accounts)),
    ...paired("at the end", accounts, "after resuming again", again.accounts),
  ];
}

export function isDeleted({ deleted }: Evidence, runId: string): boolean {
  return deleted.some(({ stone }) => stone.runId === runId);
}

export function accountOf(accounts: readonly RunAccount[], runId: string): RunAccount | null {
  return accounts.find(({ run }) => run.runId === runId) ?? null;
}

/** `turn 2 of draft in explored-1` */
export function turnName(runId: string, stepPath: string, turnIndex: number): string {
  return `turn ${turnIndex} of ${stepPath} in ${runId}`;
}

/** The start of a key: enough to recognise it. */
export function keyName(key: string): string {
  return key.slice(0, 8);
}

/** The calls that a fork copied from its parent, as the first event says: everything up to the forked turn. */
export function copiedCalls({ run, steps, calls, events }: RunAccount): ReadonlySet<string> {
  const isLogged = events.some(({ type }) => type === "run.forked");
  if (run.forkedFrom === null || !isLogged) return new Set();
  const { stepPath, turnIndex } = run.forkedFrom;
  const indexes = new Map(steps.map(({ path, stepIndex }) => [path, stepIndex]));
  const forked = indexes.get(stepPath) ?? 0;
  const copied = calls.filter((call) => {
    const index = indexes.get(call.stepPath) ?? Number.POSITIVE_INFINITY;
    return index < forked || (index === forked && call.turnIndex <= turnIndex);
  });
  return new Set(copied.map(({ toolCallId }) => toolCallId));
}

export function objectOf(data: Json): JsonObject {
  return isJsonObject(data) ? data : {};
}

export function listIn(data: Json, property: string): readonly Json[] {
  const value = objectOf(data)[property];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** The whole witness log, including that of the process that repeated the work at the end. */
export function allLines({ witness, again }: Evidence): readonly WitnessLine[] {
  return [...witness, ...again.witness];
}

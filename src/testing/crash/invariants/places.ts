import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import type { WitnessLine } from "../witness.ts";

/** What the store had, at one time. */
export type Sight = { readonly when: string; readonly account: RunAccount };

/** Every account of every run that was taken, in order: at each death, in the end, and after doing it once more. */
export function everySight({ moments, accounts, again }: Evidence): readonly Sight[] {
  const sightsOf = (when: string, runs: readonly RunAccount[]) => runs.map((account) => ({ when, account }));
  return [
    ...moments.flatMap((runs, i) => sightsOf(`at stop ${i + 1}`, runs)),
    ...sightsOf("in the end", accounts),
    ...sightsOf("after resuming once more", again.accounts),
  ];
}

/** What was seen at a time, beside what there is of the same run later. */
export type Pair = Sight & { readonly later: RunAccount | null; readonly laterWhen: string };

/** Every account beside the ones of the end and of after it. */
export function earlierAndLater(evidence: Evidence): readonly Pair[] {
  const { moments, accounts, again } = evidence;
  const paired = (when: string, from: readonly RunAccount[], laterWhen: string, to: readonly RunAccount[]) =>
    from.map((account) => ({ when, account, laterWhen, later: accountOf(to, account.run.runId) }));
  return [
    ...moments.flatMap((runs, i) => paired(`at stop ${i + 1}`, runs, "in the end", accounts)),
    ...paired("in the end", accounts, "after resuming once more", again.accounts),
  ];
}

export function accountOf(accounts: readonly RunAccount[], runId: string): RunAccount | null {
  return accounts.find(({ run }) => run.runId === runId) ?? null;
}

/** `turn 2 of draft in explored-1` */
export function turnName(runId: string, stepPath: string, turnIndex: number): string {
  return `turn ${turnIndex} of ${stepPath} in ${runId}`;
}

/** Enough of a key to find it again. */
export function keyName(key: string): string {
  return key.slice(0, 8);
}

/** The calls that came with a fork: its parent made them. */
export function copiedCalls({ run, events }: RunAccount): ReadonlySet<string> {
  if (run.forkedFrom === null) return new Set();
  const rows = events.filter(({ type }) => type === "run.forked").flatMap(({ data }) => listIn(data, "rows"));
  const names = rows.map((row) => (Array.isArray(row) ? (row as readonly Json[])[0] : null));
  return new Set(
    names.flatMap((name) =>
      typeof name === "string" && name.startsWith("call ") ? [name.slice("call ".length)] : [],
    ),
  );
}

export function objectOf(data: Json): JsonObject {
  return isJsonObject(data) ? data : {};
}

export function listIn(data: Json, property: string): readonly Json[] {
  const value = objectOf(data)[property];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** All that the witness saw, of what was done once more in the end as well. */
export function allLines({ witness, again }: Evidence): readonly WitnessLine[] {
  return [...witness, ...again.witness];
}

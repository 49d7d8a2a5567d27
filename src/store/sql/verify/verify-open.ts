import { StoreUnusableError } from "../../../core/errors.ts";
import { CHANGED, type ChainProblem, GONE, RowComparison } from "../../../core/event-chain.ts";
import type { OpenWaitRange, Verification, VerificationProblem, WaitRecord } from "../../store.ts";
import { listOpenWaits } from "../queries/wait-queries.ts";
import { get, type SqlScript } from "../script.ts";
import type { RunKey } from "../table-list.ts";
import { missingRun } from "../tables/missing-run.ts";
import { type RunRow, requireRunKey } from "../tables/run-row.ts";
import { EventsBackwards, findMissingEvents, readOfRun, readRecent } from "./events-backwards.ts";
import { type OpenPart, readOpenPart } from "./open-part.ts";
import { RowNames } from "./row-names.ts";
import { checkRunRow } from "./run-check.ts";
import { columnsOf, storedGroups } from "./stored-rows.ts";

/**
 * Checks, before a worker or a person acts on a run, that its open part is what was written. The events are read
 * backwards to where that part began, and before it only those that cover the run as a whole, so the cost does not
 * grow with the number of committed turns. `verify` checks everything.
 */
export function* assertOpenPart(run: RunRow): SqlScript<void> {
  assertWhole({ runId: run.runId, problems: yield* openProblems(run) });
}

export function assertWhole({ runId, problems }: Pick<Verification, "runId" | "problems">): void {
  const [first, ...more] = problems;
  if (first === undefined) return;
  const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
  throw new StoreUnusableError(
    `Run ${runId} is not as it was written: ${first.row} ${first.what}${others}. Nothing was done; see \`pawl verify ${runId}\`, and restore the database from a backup.`,
    { reason: "changed_rows" },
  );
}

/**
 * The open waits, each with the problem of its run if there is one: a tampered run does not hide the waits of others.
 */
export function* listTrustedWaits(range?: OpenWaitRange): SqlScript<WaitRecord[]> {
  const waits = yield* listOpenWaits(range);
  const wrong = new Map<string, string | null>();
  for (const { runId } of waits) {
    if (wrong.has(runId)) continue;
    const [first] = yield* openProblems({ key: yield* requireRunKey(runId), runId });
    wrong.set(runId, first === undefined ? null : `${first.row} ${first.what}`);
  }
  return waits.map((wait) => {
    const distrusted = wrong.get(wait.runId) ?? null;
    return distrusted === null ? wait : { ...wait, distrusted };
  });
}

/** The problems with the open part of a run. Its row is read again, as it is stored. */
export function* openProblems({
  key,
  runId,
}: Pick<RunRow, "key" | "runId">): SqlScript<VerificationProblem[]> {
  const run = yield* get("SELECT * FROM runs WHERE run_key = ?", key);
  if (run === null) throw yield* missingRun(runId);
  const missing = yield* findMissingEvents(key, run);
  if (missing.length > 0) return missing;
  const open = yield* readOpenPart(key, run.optionalInt("current_step_no"));
  const read = new EventsBackwards();
  const before = yield* readRecent(key, run.int("event_seq"), open, read);
  const otherCalls = yield* checkOtherCalls(key, open, read);
  if (read.problems.length === 0) yield* readOfRun(key, before, read);
  if (read.problems.length > 0) return read.problems;
  const rows = new RowComparison(expectedRows(open, read));
  for (const [name, digest] of open.rows) rows.take(name, digest);
  const runProblems = checkRunRow(run, read, rows);
  const names = new RowNames({ key, runId });
  return [...runProblems, ...(yield* names.problems([...rows.problems(), ...otherCalls]))];
}

/** In the order in which they were written: when a turn is missing, so are its calls. */
function expectedRows(open: OpenPart, { digests }: EventsBackwards): [string, string][] {
  const expected: [string, string][] = [];
  for (const [name, digest] of [...digests].reverse())
    if (digest !== null && (open.rows.has(name) || open.includes(name))) expected.push([name, digest]);
  return expected;
}

const CALL = `SELECT ${columnsOf("tool_calls").join(", ")} FROM tool_calls WHERE run_key = ? AND call_no = ?`;

/**
 * Checks the other calls of the recent events. Most of them belong to turns of other steps; but one that was removed,
 * or moved from an open step to another, would go unnoticed otherwise.
 */
function* checkOtherCalls(
  key: RunKey,
  open: OpenPart,
  { digests }: EventsBackwards,
): SqlScript<readonly ChainProblem[]> {
  const problems: ChainProblem[] = [];
  for (const [name, digest] of digests) {
    const callNo = /^tool_calls (\d{1,9})$/.exec(name)?.[1];
    if (callNo === undefined || digest === null || open.includes(name)) continue;
    const row = yield* get(CALL, key, Number(callNo));
    if (row === null) problems.push({ row: name, what: GONE });
    else if (storedGroups("tool_calls", row).get(name) !== digest)
      problems.push({ row: name, what: CHANGED });
  }
  return problems;
}

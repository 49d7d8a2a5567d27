import { StoreUnusableError } from "../../core/errors.ts";
import type { Verification, VerificationProblem, WaitRecord } from "../store.ts";
import type { Database } from "./database.ts";
import { factsOf, tellingsOf } from "./event-tellings.ts";
import { type FoundRun, OpenPart, type OpenRow } from "./open-part.ts";
import { chainHash, NO_EVENT_HASH, requireRunNo } from "./run-row.ts";
import { CHANGED, GONE, SLIPPED_IN, type ToldFormat, toldFormat } from "./verify.ts";
import { listOpenWaits } from "./wait-readers.ts";

/**
 * Before somebody acts on what a run says: what is open of it is what was written. The events are read from the newest
 * backwards, no further than to where that began, so the cost does not depend on how long the run is; `verify` looks at all
 * of it.
 */
export function assertOpenPart(database: Database, run: FoundRun): void {
  assertWhole({ runId: run.runId, problems: openProblems(database, run) });
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

/** Everything that people are asked, and what is wrong with the runs that ask: one of them hides no other. */
export function listTrustedWaits(database: Database): WaitRecord[] {
  const wrong = new Map<string, string | null>();
  return listOpenWaits(database).map((wait) => {
    const { runId } = wait;
    if (!wrong.has(runId)) {
      const [first] = openProblems(database, { runNo: requireRunNo(database, runId), runId });
      wrong.set(runId, first === undefined ? null : `${first.row} ${first.what}`);
    }
    const distrusted = wrong.get(runId) ?? null;
    return distrusted === null ? wait : { ...wait, distrusted };
  });
}

export function openProblems(database: Database, run: FoundRun): VerificationProblem[] {
  const open = new OpenPart(database, run);
  const format = formatOf(database, run);
  const { told, problems } = readBack(database, run, open, format);
  for (const [row, { digest, isOver, ...stored }] of open.rows) {
    const known = told.get(row);
    if (known === digest || (known === undefined && (isOver || !isTold(stored, format)))) continue;
    problems.push({ row, what: typeof known === "string" ? CHANGED : SLIPPED_IN });
  }
  // What was written first is named first: with a turn its calls are gone.
  for (const [row, digest] of [...told].reverse())
    if (digest !== null && !open.rows.has(row) && open.includes(row)) problems.push({ row, what: GONE });
  return problems;
}

/** Whether an event has to tell of it. */
function isTold({ toldSince }: Pick<OpenRow, "toldSince">, format: ToldFormat): boolean {
  return toldSince === "digests" ? format !== "no digests" : format === "every row";
}

function formatOf(database: Database, { runNo }: FoundRun): ToldFormat {
  const first = database.get("SELECT type, data FROM events WHERE run_no = ? AND seq = 1", runNo);
  return first === null ? "every row" : toldFormat(first.text("type"), first.text("data"));
}

type ReadBack = {
  readonly told: ReadonlyMap<string, string | null>;
  readonly problems: VerificationProblem[];
};

/** What the events tell of, each row as the newest one does, and what is wrong with the events themselves. */
function readBack(database: Database, run: FoundRun, open: OpenPart, format: ToldFormat): ReadBack {
  const told = new Map<string, string | null>();
  const problems: VerificationProblem[] = [];
  const missing = new Set(
    [...open.rows].filter(([, row]) => !row.isOver && isTold(row, format)).map(([name]) => name),
  );
  const unbegun = new Set(open.steps);
  const head = database.get("SELECT event_seq, event_hash FROM runs WHERE run_no = ?", run.runNo);
  let [expected, hash] = [head?.int("event_seq") ?? 0, head?.bytes("event_hash") ?? NO_EVENT_HASH];
  const events = "SELECT * FROM events WHERE run_no = ? ORDER BY seq DESC";
  for (const event of database.iterate(events, run.runNo)) {
    const [seq, type, text] = [event.int("seq"), event.text("type"), event.text("data")];
    const before = previousHash(database, run, seq);
    const isNext = seq === expected && Buffer.from(hash).equals(event.bytes("hash"));
    if (!isNext || !chainHash(before, seq, event.int("created_at"), type, text).equals(event.bytes("hash")))
      problems.push({ row: `event ${seq}`, what: "was changed, moved, or follows one that was" });
    [expected, hash] = [seq - 1, before];
    const data = factsOf(text);
    for (const [row, digest] of tellingsOf(run.runId, type, data)) {
      if (!told.has(row)) told.set(row, digest);
      missing.delete(row);
    }
    if (BEGINNINGS.has(type) && typeof data.step === "string") unbegun.delete(data.step);
    if (problems.length > 0 || (missing.size === 0 && unbegun.size === 0)) return { told, problems };
  }
  if (expected > 0) problems.push({ row: `event ${expected}`, what: "is missing" });
  return { told, problems };
}

/** All that is open of a step came after such an event of it. */
const BEGINNINGS = new Set([
  "step.begun",
  "step.skipped",
  "step.finished",
  "turn.committed",
  "lineage.begun",
]);

function previousHash(database: Database, { runNo }: FoundRun, seq: number): Uint8Array {
  const row = database.get("SELECT hash FROM events WHERE run_no = ? AND seq = ?", runNo, seq - 1);
  return row?.bytes("hash") ?? NO_EVENT_HASH;
}

import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { type ChainProblem, EventChain, factsOf, RowComparison } from "../../../core/event-chain.ts";
import type { Json } from "../../../core/json.ts";
import { filesIn } from "../../../core/message.ts";
import type { Verification } from "../../store.ts";
import { coversRun, RUN_ROW } from "../covered-rows.ts";
import { PagedQuery } from "../paged-query.ts";
import type { Row } from "../row.ts";
import { get, type SqlScript } from "../script.ts";
import type { CoveredTable, RunKey } from "../table-list.ts";
import { blobPage } from "../tables/blob-rows.ts";
import { missingRun } from "../tables/missing-run.ts";
import { readStoreId } from "../tables/moved-run.ts";
import { parseJson, requireRunKey } from "../tables/run-row.ts";
import { RowNames } from "./row-names.ts";
import { checkRunRow, eventOf, MARKED_WRONGLY } from "./run-check.ts";
import { COVERED_TABLES, rowsOfRun, storedGroups } from "./stored-rows.ts";

/**
 * Checks that everything that is stored of a run is what was written. This detects accidents and bad disks. It is no
 * defence against an attacker who can write the database, and so can forge the whole chain of events.
 */
export function* verify(runId: string): SqlScript<Verification> {
  const key = yield* requireRunKey(runId);
  const run = yield* get("SELECT * FROM runs WHERE run_key = ?", key);
  if (run === null) throw yield* missingRun(runId);
  if (yield* isArriving(run)) return notArrived(runId, run);
  const log = yield* readLog(key, run);
  const rows = new RowComparison(log.chain.digests);
  const runProblems = checkRunRow(run, log, rows);
  const blobs = yield* readBlobs(key);
  const { receipts, unresolved } = yield* readTables(key, rows, blobs.kept);
  const names = new RowNames({ key, runId });
  const rowProblems = yield* names.problems(rows.problems());
  const lost = yield* lostBlobs(names, unresolved);
  return {
    runId,
    events: run.int("event_seq"),
    receipts,
    blobs: blobs.kept.size,
    problems: [...log.chain.problems, ...runProblems, ...rowProblems, ...blobs.problems, ...lost],
  };
}

/** True if an import of the run has begun and not ended. The row may hold anything: another program may have changed it. */
function* isArriving(run: Row): SqlScript<boolean> {
  const move = run.text("status") === "moved" ? factsOf(run.optionalText("moved") ?? "") : null;
  return move !== null && move.to === (yield* readStoreId());
}

/** Only a part of its rows may be there. */
function notArrived(runId: string, run: Row): Verification {
  const what = "has not arrived in this store: its import has not ended. Import its bundle again";
  return { runId, events: run.int("event_seq"), receipts: 0, blobs: 0, problems: [{ row: "run", what }] };
}

const EVENTS = new PagedQuery(
  "SELECT seq, created_at, type, data, hash, of_run FROM events WHERE run_key = ?",
  ["seq"],
  500,
);

type ReadLog = {
  readonly chain: EventChain;
  readonly head: string | null;
  /** The newest event that covers the row of the run. */
  readonly coveringSeq: number | null;
};

function* readLog(key: RunKey, run: Row): SqlScript<ReadLog> {
  const chain = new EventChain();
  let coveringSeq: number | null = null;
  for (let page = yield* EVENTS.first(key); page.length > 0; page = yield* EVENTS.after(page, key))
    for (const row of page) {
      const event = eventOf(row);
      const { names, isWhole } = chain.take(event);
      if (isWhole && Number(coversRun(names)) !== row.int("of_run"))
        chain.problems.push({ row: `event ${event.seq}`, what: MARKED_WRONGLY });
      if (names.includes(RUN_ROW)) coveringSeq = event.seq;
    }
  chain.end({ seq: run.int("event_seq"), hash: run.bytes("event_hash"), at: run.int("updated_at") });
  return { chain, head: chain.head, coveringSeq };
}

/** A blob that the run does not have, and the row that refers to it. */
type UnresolvedBlob = {
  readonly blobId: string;
  readonly by: { readonly artifact: string } | { readonly call: number } | { readonly message: number };
};

/** Compares every covered row of the run. Returns the number of receipts, and the missing blobs. */
function* readTables(
  key: RunKey,
  rows: RowComparison,
  kept: ReadonlySet<string>,
): SqlScript<{ receipts: number; unresolved: readonly UnresolvedBlob[] }> {
  const unresolved: UnresolvedBlob[] = [];
  let receipts = 0;
  for (const table of COVERED_TABLES) {
    const query = rowsOfRun(table);
    for (let page = yield* query.first(key); page.length > 0; page = yield* query.after(page, key)) {
      if (table === "receipts") receipts += page.length;
      for (const row of page) {
        for (const [name, digest] of storedGroups(table, row)) rows.take(name, digest);
        unresolved.push(...blobsIn(table, row).filter(({ blobId }) => !kept.has(blobId)));
      }
    }
  }
  return { receipts, unresolved };
}

/** The blobs that a row refers to. */
function blobsIn(table: CoveredTable, row: Row): readonly UnresolvedBlob[] {
  if (table === "artifacts")
    return [{ blobId: row.hex("blob_hash"), by: { artifact: row.text("artifact_name") } }];
  if (table === "messages" && row.optionalText("event") === null) {
    const by = { message: row.int("message_no") };
    return filesIn(bodyOf(row)).map(({ blobId }) => ({ blobId, by }));
  }
  if (table !== "receipts" || row.optionalBytes("blob_hash") === null) return [];
  return [{ blobId: row.hex("blob_hash"), by: { call: row.int("call_no") } }];
}

/** A damaged body is reported by its digest, and refers to nothing. */
function bodyOf(row: Row): Json {
  try {
    return parseJson(row.text("body"));
  } catch {
    return null;
  }
}

const LOST = "is missing, collected or removed:";

/** True for a blob that is not there: the content of an ended run may have been collected. */
export function isLostBlob({ row, what }: ChainProblem): boolean {
  return row.startsWith("blob ") && what.startsWith(LOST);
}

function* lostBlobs(names: RowNames, unresolved: readonly UnresolvedBlob[]): SqlScript<ChainProblem[]> {
  const problems: ChainProblem[] = [];
  for (const { blobId, by } of unresolved) {
    problems.push({
      row: `blob ${blobId}`,
      what: `${LOST} ${yield* referrer(names, by)} refers to it`,
    });
  }
  return problems;
}

function* referrer(names: RowNames, by: UnresolvedBlob["by"]): SqlScript<string> {
  if ("artifact" in by) return `artifact ${by.artifact}`;
  if ("message" in by) return `message ${by.message}`;
  return `the receipt of ${(yield* names.call(by.call)) ?? `call ${by.call}`}`;
}

/** The id of a blob is the hash of its bytes. */
function* readBlobs(key: RunKey): SqlScript<{ kept: Set<string>; problems: readonly ChainProblem[] }> {
  const kept = new Set<string>();
  const problems: ChainProblem[] = [];
  let page = yield* blobPage(key, null);
  for (; page.length > 0; page = yield* blobPage(key, page.at(-1)?.bytes("blob_hash") ?? null))
    for (const row of page) {
      const blobId = row.hex("blob_hash");
      kept.add(blobId);
      const held = blobReferenceOf(row.bytes("bytes"));
      if (held.blobId !== blobId || held.size !== row.int("size"))
        problems.push({ row: `blob ${blobId}`, what: "does not match its hash" });
    }
  return { kept, problems };
}

import { blobReferenceOf } from "../../../core/blob-reference.ts";
import { BundleRefusedError } from "../../../core/errors.ts";
import { type ChainProblem, EventChain, RowComparison } from "../../../core/event-chain.ts";
import type { BundleRow } from "../../store.ts";
import { BUNDLE_TABLES, type BundleTable, storedValues } from "../bundle-tables.ts";
import { coversRun, RUN_ROW } from "../covered-rows.ts";
import { Row } from "../row.ts";
import { checkRunRow, eventOf, MARKED_WRONGLY } from "./run-check.ts";
import { isCoveredTable, storedGroups } from "./stored-rows.ts";

/** What is in a bundle whose rows were checked. */
export type CheckedRun = {
  /** The row of the run itself. */
  readonly run: BundleRow;
  /** The hashes in hex of the events by which the run was moved, by their numbers. */
  readonly moves: ReadonlyMap<number, string>;
  readonly events: number;
  readonly blobs: number;
};

/**
 * Checks the rows of a bundle as `verify` checks those of a database, without one: nothing is stored before the whole
 * bundle is known to be what was written. It holds the digests of the rows, and one row at a time.
 */
export class BundleCheck {
  readonly #chain = new EventChain();
  readonly #moves = new Map<number, string>();
  readonly #problems: ChainProblem[] = [];
  #table = 0;
  #run: { readonly given: BundleRow; readonly row: Row } | null = null;
  #rows: RowComparison | null = null;
  #coveringSeq: number | null = null;
  #blobs = 0;

  /** Takes the rows in the order of a bundle: the run, its log, and then the tables. */
  take(given: BundleRow): void {
    const { table, row: values } = storedValues(given);
    this.#assertOrder(table);
    const row = new Row(values);
    if (table === "runs") this.#run = { given, row };
    else if (table === "events") this.#takeEvent(row);
    else if (table === "blobs") this.#takeBlob(row);
    else if (isCoveredTable(table))
      for (const [name, digest] of storedGroups(table, row)) this.#covered().take(name, digest);
  }

  end(): CheckedRun {
    const rows = this.#covered();
    if (this.#run === null) throw damaged("it has no run");
    const [problem] = [...this.#chain.problems, ...this.#problems, ...rows.problems()];
    if (problem !== undefined) throw damaged(`${problem.row} ${problem.what}`);
    return {
      run: this.#run.given,
      moves: this.#moves,
      events: this.#run.row.int("event_seq"),
      blobs: this.#blobs,
    };
  }

  #assertOrder(table: BundleTable): void {
    const rank = BUNDLE_TABLES.indexOf(table);
    if (rank < this.#table || (this.#run === null) !== (rank === 0))
      throw damaged("its rows are out of order");
    this.#table = rank;
  }

  #takeEvent(row: Row): void {
    const event = eventOf(row);
    const { names, isWhole } = this.#chain.take(event);
    if (isWhole && Number(coversRun(names)) !== row.int("of_run"))
      this.#problems.push({ row: `event ${event.seq}`, what: MARKED_WRONGLY });
    if (names.includes(RUN_ROW)) this.#coveringSeq = event.seq;
    if (event.type === "run.moved") this.#moves.set(event.seq, row.hex("hash"));
  }

  #takeBlob(row: Row): void {
    this.#blobs += 1;
    const { blobId, size } = blobReferenceOf(row.bytes("bytes"));
    if (blobId !== row.hex("blob_hash") || size !== row.int("size"))
      this.#problems.push({ row: `blob ${row.hex("blob_hash")}`, what: "does not match its hash" });
  }

  /** The comparison with the events, once all of them were taken. */
  #covered(): RowComparison {
    if (this.#rows !== null) return this.#rows;
    if (this.#run === null) throw damaged("it has no run");
    const { row } = this.#run;
    this.#chain.end({ seq: row.int("event_seq"), hash: row.bytes("event_hash"), at: row.int("updated_at") });
    this.#rows = new RowComparison(this.#chain.digests);
    const covered = { head: this.#chain.head, coveringSeq: this.#coveringSeq };
    this.#problems.push(...checkRunRow(row, covered, this.#rows));
    return this.#rows;
  }
}

function damaged(what: string): BundleRefusedError {
  return new BundleRefusedError(
    `The bundle is not what was written: ${what}. Nothing was imported: copy the file again, or export the run again.`,
    { reason: "damaged" },
  );
}

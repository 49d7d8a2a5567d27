import {
  CHANGED,
  type ChainedEvent,
  type ChainProblem,
  type RowComparison,
} from "../../../core/event-chain.ts";
import { RUN_ROW } from "../covered-rows.ts";
import type { Row } from "../row.ts";
import { storedRunFacts } from "../tables/run-columns.ts";

export const MARKED_WRONGLY =
  "is not marked as its rows require: it covers rows of the run as a whole, or none";

export function eventOf(row: Row): ChainedEvent {
  return {
    seq: row.int("seq"),
    at: row.int("created_at"),
    type: row.text("type"),
    data: row.text("data"),
    hash: row.bytes("hash"),
  };
}

/** What the events say about the row of a run itself. */
type CoveredRunRow = {
  /** The charges, reservations and last numbers after the newest event. */
  readonly head: string | null;
  /** The newest event that covers the row. */
  readonly coveringSeq: number | null;
};

/** Compares the row of a run itself. Its digest is compared with the other rows. */
export function checkRunRow(
  run: Row,
  { head, coveringSeq }: CoveredRunRow,
  rows: RowComparison,
): ChainProblem[] {
  const stored = readFacts(run);
  const isSame = rows.take(RUN_ROW, stored?.digest ?? UNREADABLE);
  const problems = stored === null ? [] : compareHeads(stored.head, head);
  if (isSame && run.int("row_seq") !== coveringSeq)
    problems.push({ row: "run", what: "names another event than the last one that covers it" });
  return problems;
}

/** No digest. */
const UNREADABLE = "unreadable";

/** Null for a row that cannot even be read, such as one with an unknown status: it is not what was written. */
function readFacts(run: Row): ReturnType<typeof storedRunFacts> | null {
  try {
    return storedRunFacts(run);
  } catch {
    return null;
  }
}

/** The amounts charged and reserved come first. */
const AMOUNTS = 4;

function compareHeads(stored: string, recorded: string | null): ChainProblem[] {
  const [own, known] = [stored.split(","), (recorded ?? "").split(",")];
  const isChanged = (from: number, to?: number) =>
    String(own.slice(from, to)) !== String(known.slice(from, to));
  return [
    ...(isChanged(0, AMOUNTS) ? [{ row: "charges of the run", what: CHANGED }] : []),
    ...(isChanged(AMOUNTS) ? [{ row: "counters of the run", what: CHANGED }] : []),
  ];
}

import type { RunChangeCursor } from "../store.ts";
import type { Row } from "./row.ts";
import type { SqlScript } from "./script.ts";

/** A run that has events behind a cursor, and how many. */
export type ChangedRun = { readonly runId: string; readonly events: number };

/** An event, with its facts as their text. */
export type LogEntry = {
  readonly runId: string;
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly data: string;
};

/** The next events of the log, and the cursor behind them. */
export type LogPage = { readonly entries: readonly LogEntry[]; readonly cursor: RunChangeCursor };

/**
 * The events of all runs in the order in which readers can see them, which each database knows in its own way. By no clock:
 * clocks are set back, and a transaction may commit long after it began.
 */
export interface ChangeLog {
  /** Where the log ends now. */
  end(): SqlScript<RunChangeCursor>;
  /**
   * The runs that have events behind the cursor, in the order of their last ones. Looks at no more than this many events.
   * Null if the cursor is none of this log, or what it ended with is gone.
   */
  since(cursor: RunChangeCursor, mostEvents: number): SqlScript<readonly ChangedRun[] | null>;
  /**
   * The next events behind the cursor: about this many, all of them in the end, and some perhaps twice. Null as for `since`,
   * however far behind the cursor is. Without an event, the cursor stays as it is.
   */
  page(cursor: RunChangeCursor, events: number): SqlScript<LogPage | null>;
}

/** The parts of a cursor; null if it does not match. */
export function cursorParts(pattern: RegExp, cursor: RunChangeCursor): readonly string[] | null {
  const [, ...parts] = pattern.exec(cursor) ?? [];
  return parts.length === 0 ? null : parts;
}

export function logEntry(row: Row): LogEntry {
  return {
    runId: row.text("run_id"),
    seq: row.int("seq"),
    at: row.int("created_at"),
    type: row.text("type"),
    data: row.text("data"),
  };
}

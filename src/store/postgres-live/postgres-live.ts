import { type LiveBackend, type LiveBatch, type NewLiveRow, readParts } from "../live/live-backend.ts";
import type { LivePosition, LiveRow } from "../live-parts.ts";
import type { Connection } from "../postgres-wire/connection.ts";
import { postgresError } from "../postgres-wire/postgres-error.ts";
import { COMMIT, type Statement } from "../sql/planned/server-session.ts";
import type { Row } from "../sql/row.ts";

/** What the table of live parts needs of its store. */
export type PostgresLiveOptions = {
  readonly connect: () => Promise<Connection>;
  readonly name: string;
  readonly isReadOnly: boolean;
};

/** After a failed read the server is left alone for a while: a viewer loses nothing that counts. */
const RETRY_READ_MS = 1_000;

/**
 * Live rows in an unlogged table, over a connection of their own: a commit never waits for them, and they never wait for the
 * disk.
 */
export class PostgresLive implements LiveBackend {
  readonly #options: PostgresLiveOptions;
  #connection: Promise<Connection> | null = null;
  #retryReadAt = 0;
  #isClosed = false;

  constructor(options: PostgresLiveOptions) {
    this.#options = options;
  }

  async write({ rows, sweepOlderThanMs }: LiveBatch): Promise<"written"> {
    const { isReadOnly, name } = this.#options;
    if (isReadOnly) throw new Error(`the database ${name} is only read by this process`);
    const sweep =
      sweepOlderThanMs === null
        ? []
        : [
            { text: SWEEP, values: [sweepOlderThanMs] },
            { text: SWEEP_VIEWERS, values: [] },
          ];
    await this.#transaction([...sweep, ...rows.flatMap(statementsOf)]);
    return "written";
  }

  async read(runs: readonly LivePosition[]): Promise<readonly LiveRow[]> {
    const values = [runs.map(({ runId }) => runId), runs.map(({ after }) => after)];
    return (await this.#rows({ text: ROWS, values })).flatMap(liveRow);
  }

  /** None if they cannot be read. */
  async #rows(query: Statement): Promise<readonly Row[]> {
    if (performance.now() < this.#retryReadAt) return [];
    try {
      const connection = await this.#open();
      const answers = await connection.exchange([...connection.begin, query, COMMIT]);
      return answers.at(-2) ?? [];
    } catch {
      this.#retryReadAt = performance.now() + RETRY_READ_MS;
      return [];
    }
  }

  version(): null {
    return null;
  }

  async announce(runId: string, forMs: number): Promise<void> {
    if (!this.#options.isReadOnly) await this.#transaction([{ text: ANNOUNCE, values: [runId, forMs] }]);
  }

  async isWatched(runId: string): Promise<boolean> {
    return (await this.#rows({ text: IS_WATCHED, values: [runId] })).length > 0;
  }

  async forget(runId: string): Promise<void> {
    await this.#transaction([{ text: "DELETE FROM live_parts WHERE run_id = ?", values: [runId] }]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => null);
    await connection?.end();
  }

  async #transaction(statements: readonly Statement[]): Promise<void> {
    try {
      const connection = await this.#open();
      await connection.exchange([...connection.begin, NO_FLUSH, ...statements, COMMIT]);
    } catch (error) {
      const known = postgresError(error, this.#options.name);
      const what = known instanceof Error ? known.message : String(known);
      throw new Error(what.replace(/: nothing was written.*$/, ""), { cause: error });
    }
  }

  /** One connection for all; another one after it was lost, or could not be made. */
  #open(): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(new Error("The store is closed."));
    if (this.#connection === null) {
      const opening = this.#options.connect();
      const forget = () => {
        if (this.#connection === opening) this.#connection = null;
      };
      opening.then((connection) => connection.onLost(forget), forget);
      this.#connection = opening;
    }
    return this.#connection;
  }
}

/** An unlogged table needs none; the numbers of its rows are logged now and then. */
const NO_FLUSH: Statement = {
  text: "SELECT set_config('synchronous_commit', 'off', true)",
  values: [],
};

const NOW = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
const SWEEP = `DELETE FROM live_parts WHERE at < ${NOW} - CAST(? AS BIGINT)`;
const SWEEP_VIEWERS = `DELETE FROM live_viewers WHERE until < ${NOW}`;
const ANNOUNCE = `INSERT INTO live_viewers (run_id, until) VALUES (?, ${NOW} + CAST(? AS BIGINT))
  ON CONFLICT (run_id) DO UPDATE SET until = excluded.until`;
const IS_WATCHED = `SELECT 1 AS found FROM live_viewers WHERE run_id = ? AND until > ${NOW}`;
const DELETE_OTHERS = "DELETE FROM live_parts WHERE run_id = ? AND epoch <= ?";
const INSERT = `INSERT INTO live_parts (no, run_id, step, turn, attempt, epoch, row_index, at, parts)
  VALUES (nextval('live_parts_no'), ?, ?, ?, ?, ?, ?, ${NOW}, ?)`;

function statementsOf(row: NewLiveRow): Statement[] {
  const { runId, step, turn, attempt, epoch, index, parts } = row;
  const values = [runId, step, turn, attempt, epoch, index, JSON.stringify(parts)];
  const first = index === 0 ? [{ text: DELETE_OTHERS, values: [runId, epoch] }] : [];
  return [...first, { text: INSERT, values }];
}

const ROWS = `SELECT no, rows.run_id, step, turn, attempt, epoch, row_index, parts
    FROM unnest(CAST(? AS TEXT[]), CAST(? AS BIGINT[])) AS seen (run_id, after)
    JOIN live_parts AS rows ON rows.run_id = seen.run_id AND rows.no > seen.after
   ORDER BY no`;

function liveRow(row: Row): LiveRow[] {
  const parts = readParts(row.text("parts"));
  if (parts === null) return [];
  return [
    {
      no: row.int("no"),
      runId: row.text("run_id"),
      step: row.text("step"),
      turn: row.int("turn"),
      attempt: row.int("attempt"),
      epoch: row.int("epoch"),
      index: row.int("row_index"),
      parts,
    },
  ];
}

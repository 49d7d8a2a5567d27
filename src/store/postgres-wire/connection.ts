import { COMMIT, ROLLBACK, type ServerSession, type Statement } from "../sql/planned/server-session.ts";
import type { Row, SqlValue } from "../sql/row.ts";
import type { Answers, Network, PgClient } from "./pg-driver.ts";
import { isConnectionLost, sqlState } from "./postgres-error.ts";
import { PreparedStatements, RoundTrip } from "./round-trip.ts";

/** Where the tables are. */
export type ConnectionOptions = {
  readonly url: string;
  /** The schema of the tables. */
  readonly schema: string;
};

/** A server that hangs must not keep a worker from noticing that its lease is over. */
const SETTINGS = {
  statement_timeout: "30s",
  lock_timeout: "5s",
  idle_in_transaction_session_timeout: "8s",
  // Statements over arrays would be planned again at every use.
  plan_cache_mode: "force_generic_plan",
} as const;

const CONNECT_MS = 5_000;
/** Longer than the server's own limit, so that its answer comes first. */
const QUERY_MS = 40_000;
/** Node's longest timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** One session on the server. Once it is lost, it stays lost. */
export class Connection implements ServerSession {
  readonly #network: Network;
  readonly #client: PgClient;
  readonly #prepared: PreparedStatements | null;
  #isLost = false;
  #onLost: () => void = () => undefined;
  /** What was sent last: the next is sent after its answer. */
  #last: Promise<unknown> = Promise.resolve();
  /** True if a pooler is in between: settings and prepared statements do not stay with this connection. */
  readonly isPooled: boolean;
  /** True if the server takes no writes, since it follows another one. */
  readonly isReplica: boolean;
  /** The process of the server that serves this connection, and when it began: numbers are given out again. */
  readonly backend: readonly [pid: number, since: string];
  /** Behind a pooler every transaction brings its settings. */
  readonly #settings: readonly Statement[];

  private constructor(network: Network, client: PgClient, server: Row, settings: Statement) {
    this.#network = network;
    this.#client = client;
    this.backend = [server.int("pid"), server.text("since")];
    this.isReplica = server.flag("replica");
    this.isPooled = client.processID !== this.backend[0];
    this.#prepared = this.isPooled ? null : new PreparedStatements();
    this.#settings = this.isPooled ? [settings] : [];
    client.on("error", () => this.#lose());
    client.on("end", () => this.#lose());
  }

  static async open(network: Network, { url, schema }: ConnectionOptions): Promise<Connection> {
    const client = await network.connect({
      connectionString: url,
      application_name: "pawl",
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
    });
    const [server] = (await exchangeOver(network, client, null, [SERVER])).flat();
    if (server === undefined) throw new Error("The server does not say which session this is.");
    const connection = new Connection(network, client, server, settingsOf(schema, true));
    // Other clients use the sessions of a pooler, too: what is set there would be set for them.
    if (!connection.isPooled) await connection.exchange([settingsOf(schema, false)]);
    return connection;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  get begin(): readonly Statement[] {
    return [BEGIN, ...this.#settings];
  }

  get beginSnapshot(): readonly Statement[] {
    return [BEGIN_SNAPSHOT, ...this.#settings];
  }

  exchange(statements: readonly Statement[]): Promise<Answers> {
    const sent = this.#last.then(() => this.#send(statements));
    this.#last = sent.catch(() => undefined);
    return sent;
  }

  /** The answer to one query. */
  async rows(text: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    // A statement by itself is a transaction, which behind a pooler has to bring its settings.
    const query = { text, values };
    const statements = this.isPooled ? [...this.begin, query, COMMIT] : [query];
    const answers = await this.exchange(statements);
    return answers[this.isPooled ? this.begin.length : 0] ?? [];
  }

  /** Runs a text of several statements, however long that takes. */
  async script(text: string): Promise<void> {
    await this.#client.query({ text, query_timeout: LONGEST_MS });
  }

  async end(): Promise<void> {
    this.#isLost = true;
    await this.#client.end().catch(() => undefined);
  }

  /** Calls back when the connection breaks; not when it is ended here. */
  onLost(callback: () => void): void {
    this.#onLost = callback;
  }

  /** Calls back with each notification of the server. */
  onNotification(callback: () => void): void {
    this.#client.on("notification", callback);
  }

  async #send(statements: readonly Statement[]): Promise<Answers> {
    if (this.#isLost) throw new Error("The connection was closed.");
    try {
      return await exchangeOver(this.#network, this.#client, this.#prepared, statements);
    } catch (error) {
      // Without an answer of the server the connection is of no use: what was sent last may be under way.
      if (sqlState(error) === null || isConnectionLost(error)) this.#lose();
      else await exchangeOver(this.#network, this.#client, null, [ROLLBACK]).catch(() => undefined);
      throw error;
    }
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    void this.#client.end().catch(() => undefined);
    this.#onLost();
  }
}

const SERVER: Statement = {
  text: `SELECT pid, backend_start::text AS since, pg_is_in_recovery() AS replica
           FROM pg_stat_activity WHERE pid = pg_backend_pid()`,
  values: [],
};
const BEGIN: Statement = { text: "BEGIN", values: [] };
const BEGIN_SNAPSHOT: Statement = { text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", values: [] };

function exchangeOver(
  network: Network,
  client: PgClient,
  prepared: PreparedStatements | null,
  statements: readonly Statement[],
): Promise<Answers> {
  const send = () =>
    new Promise<Answers>((resolve, reject) => {
      client.query(
        new RoundTrip(statements, prepared, (outcome) => {
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome);
        }),
      );
    });
  return network.exchange(client, statements, send);
}

/** Sets the tables' schema and the limits, for the transaction or for the session. */
function settingsOf(schema: string, isLocal: boolean): Statement {
  const settings = { search_path: quoted(schema), ...SETTINGS };
  const set = Object.keys(settings).map((name) => `set_config('${name}', ?, ${isLocal})`);
  return { text: `SELECT ${set.join(", ")}`, values: Object.values(settings) };
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

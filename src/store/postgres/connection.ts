import { StoreUnusableError } from "../../core/errors.ts";
import { Row } from "../sql/row.ts";
import type { SqlValue } from "../sql/script.ts";
import type { PgClient, PgModule, PgResult } from "./pg-driver.ts";
import { fromPgText, toPg } from "./text-values.ts";

/** Where the tables are, and how long the server may take. */
export type ConnectionOptions = {
  readonly url: string;
  /** The schema of the tables. */
  readonly schema: string;
  /** Accepts a server that acknowledges commits before they are durable. */
  readonly acceptLostCommits: boolean;
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

const [INT8, BYTEA, TEXT, VARCHAR] = [20, 17, 25, 1043] as const;

/** One session on the server. Once it is lost, it stays lost. */
export class Connection {
  readonly #client: PgClient;
  #isLost = false;
  #onLost: () => void = () => undefined;
  /** True if a pooler is in between: settings and prepared statements do not stay with this connection. */
  readonly isPooled: boolean;
  /** The process of the server that serves this connection. */
  readonly backend: number;
  /** Statements that begin every transaction behind a pooler. */
  readonly #preamble: string;

  private constructor(client: PgClient, backend: number, preamble: string) {
    this.#client = client;
    this.backend = backend;
    this.isPooled = client.processID !== backend;
    this.#preamble = this.isPooled ? preamble : "";
    client.on("error", () => this.#lose());
    client.on("end", () => this.#lose());
  }

  static async open(
    pg: PgModule,
    { url, schema }: Pick<ConnectionOptions, "url" | "schema">,
    { isPipelined = true }: { readonly isPipelined?: boolean } = {},
  ): Promise<Connection> {
    const client = new pg.Client({
      connectionString: url,
      pipeline: isPipelined,
      application_name: "pawl",
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: QUERY_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: 1_000,
      types: { getTypeParser: (id, format) => parserOf(pg, id, format) },
    });
    // Without a listener an error of the connection would end the process.
    client.on("error", () => undefined);
    await client.connect();
    const settings = [`SET search_path TO ${quoted(schema)}`, ...setStatements("SET")];
    if (isPipelined) await Promise.all(settings.map((text) => client.query({ text })));
    else for (const text of settings) await client.query({ text });
    const { rows } = await client.query({ text: "SELECT pg_backend_pid() AS pid" });
    const preamble = [`SET LOCAL search_path TO ${quoted(schema)}`, ...setStatements("SET LOCAL")].join("; ");
    return new Connection(client, Number(rows[0]?.pid), preamble);
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Sends a statement. Statements are answered in the order in which they are sent. */
  send(text: string, values: readonly unknown[] = []): Promise<PgResult> {
    if (this.#isLost) return Promise.reject(new Error("The connection was closed."));
    const sent = this.#client.query({
      text,
      ...(values.length === 0 ? {} : { values }),
      ...(this.isPooled || values.length === 0 ? {} : { name: nameOf(text) }),
    });
    // The caller gets the error; one that is not awaited must not end the process.
    sent.catch(() => undefined);
    return sent;
  }

  /** Begins a transaction, without waiting for the answer. */
  begin(mode = ""): Promise<PgResult> {
    const begun = this.send(`BEGIN ${mode}`);
    if (this.#preamble !== "") for (const text of this.#preamble.split("; ")) void this.send(text);
    return begun;
  }

  async rows(text: string, values: readonly SqlValue[] = []): Promise<readonly Row[]> {
    const { rows } = await this.send(portable(text), values.map(toPg));
    return rows.map((row) => new Row(row));
  }

  async end(): Promise<void> {
    this.#isLost = true;
    await this.#client.end().catch(() => undefined);
  }

  /** Calls back when the connection breaks; not when it is ended here. */
  onLost(callback: () => void): void {
    this.#onLost = callback;
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onLost();
  }
}

function setStatements(how: "SET" | "SET LOCAL"): string[] {
  return Object.entries(SETTINGS).map(([name, value]) => `${how} ${name} = '${value}'`);
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

const names = new Map<string, string>();

/** The name of a prepared statement: the same text has the same name in every session of this process. */
function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `pawl_${names.size}`;
    names.set(text, name);
  }
  return name;
}

const texts = new Map<string, string>();

/** The text with `$1, $2, …` for its values. */
function portable(text: string): string {
  let known = texts.get(text);
  if (known === undefined) {
    let n = 0;
    known = text.replaceAll("?", () => `$${++n}`);
    texts.set(text, known);
  }
  return known;
}

function parserOf(pg: PgModule, id: number, format?: string): (value: never) => unknown {
  if (id === INT8) return (value: never) => safeInteger(String(value));
  if (id === TEXT || id === VARCHAR) return (value: never) => fromPgText(String(value));
  return pg.types.getTypeParser(id === BYTEA ? BYTEA : id, format);
}

function safeInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new StoreUnusableError(
    `A row of the database holds ${text}, which is no integer of 53 bits: it was changed by another program; restore the database from a backup.`,
    { reason: "row_shape" },
  );
}

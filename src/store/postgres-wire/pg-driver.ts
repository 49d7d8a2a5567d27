// What Pawl uses of the package "pg": the rest of it is not needed, and its types are not a dependency.

import { ConfigurationError } from "../../core/errors.ts";
import type { Statement } from "../sql/planned/server-session.ts";
import type { Row } from "../sql/row.ts";

/** A column of an answer. */
export type PgField = { readonly name: string; readonly dataTypeID: number };

/** The protocol's messages, as pg writes them. */
export interface PgWire {
  readonly stream: { cork?(): void; uncork?(): void };
  parse(message: { readonly name: string; readonly text: string }): void;
  bind(message: { readonly statement: string; readonly values: readonly (string | Buffer | null)[] }): void;
  describe(message: { readonly type: "P" }): void;
  execute(message: object): void;
  sync(): void;
}

/** A query class of one's own, as pg-cursor is one: pg calls it with the answers until the server is ready again. */
export interface PgSubmittable {
  callback: (error: unknown) => void;
  submit(wire: PgWire): null;
  handleRowDescription(message: { readonly fields: readonly PgField[] }): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleCommandComplete(message: { readonly text: string }): void;
  handleEmptyQuery(): void;
  handleError(error: unknown): void;
  handleReadyForQuery(): void;
}

type PgQuery = {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
  /** In the place of the client's own limit, in milliseconds. */
  readonly query_timeout?: number;
};

export interface PgClient {
  connect(): Promise<unknown>;
  query(submittable: PgSubmittable): unknown;
  query(query: PgQuery): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  end(): Promise<void>;
  on(event: "error" | "end" | "notification", listener: (error?: Error) => void): unknown;
  /** The number of the server's process for this connection, as it was given when the connection was made. */
  readonly processID: number | null;
  readonly connection: { readonly stream: { destroy(): unknown } };
}

export type PgClientOptions = {
  readonly connectionString?: string;
  readonly application_name?: string;
  readonly connectionTimeoutMillis?: number;
  readonly query_timeout?: number;
  readonly keepAlive?: boolean;
  readonly keepAliveInitialDelayMillis?: number;
};

/** The clients of graphile-worker. */
export interface PgPool {
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect" | "remove", listener: (client: PgClient) => void): unknown;
  end(): Promise<void>;
}

export type PgModule = {
  readonly Client: new (options: PgClientOptions) => PgClient;
  readonly Pool: new (options: PgClientOptions & { readonly max: number }) => PgPool;
};

/** The answers to some statements. */
export type Answers = readonly (readonly Row[])[];

/** How connections are made, and how statements travel over them. Tests replace it by a network that fails. */
export interface Network {
  connect(options: PgClientOptions): Promise<PgClient>;
  exchange(
    client: PgClient,
    statements: readonly Statement[],
    send: () => Promise<Answers>,
  ): Promise<Answers>;
}

export const realNetwork: Network = {
  connect: async (options) => {
    const { Client } = await loadPg();
    const client = new Client(options);
    // Without a listener an error of the connection would end the process.
    client.on("error", () => undefined);
    await client.connect();
    return client;
  },
  exchange: (_client, _statements, send) => send(),
};

/** Loads the package, which is an optional peer. */
export async function loadPg(): Promise<PgModule> {
  try {
    // By a variable, so that the compiler does not ask for its types.
    const name = "pg";
    const loaded = (await import(name)) as { readonly default: PgModule };
    return loaded.default;
  } catch (error) {
    throw new ConfigurationError(
      "A PostgreSQL store needs the package pg, which could not be loaded: run `npm install pg@8` beside pawl.",
      {},
      { cause: error },
    );
  }
}

// What Pawl uses of the package "pg": the rest of it is not needed, and its types are not a dependency.

import { ConfigurationError } from "../../core/errors.ts";

/** The result of a statement. */
export type PgResult = {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
};

export type PgQuery = { readonly text: string; readonly values?: readonly unknown[]; readonly name?: string };

export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgResult>;
  end(): Promise<void>;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  /** The number of the server's process for this connection, as it was given when the connection was made. */
  readonly processID: number | null;
  readonly connection: { readonly stream: { destroy(): unknown; cork(): void; uncork(): void } };
}

export type PgClientOptions = {
  readonly connectionString?: string;
  readonly pipeline?: boolean;
  readonly options?: string;
  readonly application_name?: string;
  readonly connectionTimeoutMillis?: number;
  readonly query_timeout?: number;
  readonly keepAlive?: boolean;
  readonly keepAliveInitialDelayMillis?: number;
  readonly types?: { getTypeParser(id: number, format?: string): (value: never) => unknown };
};

export type PgModule = {
  readonly Client: new (options: PgClientOptions) => PgClient;
  readonly types: { getTypeParser(id: number, format?: string): (value: never) => unknown };
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

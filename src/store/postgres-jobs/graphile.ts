// What Pawl uses of the package "graphile-worker", an optional peer.

import { createRequire } from "node:module";
import type { PgPool } from "../postgres-wire/pg-driver.ts";

/** A client as graphile-worker uses it. */
export type GraphileClient = {
  query(query: string | { readonly text: string }, values?: readonly unknown[]): Promise<unknown>;
  release(): void;
};

/** The least of a pool that its migrations need. */
export type GraphilePool = {
  connect(): Promise<GraphileClient>;
  listeners(event: string): readonly unknown[];
};

type GraphileOptions = {
  readonly schema: string;
  readonly logger: object;
};

type GraphileRunnerOptions = GraphileOptions & {
  readonly concurrency: number;
  readonly pollInterval: number;
  readonly noHandleSignals: boolean;
  readonly events: object;
};

/** Workers of graphile-worker, which share the connections of a pool. */
export type GraphileRunner = {
  readonly promise: Promise<void>;
  gracefulShutdown(): Promise<unknown>;
};

export type Graphile = {
  readonly Logger: new (factory: () => () => void) => object;
  runMigrations(options: GraphileOptions & { readonly pgPool: GraphilePool }): Promise<void>;
  runTaskList(
    options: GraphileRunnerOptions,
    tasks: { readonly [name: string]: () => void },
    pool: PgPool,
  ): GraphileRunner;
};

/** Does not load it. */
export function isGraphileInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve("graphile-worker");
    return true;
  } catch {
    return false;
  }
}

/** Loads the package; null if it is not installed. */
export async function loadGraphile(): Promise<Graphile | null> {
  try {
    // By a variable, so that neither the compiler nor a bundler asks for it.
    const name = "graphile-worker";
    return (await import(name)) as Graphile;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}

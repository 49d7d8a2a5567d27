import { EventEmitter } from "node:events";
import { loadPg, type Network, type PgClient, type PgPool } from "../postgres-wire/pg-driver.ts";
import { sqlState } from "../postgres-wire/postgres-error.ts";
import type { Graphile, GraphileRunner } from "./graphile.ts";
import { installJobs } from "./install-jobs.ts";
import { WAKE_TASK } from "./wake-jobs.ts";

/** How late a job with a time may be: only those for now are announced. */
const POLL_MS = 1_000;

/** A task takes no time, so a few connections are enough: one that listens, and those that fetch. */
const [CONCURRENCY, CONNECTIONS] = [1, 2];

/** After a failure, everything is tried from the start after this long. */
const RETRY_MS = 30_000;

/** How long it may take to stop before its connections are cut. */
const STOP_MS = 2_000;

export type JobRunnerOptions = {
  readonly url: string;
  readonly schema: string;
  readonly network: Network;
  /** Loads the package; null if it is not installed. */
  readonly load: () => Promise<Graphile | null>;
  /** A job has come. */
  readonly onJob: () => void;
  /** The tables of the jobs are there. */
  readonly onInstalled: () => void;
};

/** Runs the jobs that wake workers, with graphile-worker. It fails quietly: nothing depends on it. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  #onNotice: (reason: string) => void = () => undefined;
  #lastReason: string | null = null;
  #isWanted = false;
  #retry: NodeJS.Timeout | null = null;
  #running: RunningJobs | null = null;
  /** What was asked last: starts and stops come one after the other. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** Starts in the background. `onNotice` is called with the reason if jobs cannot be used, once for each reason. */
  start(onNotice: (reason: string) => void): void {
    this.#onNotice = onNotice;
    if (this.#isWanted) return;
    this.#isWanted = true;
    void this.#then(() => this.#tryToStart());
  }

  /** Resolves when nothing is left: no timer, no connection. */
  stop(): Promise<void> {
    this.#isWanted = false;
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
    return this.#then(() => this.#stopRunning());
  }

  #then(what: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(what);
    return this.#last;
  }

  async #tryToStart(): Promise<void> {
    if (!this.#isWanted) return;
    try {
      const graphile = await this.#options.load();
      if (graphile === null) {
        this.#notice("the package graphile-worker is not installed beside pawl");
        return;
      }
      await this.#install(graphile);
      this.#running = await RunningJobs.start(graphile, this.#options, () => this.#restartLater());
      this.#lastReason = null;
    } catch (error) {
      this.#notice(reasonOf(error, this.#options.schema));
      this.#restartLater();
    }
  }

  async #install(graphile: Graphile): Promise<void> {
    const { network, url, schema, onInstalled } = this.#options;
    const client = await network.connect(clientOptions(url));
    try {
      await installJobs(graphile, client, schema, silent(graphile));
    } finally {
      await client.end().catch(() => undefined);
    }
    onInstalled();
  }

  #restartLater(): void {
    if (!this.#isWanted || this.#retry !== null) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      void this.#then(() => this.#stopRunning());
      void this.#then(() => this.#tryToStart());
    }, RETRY_MS);
    this.#retry.unref();
  }

  async #stopRunning(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.stop();
  }

  #notice(reason: string): void {
    if (reason === this.#lastReason) return;
    this.#lastReason = reason;
    this.#onNotice(reason);
  }
}

/** Workers of graphile-worker with connections of their own. */
class RunningJobs {
  readonly #runner: GraphileRunner;
  readonly #pool: PgPool;
  readonly #clients: ReadonlySet<PgClient>;

  private constructor(runner: GraphileRunner, pool: PgPool, clients: ReadonlySet<PgClient>) {
    this.#runner = runner;
    this.#pool = pool;
    this.#clients = clients;
  }

  static async start(
    graphile: Graphile,
    options: JobRunnerOptions,
    onFailed: () => void,
  ): Promise<RunningJobs> {
    const { Pool } = await loadPg();
    const pool = new Pool({ ...clientOptions(options.url), max: CONNECTIONS });
    const clients = new Set<PgClient>();
    pool.on("error", () => undefined);
    pool.on("remove", (client) => clients.delete(client));
    pool.on("connect", (client) => {
      clients.add(client);
      client.on("error", () => undefined);
      ignoreMigrations(client);
    });
    const events = new EventEmitter();
    // Its workers never give up; the tables may be gone, and others with the same names may take their place.
    events.on("worker:getJob:error", onFailed);
    const runner = graphile.runTaskList(
      {
        schema: options.schema,
        logger: silent(graphile),
        events,
        concurrency: CONCURRENCY,
        pollInterval: POLL_MS,
        noHandleSignals: true,
      },
      { [WAKE_TASK]: () => options.onJob() },
      pool,
    );
    runner.promise.then(onFailed, onFailed);
    return new RunningJobs(runner, pool, clients);
  }

  async stop(): Promise<void> {
    const isDone = await within(STOP_MS, this.#runner.gracefulShutdown());
    const ended = this.#pool.end();
    if (!isDone) for (const { connection } of this.#clients) connection.stream.destroy();
    await within(STOP_MS, ended);
  }
}

/** True if it was over in that time, also by an error. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const done = work.then(
    () => true,
    () => true,
  );
  const isDone = await Promise.race([done, late]);
  clearTimeout(timer);
  return isDone;
}

/**
 * Migrations of any schema in the database, an application's own among them, stop all workers of graphile-worker that
 * hear of them, and set the exit code of their processes.
 */
function ignoreMigrations(client: PgClient): void {
  const query = client.query.bind(client) as (...args: readonly unknown[]) => unknown;
  const guarded = (first: unknown, ...rest: readonly unknown[]) =>
    query(typeof first === "string" ? first.replace(/(?<!UN)LISTEN "worker:migrate";/, "") : first, ...rest);
  Object.assign(client, { query: guarded });
}

function clientOptions(url: string) {
  return {
    connectionString: url,
    application_name: "pawl jobs",
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
  };
}

/** What it would print on the console is of no use to those who run Pawl. */
function silent({ Logger }: Graphile): object {
  return new Logger(() => () => undefined);
}

function reasonOf(error: unknown, schema: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (sqlState(error) !== "42501") return `the jobs of graphile-worker could not be set up: ${message}`;
  return `this role may not set up the jobs of graphile-worker in the schema ${schema} (${message}): see docs/operations.md`;
}

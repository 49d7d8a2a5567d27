import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { StoreUnavailableError } from "../../core/errors.ts";
import { Row } from "../sql/row.ts";
import type { SqlScript, SqlValue } from "../sql/script.ts";
import { storeError } from "./sqlite-error.ts";

type ThreadQuery = { readonly text: string; readonly values: readonly SqlValue[] };
type ThreadAnswer =
  | { readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly message: string; readonly errcode: number | undefined };

/** A thread may wait for a lock: it holds up nobody. */
const BUSY_TIMEOUT_MS = 10_000;

/**
 * Everything that the thread does. It is text, and needs nothing but Node: a program that bundles Pawl has no file for it. The
 * connection is guarded as `guardedConnection` guards its own.
 */
const CODE = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
let database = null;
function open() {
  const { url, timeout } = workerData;
  database = new DatabaseSync(new URL(url), { readOnly: true, timeout, allowExtension: false });
  database.enableDefensive?.(true);
  database.exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; BEGIN");
}
parentPort.on("message", (asked) => {
  if (asked === null) {
    database?.close();
    parentPort.close();
    return;
  }
  try {
    if (database === null) open();
    parentPort.postMessage({ rows: database.prepare(asked.text).all(...asked.values) });
  } catch (error) {
    parentPort.postMessage({ message: error.message, errcode: error.errcode });
  }
});
`;

/**
 * Reads a database on a thread of its own, in one transaction. SQLite reads synchronously: a query that takes a second would keep
 * leases from being renewed and streams from being sent for as long. The rows are worked on by the caller, page by page.
 */
export class ReadThread {
  readonly #file: string;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  #isOver = false;
  #waiting: { resolve(rows: Row[]): void; reject(error: unknown): void } | null = null;

  /** `path` is the real path of a database that this process has open for writing: see `Database.open`. */
  constructor(path: string) {
    this.#file = path;
    const url = pathToFileURL(path);
    url.searchParams.set("mode", "ro");
    url.searchParams.set("readonly_shm", "1");
    this.#worker = new Worker(CODE, {
      eval: true,
      env: {},
      execArgv: [],
      workerData: { url: url.href, timeout: BUSY_TIMEOUT_MS },
    });
    this.#worker.on("message", (answer: ThreadAnswer) => this.#answer(answer));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#exited = new Promise((resolve) => this.#worker.once("exit", () => resolve()));
    void this.#exited.then(() => {
      this.#isOver = true;
      this.#fail(stopped(path));
    });
  }

  /** Runs a script whose queries all see one state. */
  async run<T>(script: () => SqlScript<T>): Promise<T> {
    const running = script();
    let step = running.next();
    while (step.done !== true) step = running.next(await this.#all(step.value));
    return step.value;
  }

  /** Lets go of the database. A query that is under way is waited for, since it cannot be interrupted. */
  end(): Promise<void> {
    this.#isOver = true;
    this.#worker.postMessage(null);
    return this.#exited;
  }

  #all(asked: ThreadQuery): Promise<Row[]> {
    if (this.#isOver) return Promise.reject(stopped(this.#file));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#worker.postMessage(asked);
    });
  }

  #answer(answer: ThreadAnswer): void {
    if ("rows" in answer) this.#waiting?.resolve(answer.rows.map((row) => new Row(row)));
    else this.#fail(Object.assign(new Error(answer.message), { errcode: answer.errcode }));
    this.#waiting = null;
  }

  #fail(error: unknown): void {
    this.#waiting?.reject(storeError(error, this.#file));
    this.#waiting = null;
  }
}

function stopped(file: string): StoreUnavailableError {
  return new StoreUnavailableError(`The store ${file} was closed while it was read: open it again.`, {
    reason: "closed",
  });
}

// Looks at every statement that a store on SQLite runs: the queries of its scripts, and its writes.

import { get, type SqlScript, type SqlValue } from "../../../src/store/sql/script.ts";
import { STORE_TABLES } from "../../../src/store/sql/store-tables.ts";
import type { Transaction } from "../../../src/store/sql/transaction.ts";
import type { Write } from "../../../src/store/sql/write.ts";
import { SqliteDriver } from "../../../src/store/sqlite/sqlite-driver.ts";

type CapturedQuery = {
  readonly text: string;
  /** The intents that asked it; none if only reads did. */
  readonly intents: Set<string>;
};

/** What was captured, and what breaks the rule that an intent of one run touches no other. */
export class CapturedStatements {
  readonly #queries = new Map<string, CapturedQuery>();
  /** Kinds of writes to tables: `insert turns`. */
  readonly writes = new Set<string>();
  /** The names of all intents that wrote something. */
  readonly intents = new Set<string>();
  readonly strangers = new Set<string>();

  get queries(): readonly CapturedQuery[] {
    return [...this.#queries.values()];
  }

  query(text: string, intent: string | null): void {
    const known = this.#queries.get(text) ?? { text, intents: new Set<string>() };
    this.#queries.set(text, known);
    if (intent !== null) known.intents.add(intent);
  }
}

/** Captures the statements of all stores of this process, from now on. */
export function captureStatements(): CapturedStatements {
  const captured = new CapturedStatements();
  // oxlint-disable-next-line typescript/unbound-method -- both are called with the driver that they belong to
  const { write, read } = SqliteDriver.prototype;
  SqliteDriver.prototype.write = function <T>(
    this: SqliteDriver,
    intent: string,
    runId: string | null,
    script: (tx: Transaction) => SqlScript<T>,
  ): Promise<T> {
    captured.intents.add(intent);
    return write.call(this, intent, runId, (tx) =>
      watched(captured, intent, runId, tx, script),
    ) as Promise<T>;
  };
  SqliteDriver.prototype.read = function <T>(this: SqliteDriver, script: () => SqlScript<T>): Promise<T> {
    return read.call(this, () => seen(captured, null, script(), [])) as Promise<T>;
  };
  return captured;
}

/** Runs the script of an intent, and compares the runs that it named with its own. */
function* watched<T>(
  captured: CapturedStatements,
  intent: string,
  runId: string | null,
  tx: Transaction,
  script: (tx: Transaction) => SqlScript<T>,
): SqlScript<T> {
  const named: (readonly [string, SqlValue | undefined])[] = [];
  const write = (each: Write) => {
    // A hint is no statement here.
    if (each.kind === "wake") return tx.write(each);
    const table = each.kind === "advance" || each.kind === "renew" ? "runs" : each.table;
    captured.writes.add(`${each.kind} ${table}`);
    if (!(table in STORE_TABLES)) for (const key of runsOf(each)) named.push([`${each.kind} ${table}`, key]);
    tx.write(each);
  };
  const before = runId === null ? undefined : yield* keyOf(runId);
  const result = yield* seen(captured, intent, script({ ...tx, write }), named);
  if (runId === null) return result;
  // A run that was deleted has no key any more.
  const own = (yield* keyOf(runId)) ?? before;
  for (const [what, key] of named) if (key !== own) captured.strangers.add(`${intent}: ${what}`);
  return result;
}

function* keyOf(runId: string): SqlScript<SqlValue | undefined> {
  return (yield* get("SELECT run_key FROM runs WHERE run_id = ?", runId))?.value("run_key");
}

function* seen<T>(
  captured: CapturedStatements,
  intent: string | null,
  script: SqlScript<T>,
  named: (readonly [string, SqlValue | undefined])[],
): SqlScript<T> {
  let step = script.next();
  while (step.done !== true) {
    const { text, values } = step.value;
    captured.query(text, intent);
    for (const index of runParameters(text)) named.push([text, values[index]]);
    step = script.next(yield step.value);
  }
  return step.value;
}

/** The positions of the values that name a run by its key. */
function runParameters(text: string): number[] {
  return [...text.matchAll(/\?/g)].flatMap(({ index }, n) =>
    /\brun_key = $/.test(text.slice(0, index)) ? [n] : [],
  );
}

/** The runs that a write names: the one that is written, and the one that is copied from. */
function runsOf(write: Exclude<Write, { readonly kind: "wake" }>): readonly (SqlValue | undefined)[] {
  switch (write.kind) {
    case "insert":
    case "upsert":
    case "keep":
      return [write.row.run_key];
    case "update":
    case "remove":
      return [write.key.run_key];
    case "copy":
      return [write.key.run_key, write.set.run_key];
    case "advance":
    case "renew":
      return [write.key];
  }
}

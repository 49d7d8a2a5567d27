import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Leases } from "../../../../src/store/sql/leases.ts";
import { NO_NOTES } from "../../../../src/store/sql/owners.ts";
import type { SqlScript } from "../../../../src/store/sql/script.ts";
import type { Transaction } from "../../../../src/store/sql/transaction.ts";
import type { Write } from "../../../../src/store/sql/write.ts";
import type { Database } from "../../../../src/store/sqlite/database.ts";
import { WorkInProgress } from "../../../../src/store/work-in-progress.ts";
import { claimOptions, LEASE_MS, newRun, newStep } from "../../../../src/testing/store/sample-run.ts";
import { forgeRun } from "../../../store/sqlite/verify/forged-run.ts";
import type { Bundled } from "./bundle-mutant.ts";
import type { MutantCheck } from "./mutant.ts";

type Setting = {
  readonly file: string;
  readonly store: Awaited<ReturnType<Bundled["SqliteStore"]["open"]>>;
  readonly database: Database;
};

const FENCE = { runId: "r", epoch: 1 };

/** With a store that has claimed a run, and another connection to its file. */
async function withRun(
  { SqliteStore, Database }: Bundled,
  check: (setting: Setting) => Promise<boolean>,
): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-writes-"));
  const file = join(folder, "pawl.db");
  const store = await SqliteStore.open(file);
  const database = Database.open(file);
  try {
    await store.createRun(newRun(FENCE.runId));
    return await check({ file, store, database });
  } finally {
    database.close();
    await store.vanish();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs an intent in the way of a database over the wire: it reads, others go on meanwhile, and its writes arrive
 * together at the end. Resolves to whether they were accepted.
 */
async function sentLater(
  { writeRow }: Bundled,
  database: Database,
  intent: (tx: Transaction) => SqlScript<unknown>,
  meanwhile: () => Promise<unknown> | void,
): Promise<boolean> {
  const writes: Write[] = [];
  const now = Date.now();
  const script = intent({
    now,
    leases: leasesOf(database),
    heads: new Map(),
    mayTakeFrom: notNeeded,
    lockRuns: notNeeded,
    lockName: notNeeded,
    newRunKey: notNeeded,
    write: (write) => writes.push(write),
  });
  let step = script.next();
  while (step.done !== true) step = script.next(database.all(step.value.text, ...step.value.values));
  await meanwhile();
  database.run("BEGIN IMMEDIATE");
  try {
    for (const write of writes) writeRow(database, now, write);
    database.run("COMMIT");
    return true;
  } catch (error) {
    database.run("ROLLBACK");
    if (error instanceof Error && error.name === "StaleHeadError") return false;
    throw error;
  }
}

/** Those of the store that has claimed the run. */
function leasesOf(database: Database): Leases {
  const owner = database.get("SELECT owner FROM runs")?.text("owner") ?? "";
  const watch = { owner, generation: 0, held: notNeeded, livenessOf: notNeeded, look: notNeeded };
  return new Leases(watch, new WorkInProgress(), NO_NOTES, notNeeded);
}

function notNeeded(): never {
  throw new Error("These intents neither claim nor create a run.");
}

/** A log of the same length with other events, as after a backup was restored and used. */
export const aReplacedLog: MutantCheck = (bundle) =>
  withRun(bundle, async ({ file, database }) => {
    const replace = () => forgeRun(file, "UPDATE runs SET entrypoint = ?", "another");
    const isAccepted = await sentLater(
      bundle,
      database,
      (tx) => bundle.beginStep(tx, FENCE, newStep("draft")),
      replace,
    );
    return !isAccepted;
  });

export const aRenewalBetween: MutantCheck = (bundle) =>
  withRun(bundle, async ({ store, database }) => {
    const isAccepted = await sentLater(
      bundle,
      database,
      (tx) => bundle.beginStep(tx, FENCE, newStep("draft")),
      () => store.renewLease(FENCE, 2 * LEASE_MS),
    );
    const lease = database.get("SELECT lease_ms FROM runs");
    return isAccepted && lease?.int("lease_ms") === 2 * LEASE_MS;
  });

/** The same process has given the run up and claimed it again. */
export const aRenewalOfAnEarlierClaim: MutantCheck = (bundle) =>
  withRun(bundle, async ({ store, database }) => {
    const isAccepted = await sentLater(
      bundle,
      database,
      (tx) => bundle.renewLease(tx, FENCE, 2 * LEASE_MS),
      async () => {
        await store.interruptRun(FENCE);
        await store.claimRun(FENCE.runId, claimOptions());
      },
    );
    return !isAccepted;
  });

/** As after a database was restored, or failed over and lost commits: another owner has the same epoch. */
export const anEpochTwice: MutantCheck = (bundle) =>
  withRun(bundle, async ({ file, store }) => {
    forgeRun(file, "UPDATE runs SET owner = ?", "another");
    const refusal = await store.beginStep(FENCE, newStep("draft")).catch((error: unknown) => error);
    return refusal instanceof Error && refusal.name === "LeaseLostError";
  });

/** Another program changes a column of a group that is covered on its own. */
export const aChangedTrace: MutantCheck = (bundle) =>
  withRun(bundle, async ({ file, store }) => {
    await store.keepTrace(FENCE, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    const isIntact = (await store.verify(FENCE.runId)).problems.length === 0;
    const raw = new DatabaseSync(file);
    raw.exec("UPDATE attempts SET trace_parent = 'another'");
    raw.close();
    const { problems } = await store.verify(FENCE.runId);
    return isIntact && problems.length > 0;
  });

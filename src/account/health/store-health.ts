import { StoreUnavailableError } from "../../core/errors.ts";
import type { DatabaseReport, RunRecord, Store, StoreReader } from "../../store/store.ts";
import { fileHealth, type WorkFolder } from "./file-health.ts";
import { type Health, ok, problem } from "./health.ts";
import { postgresHealth, schemaHealth } from "./postgres-health.ts";
import { queueHealth } from "./queue-health.ts";
import { type CommandHint, runHealth } from "./run-health.ts";

/** How many of the newest runs are checked for the folder they work in. */
const MAX_RUN_FOLDERS = 100;

/** A store that is open, and what its surroundings know. */
export type StoreToCheck = {
  readonly store: StoreReader & Pick<Store, "storeId">;
  /** What people call it, or its address without a password. */
  readonly name: string;
  /** What `inspectDatabase` found. */
  readonly database: DatabaseReport;
  /** Whether the database itself is checked: that reads all of it. */
  readonly readsAll: boolean;
  /** Where tools work: those of the pipelines that are known, and of these runs. */
  readonly workFolders: (runs: readonly RunRecord[]) => readonly WorkFolder[];
  readonly hint: CommandHint;
  readonly now: number;
};

/** The checks of an open store and its content, in the order in which they are shown. */
export async function storeHealth(checked: StoreToCheck): Promise<readonly Health[]> {
  const { store, name, readsAll } = checked;
  const runs = await store.listRuns();
  return [
    ok("store", name),
    await identityHealth(store),
    ...(await databaseChecks(checked, runs)),
    ...(readsAll && checked.database.database === "sqlite" ? [await pageHealth(store)] : []),
    ...(await runHealth(store, runs, checked)),
    await queueHealth(store),
  ];
}

async function databaseChecks(
  { database, workFolders }: StoreToCheck,
  runs: readonly RunRecord[],
): Promise<readonly Health[]> {
  if (database.database === "postgres") return postgresHealth(database.server);
  const { file } = database;
  const schema = schemaHealth({ ...database, schema: "the database" });
  if (file === null) return [schema];
  return [
    schema,
    ...(await fileHealth(file, workFolders(runs.slice(0, MAX_RUN_FOLDERS)))),
    // Opening the store checks both, and fails if one does not hold.
    ok("durability", "journal_mode WAL and synchronous FULL hold"),
  ];
}

/** Bundles of runs name their target by it. A database that is only read here may have none yet. */
async function identityHealth(store: Pick<Store, "storeId">): Promise<Health> {
  try {
    return ok("store id", await store.storeId());
  } catch (error) {
    if (!StoreUnavailableError.isInstance(error) || error.details.reason !== "read_only") throw error;
    return ok("store id", "none yet: `pawl migrate` gives it one");
  }
}

/** Whether the pages of the database are intact. It reads all of them. */
async function pageHealth(store: StoreReader): Promise<Health> {
  const problems = await store.checkIntegrity();
  if (problems.length === 0) return ok("database", "the integrity check passes");
  const remedy = "stop all processes that use it, keep a copy, and restore a backup";
  return problem("database", "fail", problems.join(" "), remedy);
}

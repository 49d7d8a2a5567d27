import { byteText, counted } from "../../export/figures.ts";
import type { ServerReport } from "../../store/store.ts";
import { type Health, ok, problem } from "./health.ts";

/** The oldest version that Pawl's statements work with. */
const OLDEST_VERSION = 140_000;
const LONG_TRANSACTION_SECONDS = 300;
const LARGE_CLOCK_DIFFERENCE_MS = 2_000;
/** Connections of one process, at most: those of a worker, with signals and jobs. */
const CONNECTIONS = 8;
/** Below these numbers, counts say nothing. */
const [MANY_DEAD, MANY_UPDATES] = [10_000, 10_000];

/** The checks of a PostgreSQL server, in the order in which they are shown. */
export function postgresHealth(report: ServerReport): readonly Health[] {
  return [server(report), schemaHealth(report), rights(report), commits(report), checksums(report)].concat([
    replicas(report),
    pooler(report),
    sessions(report),
    snapshots(report),
    vacuum(report),
    clock(report),
    dispatch(report),
    size(report),
  ]);
}

function server({ version, versionNumber, role, isReplica }: ServerReport): Health {
  const what = `PostgreSQL ${version}, as ${role}`;
  if (versionNumber < OLDEST_VERSION) return problem("server", "fail", what, "upgrade it to 14 or newer");
  if (isReplica)
    return problem(
      "server",
      "fail",
      `${what}; it is a replica, or is being restored`,
      "name the primary server",
    );
  return ok("server", what);
}

/** The tables, in the schema of this name, and the version that this program knows. */
export function schemaHealth({
  schema: name,
  schemaVersion: version,
  knownVersion: known,
}: Pick<ServerReport, "schema" | "schemaVersion" | "knownVersion">): Health {
  if (version === null)
    return problem(
      "schema",
      "fail",
      `${name} cannot be seen by this role`,
      "grant the rights below, then look again",
    );
  if (version === 0)
    return problem(
      "schema",
      "warn",
      `${name} has no tables of Pawl`,
      "run `pawl migrate`, or check the address",
    );
  if (version > known)
    return problem(
      "schema",
      "fail",
      `${name} has version ${version}, and this Pawl knows ${known}`,
      "use a newer Pawl",
    );
  if (version < known)
    return problem(
      "schema",
      "warn",
      `${name} has version ${version}, and this Pawl needs ${known}`,
      "stop older processes, then run `pawl migrate`",
    );
  return ok("schema", `${name} has version ${version}`);
}

function rights({ missingRights: missing, schemaVersion, role }: ServerReport): Health {
  if (missing.length === 0)
    return schemaVersion === 0
      ? ok("rights", "there are no tables yet")
      : ok("rights", `${role} may read and write all tables`);
  const readsOnly = missing.every((right) => /^(?:INSERT|UPDATE|DELETE) /.test(right));
  const shown =
    missing.slice(0, 3).join(", ") + (missing.length > 3 ? `, and ${missing.length - 3} more` : "");
  const remedy = "grant it the rights that docs/operations.md lists";
  return readsOnly
    ? problem("rights", "warn", `${role} may read only: ${shown} is missing`, `if it is to work: ${remedy}`)
    : problem("rights", "fail", `${role} lacks ${shown}`, remedy);
}

/** What a crash of the server may lose or damage. */
function commits({ settings }: ServerReport): Health {
  const off = ["fsync", "synchronous_commit", "full_page_writes"].filter((name) => settings[name] === "off");
  if (off.length === 0)
    return ok(
      "commits",
      `are durable: fsync on, synchronous_commit ${settings.synchronous_commit}, full_page_writes on`,
    );
  const losesCommits = off.some((name) => name !== "full_page_writes");
  const loss = losesCommits ? "a crash loses commits, and effects are repeated" : "a crash may damage pages";
  return problem(
    "commits",
    losesCommits ? "fail" : "warn",
    `${off.join(" and ")} off: ${loss}`,
    `turn ${off.length === 1 ? "it" : "them"} on`,
  );
}

function checksums({ settings }: ServerReport): Health {
  return settings.data_checksums === "on"
    ? ok("checksums", "the server checks the pages of its files")
    : problem(
        "checksums",
        "warn",
        "data_checksums is off: damage of the disk is not noticed",
        "turn them on with `pg_checksums --enable` while the server is stopped",
      );
}

/** What a failover may lose. */
function replicas({ settings, replicas: count }: ServerReport): Health {
  const names = settings.synchronous_standby_names ?? "";
  const connected = count === 0 ? "no replica is connected" : `${counted(count, "replica")} connected`;
  if (names !== "")
    return ok(
      "failover",
      `loses nothing that was acknowledged: synchronous_standby_names is set; ${connected}`,
    );
  if (count === 0) return ok("failover", `${connected}: a lost server is restored from a backup`);
  return problem(
    "failover",
    "warn",
    `may lose the last commits, and effects are repeated: ${connected}, and synchronous_standby_names is empty`,
    "set synchronous_standby_names, if a failover must lose nothing",
  );
}

function pooler({ isPooled }: ServerReport): Health {
  return isPooled
    ? problem(
        "pooler",
        "warn",
        "a pooler is in between: the owner lock is off, so the run of a killed process waits for the end of its lease",
        "connect to the server itself",
      )
    : ok("pooler", "none: the run of a killed process can be taken at once");
}

function sessions({ sessions: { used, most }, settings }: ServerReport): Health {
  const idle = settings.idle_in_transaction_session_timeout ?? "0";
  const limit = idle === "0" ? "no limit of the server" : `${idle} ms`;
  const what = `${used} of ${most} connections are used; idle in a transaction: 8 s for Pawl, ${limit} for others`;
  return most - used < 2 * CONNECTIONS
    ? problem(
        "sessions",
        "warn",
        what,
        `raise max_connections, or end some: each process of Pawl uses up to ${CONNECTIONS}`,
      )
    : ok("sessions", what);
}

/** What keeps dead rows from being removed. */
function snapshots(report: ServerReport): Health {
  const {
    oldestTransactionSeconds: oldest,
    preparedTransactions,
    unusedSlots,
    sessions: { hidden },
  } = report;
  const found = [
    oldest >= LONG_TRANSACTION_SECONDS
      ? `a transaction has been open for ${Math.round(oldest / 60)} minutes`
      : null,
    preparedTransactions > 0 ? `${counted(preparedTransactions, "prepared transaction")} left` : null,
    unusedSlots > 0 ? `${counted(unusedSlots, "replication slot")} that nothing reads` : null,
  ].filter((each) => each !== null);
  if (found.length > 0)
    return problem(
      "snapshots",
      "warn",
      `${found.join("; ")}: dead rows stay`,
      "see docs/operations.md for the query, and end it",
    );
  const unseen =
    hidden === 0
      ? ""
      : ` that this role may see (${counted(hidden, "session")} of others hidden: grant it pg_read_all_stats)`;
  return ok("snapshots", `no transaction${unseen} is older than ${LONG_TRANSACTION_SECONDS / 60} minutes`);
}

function vacuum({ tables, settings }: ServerReport): Health {
  if (settings.autovacuum === "off")
    return problem(
      "vacuum",
      "warn",
      "autovacuum is off: dead rows stay, and commits get slower",
      "turn it on",
    );
  const bloated = tables.find(({ live, dead }) => dead > MANY_DEAD && dead > 2 * live);
  if (bloated !== undefined)
    return problem(
      "vacuum",
      "warn",
      `${bloated.table} has ${bloated.dead} dead rows, and ${bloated.live} others`,
      `run VACUUM ${bloated.table}, and see docs/operations.md`,
    );
  const runs = tables.find(({ table }) => table === "runs");
  if (runs !== undefined && runs.updates > MANY_UPDATES && runs.hotUpdates < 0.8 * runs.updates)
    return problem(
      "vacuum",
      "warn",
      `only ${Math.round((100 * runs.hotUpdates) / runs.updates)} % of the updates of runs are HOT`,
      "remove indexes that are not Pawl's, and see docs/operations.md",
    );
  return ok("vacuum", "autovacuum is on, and no table has many dead rows");
}

function clock({ clockOffMs, roundTripMs }: ServerReport): Health {
  const what = `the server's is ${Math.abs(clockOffMs)} ms ${clockOffMs < 0 ? "behind" : "ahead"}, give or take ${Math.ceil(roundTripMs / 2)}`;
  return Math.abs(clockOffMs) - roundTripMs > LARGE_CLOCK_DIFFERENCE_MS
    ? problem(
        "clock",
        "warn",
        `${what}: leases are measured by the server's, but times in the log are this machine's`,
        "let both use a time server",
      )
    : ok("clock", what);
}

/** What wakes workers, beside their own sweeps. */
function dispatch({ jobs, role }: ServerReport): Health {
  const { schema: name, isInstalled, state, mayCreate, tables } = jobs;
  if (tables !== null && isInstalled) {
    const overdue = tables.overdue === 0 ? "" : `, ${tables.overdue} overdue: is no worker running?`;
    return ok(
      "dispatch",
      `signals, and jobs of graphile-worker: ${name} has version ${tables.version}, and ${counted(tables.waiting, "job")}${overdue}`,
    );
  }
  if (!isInstalled) return ok("dispatch", "signals only: the package graphile-worker is not installed here");
  if (state === "missing" && mayCreate)
    return ok("dispatch", `signals; the first worker creates the schema ${name} for jobs of graphile-worker`);
  const what = state === "missing" ? `may not create the schema ${name}` : `may not use the schema ${name}`;
  return problem(
    "dispatch",
    "warn",
    `signals only: ${role} ${what} for jobs of graphile-worker`,
    "if workers are to be woken by jobs, let a role of theirs own it: see docs/operations.md",
  );
}

function size({ tables }: ServerReport): Health {
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0);
  const largest = tables.slice(0, 3).map((each) => `${each.table} ${byteText(each.bytes)}`);
  return ok(
    "size",
    tables.length === 0 ? "there are no tables yet" : `${byteText(bytes)}, most in ${largest.join(", ")}`,
  );
}

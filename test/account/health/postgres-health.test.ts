import { describe, expect, it } from "vitest";
import { postgresHealth } from "../../../src/account/health/postgres-health.ts";
import type { ServerReport, TableReport } from "../../../src/store/store.ts";

const RUNS: TableReport = {
  table: "runs",
  bytes: 2_000_000,
  live: 500,
  dead: 20,
  updates: 50_000,
  hotUpdates: 49_000,
};

const HEALTHY: ServerReport = {
  version: "18.4",
  versionNumber: 180_004,
  role: "pawl",
  schema: "pawl",
  schemaVersion: 100,
  knownVersion: 100,
  isReplica: false,
  isPooled: false,
  settings: {
    autovacuum: "on",
    data_checksums: "on",
    fsync: "on",
    full_page_writes: "on",
    idle_in_transaction_session_timeout: "0",
    synchronous_commit: "on",
    synchronous_standby_names: "",
  },
  replicas: 0,
  sessions: { used: 7, most: 100, hidden: 0 },
  oldestTransactionSeconds: 2,
  preparedTransactions: 0,
  unusedSlots: 0,
  clockOffMs: 3,
  roundTripMs: 4,
  missingRights: [],
  tables: [RUNS],
  jobs: {
    schema: "pawl_jobs",
    isInstalled: true,
    state: "usable",
    mayCreate: true,
    tables: { version: 20, waiting: 3, overdue: 0 },
  },
};

const jobs = (over: Partial<ServerReport["jobs"]>) => ({ jobs: { ...HEALTHY.jobs, tables: null, ...over } });

const settings = (over: Record<string, string>) => ({ settings: { ...HEALTHY.settings, ...over } });

describe("the health of a PostgreSQL server", () => {
  it("is fine if nothing is wrong, and nothing has to be done then", () => {
    const checks = postgresHealth(HEALTHY);
    expect(checks.filter(({ status, remedy }) => status !== "ok" || remedy !== null)).toEqual([]);
    expect(checks.map(({ what }) => what)).toContain("2.0 MB, most in runs 2.0 MB");
  });

  it.for<[string, "warn" | "fail", RegExp, Partial<ServerReport>]>([
    ["server", "fail", /13\.2/, { version: "13.2", versionNumber: 130_002 }],
    ["server", "fail", /is a replica/, { isReplica: true }],
    ["schema", "fail", /has version 101, and this Pawl knows 100/, { schemaVersion: 101 }],
    ["schema", "warn", /has version 100, and this Pawl needs 101/, { knownVersion: 101 }],
    ["schema", "fail", /cannot be seen/, { schemaVersion: null }],
    ["rights", "fail", /lacks SELECT on runs/, { missingRights: ["SELECT on runs", "INSERT on runs"] }],
    ["rights", "warn", /may read only: INSERT on runs/, { missingRights: ["INSERT on runs"] }],
    ["commits", "fail", /^synchronous_commit off: a crash loses/, settings({ synchronous_commit: "off" })],
    ["commits", "warn", /^full_page_writes off: a crash may damage/, settings({ full_page_writes: "off" })],
    ["checksums", "warn", /is off/, settings({ data_checksums: "off" })],
    ["failover", "warn", /may lose the last commits.*2 replicas connected/, { replicas: 2 }],
    ["pooler", "warn", /the owner lock is off/, { isPooled: true }],
    ["sessions", "warn", /^95 of 100/, { sessions: { used: 95, most: 100, hidden: 0 } }],
    ["dispatch", "warn", /may not create the schema pawl_jobs/, jobs({ state: "missing", mayCreate: false })],
    ["dispatch", "warn", /may not use the schema pawl_jobs/, jobs({ state: "forbidden" })],
    ["snapshots", "warn", /open for 10 minutes/, { oldestTransactionSeconds: 600 }],
    ["snapshots", "warn", /1 prepared transaction left/, { preparedTransactions: 1 }],
    ["snapshots", "warn", /1 replication slot that nothing reads/, { unusedSlots: 1 }],
    ["vacuum", "warn", /autovacuum is off/, settings({ autovacuum: "off" })],
    ["vacuum", "warn", /runs has 20000 dead rows/, { tables: [{ ...RUNS, dead: 20_000 }] }],
    ["vacuum", "warn", /only 10 % of the updates/, { tables: [{ ...RUNS, hotUpdates: 5_000 }] }],
    ["clock", "warn", /61000 ms behind/, { clockOffMs: -61_000 }],
  ])("%s: %s if %s", ([name, status, what, over]) => {
    const others = postgresHealth({ ...HEALTHY, ...over }).filter((check) => check.status !== "ok");
    expect(others).toMatchObject([{ name, status, what: expect.stringMatching(what) }]);
    expect(others[0]?.remedy).toMatch(/^[a-z].*[^.]$/);
  });

  it("counts a synchronous replica as safe", () => {
    const checks = postgresHealth({
      ...HEALTHY,
      replicas: 1,
      ...settings({ synchronous_standby_names: "ANY 1 (a)" }),
    });
    expect(checks.find(({ name }) => name === "failover")).toMatchObject({
      status: "ok",
      what: expect.stringContaining("loses nothing that was acknowledged"),
    });
  });
});

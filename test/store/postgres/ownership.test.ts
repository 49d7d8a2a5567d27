import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LeaseLostError } from "../../../src/core/errors.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { loadPg } from "../../../src/store/postgres-wire/pg-driver.ts";
import type { Store } from "../../../src/store/store.ts";
import { claimOptions, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const FOREIGN_SERVER = "The server of TEST_POSTGRES_URL may be far away, and is not crashed.";
let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

async function holder(schema: string, runId: string) {
  const child = spawn(
    process.execPath,
    ["--no-warnings", `${import.meta.dirname}/children/hold-run.ts`, server.url, schema, runId],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(child.stdout, "data");
  return child;
}

async function claimed(store: Store, runId: string, withinMs: number): Promise<number | null> {
  const start = performance.now();
  while (performance.now() - start < withinMs) {
    const outcome = await store.claimRun(runId, claimOptions());
    if (outcome.kind === "claimed") return performance.now() - start;
    expect(outcome.kind).toBe("busy");
    await sleep(20);
  }
  return null;
}

const LOCKS = `SELECT pid, classid, objid FROM pg_locks WHERE locktype = 'advisory' AND granted`;
/** Sessions that wait for a row. */
const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;

/** The number of an owner's lock. */
function lockNumber(owner: string | null): string {
  return /\/pg-(\d+)/.exec(owner ?? "")?.[1] ?? "";
}

/** A store with a run whose process was killed, and the place of that process's lock. */
async function killedHolder() {
  const schema = server.newSchema();
  const store = await openStore(server.url, { schema });
  const child = await holder(schema, "held");
  const owner = (await store.getRun("held"))?.owner ?? null;
  const [lock] = (await server.sql(LOCKS)).filter(({ objid }) => String(objid) === lockNumber(owner));
  child.kill("SIGKILL");
  await once(child, "close");
  // Shown without a sign, and taken with one.
  return { schema, store, place: [Number(lock?.classid) | 0, lock?.objid] };
}

/** Kills a process of the server: it ends all sessions, recovers, and keeps its start time. */
async function killBackend(): Promise<void> {
  const started = () => server.sql("SELECT pg_postmaster_start_time() AS at");
  const before = await started();
  const [backend] = await server.sql(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'pawl' ORDER BY backend_start LIMIT 1",
  );
  process.kill(Number(backend?.pid), "SIGKILL");
  await expect.poll(() => started().catch(() => null), { timeout: 20_000 }).toEqual(before);
}

describe("a run on PostgreSQL", () => {
  it("is busy while its process lives, and is taken soon after that was killed", async () => {
    const schema = server.newSchema();
    const store = await openStore(server.url, { schema });
    const child = await holder(schema, "held");
    expect(await store.isHeld("held")).toBe(true);
    expect((await store.claimRun("held", claimOptions())).kind).toBe("busy");
    child.kill("SIGKILL");
    await once(child, "close");
    const taken = await claimed(store, "held", 10_000);
    if (server.port !== null) expect(taken).toBeLessThan(2_000);
    await store.close();
  });

  it("is taken as soon by a process that was started after the kill", async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const schema = server.newSchema();
    const child = await holder(schema, "held");
    child.kill("SIGKILL");
    await once(child, "close");
    const store = await openStore(server.url, { schema });
    const start = performance.now();
    // The first try: a command that is started again claims its run once.
    expect((await store.claimRun("held", claimOptions())).kind).toBe("claimed");
    expect(performance.now() - start).toBeLessThan(2_000);
    await store.close();
  });

  it("stays with a living owner if the server ends all sessions because one of them was killed", async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const schema = server.newSchema();
    const earlier = await openStore(server.url, { schema });
    const child = await holder(schema, "held");
    // It cannot take its lock again, as a process whose network is slow.
    child.kill("SIGSTOP");
    await killBackend();
    const later = await openStore(server.url, { schema });
    expect(await server.sql(LOCKS)).not.toContainEqual(
      expect.objectContaining({ objid: Number(lockNumber((await later.getRun("held"))?.owner ?? null)) }),
    );
    expect(await Promise.all([claimed(earlier, "held", 1_500), claimed(later, "held", 1_500)])).toEqual([
      null,
      null,
    ]);
    child.kill("SIGKILL");
    await once(child, "close");
    await Promise.all([earlier.close(), later.close()]);
  });

  it("stays with an owner whose lock came back before the claim", async () => {
    const { store, schema, place } = await killedHolder();
    const { Client } = await loadPg();
    const blocker = new Client({ connectionString: server.url });
    const revived = new Client({ connectionString: server.url });
    try {
      await Promise.all([blocker.connect(), revived.connect()]);
      await blocker.query({ text: `BEGIN; SELECT 1 FROM ${schema}.runs FOR UPDATE` });
      const claim = store.claimRun("held", claimOptions());
      await expect.poll(() => server.sql(WAITING), { timeout: 5_000 }).toHaveLength(1);
      await revived.query({ text: "SELECT pg_advisory_lock($1, $2)", values: place });
      await blocker.query({ text: "COMMIT" });
      expect((await claim).kind).toBe("busy");
    } finally {
      await Promise.all([blocker.end(), revived.end(), store.close()]);
    }
  });

  it("is taken although another process is about to take another run of the same dead owner", async () => {
    const { store, place } = await killedHolder();
    const { Client } = await loadPg();
    const claimant = new Client({ connectionString: server.url });
    try {
      await claimant.connect();
      await claimant.query({ text: "SELECT pg_advisory_lock_shared($1, $2)", values: place });
      expect((await store.claimRun("held", claimOptions())).kind).toBe("claimed");
    } finally {
      await Promise.all([claimant.end(), store.close()]);
    }
  });

  it("stays with a stopped process until its lease is over", async () => {
    const schema = server.newSchema();
    const store = await openStore(server.url, { schema });
    const child = await holder(schema, "held");
    child.kill("SIGSTOP");
    expect(await claimed(store, "held", 1_500)).toBeNull();
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await once(child, "close");
    await store.close();
  });

  it("stays with its living owner if all sessions of the server vanish at once", async () => {
    const schema = server.newSchema();
    const [owner, other] = [await openStore(server.url, { schema }), await openStore(server.url, { schema })];
    const run = await SampleRun.create(owner);
    await server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pawl'",
    );
    expect((await other.claimRun(run.runId, claimOptions())).kind).toBe("busy");
    await run.open(1);
    await owner.close();
    await other.close();
  });

  it("begins nothing after its owner's session broke, until a renewal has confirmed it", async () => {
    const schema = server.newSchema();
    const [owner, other] = [await openStore(server.url, { schema }), await openStore(server.url, { schema })];
    const run = await SampleRun.create(owner);
    const effect = { stepKey: run.stepKey, turnIndex: 1, callIndex: 0, attempt: 1 };
    (await owner.beginEffect(run.fence, effect)).end();
    const number = lockNumber((await run.record()).owner);
    const [lock] = (await server.sql(LOCKS)).filter(({ objid }) => String(objid) === number);
    await server.sql("SELECT pg_terminate_backend($1)", [lock?.pid]);
    // It takes its lock again at once, so the run stays with it.
    await expect
      .poll(async () => (await server.sql(LOCKS)).some(({ objid }) => String(objid) === number))
      .toBe(true);
    (await owner.beginEffect(run.fence, effect)).end();
    // A run that was taken meanwhile is not confirmed.
    await server.sql(`UPDATE ${schema}.runs SET owner = NULL`);
    await server.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pawl'",
    );
    await expect
      .poll(() =>
        owner.beginEffect(run.fence, effect).then(
          () => "begun",
          (error: unknown) => error,
        ),
      )
      .not.toBe("begun");
    await owner.close();
    await other.close();
  });

  it("is renewed although another one of its process is locked for long", async () => {
    const schema = server.newSchema();
    const store = await openStore(server.url, { schema });
    const [locked, free] = [await SampleRun.create(store, "locked"), await SampleRun.create(store, "free")];
    await Promise.all([locked.open(1), free.open(1)]);
    const { leaseUntil } = await free.record();
    const { Client } = await loadPg();
    const blocker = new Client({ connectionString: server.url });
    try {
      await blocker.connect();
      const row = `SELECT 1 FROM ${schema}.runs WHERE run_id = 'locked' FOR UPDATE`;
      await blocker.query({ text: `BEGIN; ${row}` });
      const start = performance.now();
      const outcomes = await Promise.allSettled(
        [locked, free].map(({ fence }) => store.renewLease(fence, 60_000)),
      );
      expect(performance.now() - start).toBeLessThan(2_000);
      expect(outcomes).toMatchObject([
        { status: "rejected", reason: { code: "store_unavailable", details: { reason: "busy" } } },
        { status: "fulfilled" },
      ]);
      expect((await free.record()).leaseUntil).toBeGreaterThan(leaseUntil + 20_000);
      await blocker.query({ text: "COMMIT" });
      await store.renewLease(locked.fence, 60_000);
    } finally {
      await blocker.end();
      await store.close();
    }
  });

  it("is refused to the owner that another one has followed, whatever it had cached", async () => {
    const schema = server.newSchema();
    const [owner, other] = [await openStore(server.url, { schema }), await openStore(server.url, { schema })];
    const run = await SampleRun.create(owner);
    await run.open(1);
    await owner.interruptRun(run.fence);
    expect((await other.claimRun(run.runId, claimOptions())).kind).toBe("claimed");
    await expect(owner.commitTurn(run.fence, run.commit(1, { journal: run.journal(1) }))).rejects.toSatisfy(
      (error: unknown) => LeaseLostError.isInstance(error),
    );
    await owner.close();
    await other.close();
  });
});

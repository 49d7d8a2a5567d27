// Jobs of graphile-worker wake workers. They are hints: whatever happens to them, no commit fails and no run is lost.

import { setTimeout as sleep } from "node:timers/promises";
import { Logger, run as runGraphile } from "graphile-worker";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type OpenStoreOptions,
  openStore,
  Pipeline,
  Runner,
  Step,
  type Store,
  Worker,
  type WorkerNotice,
} from "../../../src/index.ts";
import { PostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { jobsSchema } from "../../../src/store/postgres-jobs/jobs-schema.ts";
import { fencedRun, recordEvent } from "../../../src/store/sql/tables/run-row.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { sampled } from "../../full-test.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

const doubling = Pipeline.of(
  "doubling",
  Step.run("double", (n: number) => n * 2),
);
const asking = Pipeline.of("asking", Step.human("ask", { question: "Which colour?" }));

/** A store whose workers hear of nothing but jobs. */
async function opened(schema: string, options: OpenStoreOptions = {}): Promise<Store> {
  const store = await openStore(server.url, { schema, readySignals: false, ...options });
  onTestFinished(() => store.close());
  return store;
}

type Started = { readonly notices: WorkerNotice[]; readonly stop: () => Promise<void> };

/** Starts a worker that looks by itself every `sweepMs` only. */
function working(store: Store, sweepMs = 600_000): Started {
  const notices: WorkerNotice[] = [];
  const end = new AbortController();
  const worker = new Worker({
    store,
    pipelines: { doubling, asking },
    sweepMs,
    onNotice: (notice) => notices.push(notice),
  });
  const ended = worker.run(end.signal);
  const stop = () => {
    end.abort();
    return ended;
  };
  onTestFinished(stop);
  return { notices, stop };
}

/** Waits until a worker listens to the jobs of the schema. */
async function listening(schema: string, count = 1): Promise<void> {
  await vi.waitFor(
    async () => {
      const [row] = await server.sql(
        `SELECT count(*)::int AS tasks FROM "${jobsSchema(schema)}"._private_tasks`,
      );
      expect(row?.tasks).toBe(1);
      expect(await sessions()).toBeGreaterThanOrEqual(2 * count);
    },
    { timeout: 10_000, interval: 50 },
  );
}

async function sessions(): Promise<number> {
  const [row] = await server.sql(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'pawl jobs'",
  );
  return Number(row?.n);
}

async function ends(store: Store, runId: string, timeout = 5_000, status = "succeeded"): Promise<void> {
  await vi.waitFor(async () => expect((await store.getRun(runId))?.status).toBe(status), {
    timeout,
    interval: 5,
  });
}

const jobs = (schema: string) =>
  server.sql(`SELECT key, run_at, locked_at FROM "${jobsSchema(schema)}"._private_jobs ORDER BY key`);

/** A schema with the tables of jobs, and no worker. */
async function installed(): Promise<string> {
  const schema = server.newSchema();
  const store = await opened(schema);
  const { stop } = working(store);
  await listening(schema);
  await stop();
  await store.close();
  await vi.waitFor(async () => expect(await sessions()).toBe(0), { timeout: 5_000 });
  return schema;
}

async function eventTypes(store: Store, runId: string): Promise<readonly string[]> {
  return (await store.listEvents(runId)).map(({ type }) => type);
}

describe("jobs of graphile-worker", () => {
  it("wake a worker at once for a run of another process", async () => {
    const schema = server.newSchema();
    const store = await opened(schema);
    const { notices } = working(store);
    await listening(schema);
    const other = await opened(schema);
    const before = Date.now();
    const { runId } = await new Runner(doubling, { store: other }).enqueue(4);
    await ends(other, runId);
    expect(Date.now() - before).toBeLessThan(2_000);
    await vi.waitFor(() => expect(notices.map(({ type }) => type)).toEqual(["claimed", "left"]));
    // The task is over at once, so no job is left, whatever the run does.
    await vi.waitFor(async () => expect(await jobs(schema)).toEqual([]));
  });

  it("wake a worker at the time of a run", async () => {
    const schema = server.newSchema();
    const store = await opened(schema);
    working(store);
    await listening(schema);
    const other = await opened(schema);
    const notBefore = new Date(Date.now() + 1_500);
    const { runId } = await new Runner(doubling, { store: other }).enqueue(4, { notBefore });
    expect(await jobs(schema)).toMatchObject([{ key: runId, run_at: notBefore }]);
    await ends(other, runId, 6_000);
    const [attempt] = await other.listAttempts(runId);
    expect(attempt?.startedAt).toBeGreaterThanOrEqual(notBefore.getTime());
  });

  it("are one for each run, and none for a turn", async () => {
    const schema = await installed();
    const store = await opened(schema);
    const runner = new Runner(asking, { store });
    const later = new Date(Date.now() + 3_600_000);
    const ids = Array.from({ length: 20 }, (_, i) => `run-${String(i).padStart(2, "0")}`);
    await Promise.all(ids.map((runId) => runner.enqueue(null, { runId, notBefore: later })));
    expect(await jobs(schema)).toHaveLength(20);
    // A run that is claimed and left waiting for a person asks for nothing; the answer does.
    await server.sql(`DELETE FROM "${jobsSchema(schema)}"._private_jobs`);
    const { runId } = await runner.enqueue(null, { runId: "asked" });
    await server.sql(`DELETE FROM "${jobsSchema(schema)}"._private_jobs`);
    await runner.resume(runId);
    expect(await jobs(schema)).toEqual([]);
    await store.answer(`${runId}~1`, "green");
    expect(await jobs(schema)).toMatchObject([{ key: runId }]);
  });

  it("are set up once by workers that start together", async () => {
    const schema = server.newSchema();
    const stores = await Promise.all([opened(schema), opened(schema), opened(schema)]);
    const started = stores.map((store) => working(store));
    await listening(schema, 3);
    expect(started.flatMap(({ notices }) => notices)).toEqual([]);
    const other = await opened(schema);
    const { runId } = await new Runner(doubling, { store: other }).enqueue(1);
    await ends(other, runId);
  });

  it("leave no connection behind", async () => {
    const schema = server.newSchema();
    const store = await opened(schema);
    const { stop } = working(store);
    await listening(schema);
    await stop();
    // The runner is there only while a worker is, also if the store stays open.
    await vi.waitFor(async () => expect(await sessions()).toBe(0), { timeout: 5_000 });
    const again = working(store);
    await listening(schema);
    await again.stop();
    await store.close();
    expect(await sessions()).toBe(0);
  });

  it("do not disturb an application's own graphile-worker, nor does it disturb them", async () => {
    const { exitCode } = process;
    const heard: unknown[] = [];
    const logger = new Logger(() => () => undefined);
    const options = { connectionString: server.url, noHandleSignals: true, pollInterval: 100, logger };
    const own = await runGraphile({
      ...options,
      schema: "application_jobs",
      taskList: { mine: (payload) => void heard.push(payload) },
    });
    const schema = server.newSchema();
    const store = await opened(schema);
    working(store);
    await listening(schema);
    await own.addJob("mine", { n: 1 });
    await vi.waitFor(() => expect(heard).toEqual([{ n: 1 }]), { timeout: 3_000 });
    // Its migrations stop every worker that hears of them.
    const another = await runGraphile({
      ...options,
      schema: "other_jobs",
      taskList: { mine: () => undefined },
    });
    await sleep(200);
    const { runId } = await new Runner(doubling, { store: await opened(schema) }).enqueue(1);
    await ends(store, runId);
    await another.stop();
    await own.stop().catch(() => undefined);
    process.exitCode = exitCode;
  });

  it("are not written by a store that is to use signals only", async () => {
    const schema = await installed();
    const store = await opened(schema, { dispatch: "signals" });
    await new Runner(doubling, { store }).enqueue(1);
    expect(await jobs(schema)).toEqual([]);
    await expect(openStore(server.url, { schema, dispatch: "cron" as "signals" })).rejects.toThrow(
      'The option dispatch of openStore is "cron": use "graphile" or "signals".',
    );
  });
});

describe("a commit whose job is refused", () => {
  const failures: readonly (readonly [string, (schema: string) => Promise<unknown>])[] = [
    ["the schema is dropped", (schema) => server.sql(`DROP SCHEMA "${schema}" CASCADE`)],
    [
      "the function raises an error",
      (schema) =>
        server.sql(`CREATE OR REPLACE FUNCTION "${schema}".add_jobs(specs "${schema}".job_spec[],
          job_key_preserve_run_at boolean DEFAULT false) RETURNS SETOF "${schema}"._private_jobs LANGUAGE plpgsql
          AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''22012''; END'`),
    ],
    [
      "the COMMIT refuses what the job did",
      (schema) =>
        server.sql(`CREATE FUNCTION "${schema}".refuse() RETURNS trigger LANGUAGE plpgsql
            AS 'BEGIN RAISE EXCEPTION ''refused''; END';
          CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON "${schema}"._private_jobs DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION "${schema}".refuse()`),
    ],
    ["a table is missing", (schema) => server.sql(`DROP TABLE "${schema}"._private_tasks CASCADE`)],
  ];

  it.for(sampled(failures))("is repeated without it: %s", async ([, fail]) => {
    const schema = await installed();
    const commits: string[] = [];
    const store = await opened(schema, { onCommit: (intents) => commits.push(...intents) });
    const runner = new Runner(asking, { store });
    await runner.enqueue(null, { runId: "before" });
    expect(await jobs(schema)).toHaveLength(1);
    await fail(jobsSchema(schema));
    commits.length = 0;
    // Several in one transaction, and then by themselves.
    const ids = ["a", "b", "c"];
    await Promise.all(ids.map((runId) => runner.enqueue(null, { runId })));
    for (const runId of ids) expect(await eventTypes(store, runId)).toEqual(["run.enqueued"]);
    expect(commits).toEqual(["enqueueRun", "enqueueRun", "enqueueRun"]);
    await runner.resume("a");
    await store.answer("a~1", "green");
    const types = await eventTypes(store, "a");
    expect(types.at(-1)).toBe("wait.answered");
    expect(types).toHaveLength(new Set(types).size);
    expect((await store.verify("a")).problems).toEqual([]);
  });

  it("does not wait for the rows of jobs", async () => {
    const schema = await installed();
    const store = await opened(schema);
    const runner = new Runner(doubling, { store });
    const held = server.sql(
      `BEGIN; LOCK TABLE "${jobsSchema(schema)}"._private_jobs; SELECT pg_sleep(20); COMMIT`,
    );
    held.catch(() => undefined);
    await sleep(300);
    const before = Date.now();
    const { runId } = await runner.enqueue(1);
    expect(Date.now() - before).toBeLessThan(2_500);
    expect(await eventTypes(store, runId)).toEqual(["run.enqueued"]);
    await server.sql(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND pid <> pg_backend_pid()",
    );
    await expect(held).rejects.toThrow(/canceling statement/);
  });

  it("is repeated for a role that may not add jobs", async () => {
    const schema = await installed();
    const role = `${schema}_role`;
    await server.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'; GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const url = server.url.replace(/\/\/[^@]+@/, `//${role}:secret@`);
    const store = await openStore(url, { schema, readySignals: false });
    onTestFinished(() => store.close());
    const { notices } = working(store, 200);
    const { runId } = await new Runner(doubling, { store }).enqueue(1);
    await ends(store, runId);
    await vi.waitFor(() => expect(notices.map(({ type }) => type)).toContain("signals_only"));
    expect(notices).toContainEqual({ type: "signals_only", reason: expect.stringMatching(/may not/) });
    expect(await jobs(schema)).toEqual([]);
  });

  it("is repeated with the same bytes, if it was planned in memory", async () => {
    const schema = await installed();
    const store = await PostgresStore.open(server.url, { schema, readySignals: false });
    onTestFinished(() => store.close());
    const { fence, runId } = await SampleRun.create(store, "held");
    let runs = 0;
    const record = () =>
      store["driver"].write("test", runId, function* (tx) {
        runs += 1;
        recordEvent(tx, yield* fencedRun(tx, fence), "test", {});
        tx.write({ kind: "wake", runId, at: null });
      });
    // The first one asks for the head of the run, and the others know it.
    await record();
    await record();
    expect([runs, await jobs(schema)]).toMatchObject([2, [{ key: runId }]]);
    await server.sql(`DROP SCHEMA "${jobsSchema(schema)}" CASCADE`);
    await record();
    await record();
    expect(runs).toBe(4);
    const types = await eventTypes(store, runId);
    expect(types.filter((type) => type === "test")).toHaveLength(4);
  });

  it("is repeated for a role whose right is revoked", async () => {
    const schema = await installed();
    const [role, ofJobs] = [`${schema}_role`, jobsSchema(schema)];
    await server.sql(`CREATE ROLE ${role} LOGIN BYPASSRLS PASSWORD 'secret';
      GRANT USAGE ON SCHEMA ${schema}, "${ofJobs}" TO ${role};
      GRANT ALL ON ALL TABLES IN SCHEMA ${schema}, "${ofJobs}" TO ${role};
      GRANT ALL ON ALL SEQUENCES IN SCHEMA "${ofJobs}" TO ${role}`);
    const url = server.url.replace(/\/\/[^@]+@/, `//${role}:secret@`);
    const store = await openStore(url, { schema, readySignals: false });
    onTestFinished(() => store.close());
    const runner = new Runner(doubling, { store });
    await runner.enqueue(1, { runId: "before" });
    expect(await jobs(schema)).toMatchObject([{ key: "before" }]);
    await server.sql(`REVOKE INSERT ON "${ofJobs}"._private_jobs FROM ${role}`);
    await runner.enqueue(1, { runId: "after" });
    expect(await eventTypes(store, "after")).toEqual(["run.enqueued"]);
    expect(await jobs(schema)).toHaveLength(1);
  });
});

describe("a role that may create no schema", () => {
  it("sets up the jobs in a schema that it owns", async () => {
    const schema = server.newSchema();
    await (await opened(schema)).close();
    const [role, ofJobs] = [`${schema}_role`, jobsSchema(schema)];
    await server.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'secret'; CREATE SCHEMA "${ofJobs}" AUTHORIZATION ${role};
      GRANT USAGE ON SCHEMA ${schema} TO ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
    const url = server.url.replace(/\/\/[^@]+@/, `//${role}:secret@`);
    const store = await openStore(url, { schema, readySignals: false });
    onTestFinished(() => store.close());
    const { notices } = working(store);
    await listening(schema);
    const { runId } = await new Runner(doubling, { store: await opened(schema) }).enqueue(1);
    await ends(store, runId);
    expect(notices.map(({ type }) => type)).not.toContain("signals_only");
  });
});

describe("runs without their jobs", () => {
  const losses: readonly (readonly [string, (schema: string) => Promise<unknown>])[] = [
    ["the jobs are deleted", (schema) => server.sql(`DELETE FROM "${schema}"._private_jobs`)],
    ["the schema is dropped", (schema) => server.sql(`DROP SCHEMA "${schema}" CASCADE`)],
    [
      "the runner is cut off",
      () =>
        server.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pawl jobs'",
        ),
    ],
  ];

  it.for(sampled(losses))("end one sweep later: %s", async ([, fail]) => {
    const schema = await installed();
    const store = await opened(schema);
    const runner = new Runner(doubling, { store });
    await runner.enqueue(1, { runId: "queued" });
    await runner.enqueue(2, { runId: "sleeping", notBefore: new Date(Date.now() + 1_000) });
    const { notices } = working(await opened(schema), 500);
    await fail(jobsSchema(schema));
    await runner.enqueue(3, { runId: "late" });
    for (const runId of ["queued", "sleeping", "late"]) {
      await ends(store, runId);
      const types = await eventTypes(store, runId);
      expect(types.filter((type) => type === "run.enqueued" || type === "run.succeeded")).toHaveLength(2);
    }
    expect(notices.filter(({ type }) => type === "claimed")).toHaveLength(3);
  });
});

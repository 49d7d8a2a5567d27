/**
 * `node bench/postgres.ts`: the cost of a turn on PostgreSQL beside that of the server itself, over a connection of the same
 * kind in the same run. Figures are medians over rounds that alternate between the two. The server is one of the tests'
 * (fsync on), or the one that TEST_POSTGRES_URL names.
 */
import { openStore, Runner } from "../src/index.ts";
import { loadPg } from "../src/store/postgres-wire/pg-driver.ts";
import { claimOptions, newRun } from "../src/testing/store/sample-run.ts";
import { type PostgresServer, startPostgres } from "../test/store/postgres/postgres-server.ts";
import { median } from "./measure.ts";
import { atLeast, atMost, figure, logProgress, printReport, type Section, us } from "./report.ts";
import { benchStep, instantModel } from "./workload.ts";

const ROUNDS = 5;
const TURNS = 500;
const RUNS = 100;
const TURNS_EACH = 20;
/** How many runs are claimed in a round, and how many wait beside them. */
const CLAIMED = 100;
const [FEW, MANY] = [100, 100_000];

/** Microseconds a turn, and of them those of this process's processor time. */
type Cost = { readonly time: number; readonly cpu: number };

const server = await startPostgres("fsync=on", "synchronous_commit=on", "shared_buffers=512MB");
try {
  printReport([await turns(server), await claims(server)]);
} finally {
  await server.stop();
}

async function turns(to: PostgresServer): Promise<Section> {
  logProgress("warming up");
  const { messageBytes } = await oneRun(to, TURNS);
  const floor = await openFloor(to, messageBytes / TURNS);
  await floor.measure(200);
  await manyRuns(to);
  const rounds: { floor: Cost; one: Cost; many: Cost }[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    logProgress(`turns, round ${round} of ${ROUNDS}`);
    rounds.push({
      floor: await floor.measure(TURNS),
      one: await oneRun(to, TURNS),
      many: await manyRuns(to),
    });
  }
  await floor.close();
  const of = (which: "floor" | "one" | "many", what: keyof Cost) =>
    median(rounds.map((round) => round[which][what]));
  const ratio = median(rounds.map(({ one, floor: beside }) => one.time / beside.time));
  return {
    lines: [
      figure("PostgreSQL: a turn", us(of("one", "time"))),
      figure("  of them this process's processor time", us(of("one", "cpu"))),
      figure("  floor: two inserts of the same bytes, each committed", us(of("floor", "time"))),
      atMost("  × that floor", ratio, 1.6),
      atLeast(`${RUNS} runs of ${TURNS_EACH} turns at once`, 1e6 / of("many", "time"), 2_500, " turns/s"),
      figure("  this process's processor time of a turn", us(of("many", "cpu"))),
    ],
    figures: { postgres: { rounds } },
  };
}

/** Two autocommitted inserts of the same bytes a turn. */
async function openFloor(to: PostgresServer, bytesPerTurn: number) {
  const pg = await loadPg();
  const client = new pg.Client({ connectionString: to.url });
  await client.connect();
  const columns = "n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message TEXT NOT NULL";
  await client.query({ text: `CREATE TABLE public.bench_floor (${columns})` });
  const messages = ["x".repeat(Math.round(bytesPerTurn) - 1_120), "x".repeat(1_120)];
  const insert = { name: "floor", text: "INSERT INTO public.bench_floor (message) VALUES ($1)" };
  return {
    measure: (count: number) =>
      timed(count, async () => {
        for (let turn = 0; turn < count; turn++)
          for (const message of messages) await client.query({ ...insert, values: [message] });
      }),
    close: async () => {
      await client.query({ text: "DROP TABLE public.bench_floor" });
      await client.end();
    },
  };
}

async function oneRun(to: PostgresServer, count: number): Promise<Cost & { readonly messageBytes: number }> {
  const store = await openStore(to.url, { schema: to.newSchema() });
  const runner = new Runner(benchStep(instantModel(count), count), { store });
  const cost = await timed(count, async () => {
    await runner.run("Go.", { runId: "run" });
  });
  const messages = await store.readHistory("run", "work");
  await store.close();
  const messageBytes = messages.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message)), 0);
  return { ...cost, messageBytes };
}

async function manyRuns(to: PostgresServer): Promise<Cost> {
  const store = await openStore(to.url, { schema: to.newSchema() });
  const runners = Array.from(
    { length: RUNS },
    () => new Runner(benchStep(instantModel(TURNS_EACH), TURNS_EACH), { store }),
  );
  const cost = await timed(RUNS * TURNS_EACH, async () => {
    await Promise.all(runners.map((runner, i) => runner.run("Go.", { runId: `run-${i}` })));
  });
  await store.close();
  return cost;
}

/** Claiming runs, with few and with many others that wait. */
async function claims(to: PostgresServer): Promise<Section> {
  const places = [await claimable(to, FEW), await claimable(to, MANY)] as const;
  const rounds: [number, number][] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    logProgress(`claims, round ${round} of ${ROUNDS}`);
    const times: [number, number] = [await places[0].claim(), await places[1].claim()];
    // The first one fills the caches.
    if (round > 0) rounds.push(times);
  }
  for (const place of places) await place.close();
  const ratio = median(rounds.map(([few, many]) => many / few));
  return {
    lines: [
      figure(`claiming a run among ${FEW} that wait`, us(median(rounds.map(([few]) => few)))),
      atMost(`  among ${MANY} ÷ that`, ratio, 1.2),
    ],
    figures: { claims: { rounds } },
  };
}

async function claimable(to: PostgresServer, waiting: number) {
  const schema = to.newSchema();
  const store = await openStore(to.url, { schema });
  const ids = Array.from({ length: CLAIMED }, (_, i) => `claimed-${i}`);
  for (const runId of [...ids, "pattern"]) {
    const created = await store.createRun(newRun(runId));
    if (created.kind === "created") await store.interruptRun({ runId, epoch: created.claim.epoch });
  }
  const columns = await to.sql(
    "SELECT column_name::text AS name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'runs'",
    [schema],
  );
  const names = columns.map(({ name }) => String(name));
  const values = names.map((name) =>
    name === "run_key" ? "gen_random_uuid()" : name === "run_id" ? "'waiting-' || n" : name,
  );
  await to.sql(
    `INSERT INTO ${schema}.runs (${names.join(", ")}) SELECT ${values.join(", ")}
       FROM ${schema}.runs, generate_series(1, ${waiting}) AS n WHERE run_id = 'pattern'`,
  );
  await to.sql(`ANALYZE ${schema}.runs`);
  return {
    claim: async () => {
      const { time } = await timed(ids.length, async () => {
        for (const runId of ids) {
          const outcome = await store.claimRun(runId, claimOptions());
          if (outcome.kind !== "claimed") throw new Error(`Run ${runId} cannot be claimed: ${outcome.kind}.`);
          await store.interruptRun({ runId, epoch: outcome.claim.epoch });
        }
      });
      return time;
    },
    close: () => store.close(),
  };
}

async function timed(count: number, work: () => Promise<void>): Promise<Cost> {
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const time = ((performance.now() - start) * 1_000) / count;
  const { user, system } = process.cpuUsage(before);
  return { time, cpu: (user + system) / count };
}

/**
 * `node bench/postgres.ts`: the cost of a turn on PostgreSQL beside that of the server itself, over a connection of the same
 * kind in the same run. Figures are medians over rounds that alternate between the two. The server is one of the tests'
 * (fsync on), or the one that TEST_POSTGRES_URL names.
 */
import { openStore, Runner } from "../src/index.ts";
import { loadPg } from "../src/store/postgres-wire/pg-driver.ts";
import { type PostgresServer, startPostgres } from "../test/store/postgres/postgres-server.ts";
import { median } from "./measure.ts";
import { benchStep, instantModel } from "./workload.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const TURNS = 500;
const RUNS = 100;
const TURNS_EACH = 20;

type Cost = { readonly microseconds: number; readonly cpuMicroseconds: number };

const server = await startPostgres("fsync=on", "synchronous_commit=on", "shared_buffers=512MB");
try {
  await measureAll();
} finally {
  await server.stop();
}

async function measureAll(): Promise<void> {
  const floors: Cost[] = [];
  const turns: Cost[] = [];
  const many: Cost[] = [];
  const bytes = await oneRun(server, TURNS);
  const floor = await openFloor(server, bytes.messageBytes / TURNS);
  await floor.measure(200);
  await manyRuns(server);
  for (let round = 1; round <= ROUNDS; round++) {
    floors.push(await floor.measure(TURNS));
    turns.push(await oneRun(server, TURNS));
    many.push(await manyRuns(server));
  }
  await floor.close();
  const of = (costs: readonly Cost[], what: keyof Cost) =>
    Math.round(median(costs.map((cost) => cost[what])));
  const ratio = median(turns.map((turn, i) => turn.microseconds / (floors[i]?.microseconds ?? 0)));
  console.log(`floor ${of(floors, "microseconds")} µs (cpu ${of(floors, "cpuMicroseconds")})`);
  console.log(
    `turn ${of(turns, "microseconds")} µs (cpu ${of(turns, "cpuMicroseconds")}), ${ratio.toFixed(2)} × floor (≤ 1.6)`,
  );
  console.log(
    `${RUNS} × ${TURNS_EACH}: ${Math.round(1e6 / of(many, "microseconds"))} turns/s (≥ 2500), cpu ${of(many, "cpuMicroseconds")} µs`,
  );
}

/** Two autocommitted inserts of the same bytes a turn. */
async function openFloor(to: PostgresServer, bytesPerTurn: number) {
  const pg = await loadPg();
  const client = new pg.Client({ connectionString: to.url });
  await client.connect();
  await client.query({
    text: "CREATE TABLE public.floor (n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message TEXT NOT NULL)",
  });
  const messages = ["x".repeat(Math.round(bytesPerTurn) - 1_120), "x".repeat(1_120)];
  const insert = { name: "floor", text: "INSERT INTO public.floor (message) VALUES ($1)" };
  return {
    measure: (turns: number) =>
      timed(turns, async () => {
        for (let turn = 0; turn < turns; turn++)
          for (const message of messages) await client.query({ ...insert, values: [message] });
      }),
    close: () => client.end(),
  };
}

async function oneRun(to: PostgresServer, turns: number): Promise<Cost & { readonly messageBytes: number }> {
  const store = await openStore(to.url, { schema: to.newSchema() });
  const runner = new Runner(benchStep(instantModel(turns), turns), { store });
  const cost = await timed(turns, async () => {
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

async function timed(turns: number, work: () => Promise<void>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const microseconds = ((performance.now() - start) * 1_000) / turns;
  const { user, system } = process.cpuUsage(cpu);
  return { microseconds, cpuMicroseconds: (user + system) / turns };
}

// Real processes that work on runs: they are killed, cut off, or lose their server, and every effect happens once.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RecoveryClass } from "../../../src/index.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { effectServer } from "../../crash/harness/effect-server.ts";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import type { WorkerOrder } from "./children/worker-order.ts";
import { CuttingProxy } from "./cutting-proxy.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";
import { WorkerProcess } from "./worker-process.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

const FOREIGN_SERVER = "The server of TEST_POSTGRES_URL is not cut off or crashed.";

const LOAD = IS_FULL_TEST
  ? { processes: 4, runs: 200, turns: 10, kills: Number.POSITIVE_INFINITY, everyMs: 2_000, crashes: 3 }
  : { processes: 2, runs: 16, turns: 5, kills: 2, everyMs: 150, crashes: 1 };

describe("runs of several processes on one server", () => {
  it("all end, each effect once, though processes are killed and the server crashes", {
    timeout: 600_000,
  }, async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const effects = await effectServer({ keyed: true });
    const schema = server.newSchema();
    const store = await openStore(server.url, { schema });
    const runIds = Array.from({ length: LOAD.runs }, (_, i) => `run-${i}`);
    const start = async (place: number) => {
      const first = Math.floor((place * LOAD.runs) / LOAD.processes);
      const worker = await WorkerProcess.start({
        url: server.url,
        schema,
        // Each begins elsewhere, so that they meet late.
        runIds: [...runIds.slice(first), ...runIds.slice(0, first)],
        atOnce: 20,
        turns: LOAD.turns,
        effects: effects.url,
        recovery: "keyed",
        toolMs: 20,
        timeoutMs: 10_000,
        leaseMs: 3_000,
        clockMs: 0,
      });
      worker.begin();
      return worker;
    };
    const workers = await Promise.all(Array.from({ length: LOAD.processes }, (_, place) => start(place)));
    let [kills, crashes] = [0, 0];
    const isDisturbed = () => kills < LOAD.kills || crashes < LOAD.crashes;
    for (let i = 0; isDisturbed() && workers.some((worker) => worker.isRunning); i++) {
      const place = i % LOAD.processes;
      await sleep(LOAD.everyMs);
      // By what was done, and not by the time: a fast machine may be done before the last one.
      const share = effects.effects.length / (LOAD.runs * LOAD.turns);
      if (crashes < LOAD.crashes && share >= crashes / (LOAD.crashes + 1)) {
        await server.crash();
        crashes += 1;
      }
      if (kills >= LOAD.kills || workers[place]?.isRunning !== true) continue;
      await workers[place]?.kill();
      kills += 1;
      workers[place] = await start(place);
    }
    await Promise.all(workers.map((worker) => worker.ended()));
    const ends = await Promise.all(runIds.map(async (runId) => (await store.getRun(runId))?.status));
    expect(ends).toEqual(runIds.map(() => "succeeded"));
    const all = runIds.flatMap((runId) => Array.from({ length: LOAD.turns }, (_, i) => `${runId} ${i + 1}`));
    expect(effects.effects.toSorted()).toEqual(all.toSorted());
    for (const runId of runIds) expect((await store.verify(runId)).problems).toEqual([]);
    expect([kills > 1, crashes]).toEqual([true, LOAD.crashes]);
    void context.annotate(`${kills} processes were killed`);
    await store.close();
  });
});

const CALL = IS_FULL_TEST
  ? ({ toolMs: 20_000, timeoutMs: 30_000 } as const)
  : ({ toolMs: "told", timeoutMs: 3_000 } as const);

describe("an owner that lost its lock while a call runs", () => {
  const kinds: readonly { recovery: RecoveryClass; end: string }[] = [
    // Looked up until the first call has ended.
    { recovery: "reconcile", end: "succeeded" },
    // The late receipt of the first call settles it; until then a person is asked.
    { recovery: "opaque", end: "waiting" },
  ];

  it.for(sampled(kinds))(
    "has the only call of its kind: $recovery",
    { timeout: 120_000 },
    async ({ recovery, end }, context) => {
      if (server.port === null) return context.skip(FOREIGN_SERVER);
      const proxy = await CuttingProxy.start(server.port);
      const effects = await effectServer();
      const schema = server.newSchema();
      const store = await openStore(server.url, { schema });
      const order: WorkerOrder = {
        url: server.url.replace(`:${server.port}/`, `:${proxy.port}/`),
        schema,
        runIds: ["run-1"],
        atOnce: 1,
        turns: 1,
        effects: effects.url,
        recovery,
        ...CALL,
        leaseMs: 30_000,
        // The clocks of the two are a minute apart.
        clockMs: 30_000,
      };
      const [owner, other] = await Promise.all([
        WorkerProcess.start(order),
        WorkerProcess.start({ ...order, url: server.url, clockMs: -30_000 }),
      ]);
      owner.begin();
      await owner.said("begun");
      proxy.refuse("pg_advisory_lock");
      other.begin();
      await expect.poll(async () => (await store.getRun("run-1"))?.epoch, { timeout: 10_000 }).toBe(2);
      expect(owner.lines.at(-1)?.is).toBe("begun");
      if (recovery === "reconcile")
        await expect.poll(() => effects.lookUps, { timeout: 10_000 }).toEqual([false]);
      else await other.said("left");
      owner.endCall();
      await other.said("left");
      expect(other.lines.at(-1)).toMatchObject({ is: "left", status: end });
      await owner.said("left");
      // The second process had the run while the call of the first one ran, and made none.
      expect((await store.getRun("run-1"))?.epoch).toBe(2);
      expect(effects.effects).toEqual(["run-1 1"]);
      expect([...owner.lines, ...other.lines].filter(({ is }) => is === "begun")).toHaveLength(1);
      proxy.refuse(null);
      await Promise.all([owner.ended(), other.ended()]);
      expect((await store.getRun("run-1"))?.status).toBe("succeeded");
      expect(effects.effects).toEqual(["run-1 1"]);
      await store.close();
      await proxy.stop();
    },
  );
});

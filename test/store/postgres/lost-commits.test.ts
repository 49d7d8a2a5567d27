// Connections that break around a COMMIT: every write happens once, in order, and no doubt is left.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { PostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { type Network, realNetwork } from "../../../src/store/postgres-wire/pg-driver.ts";
import { newReceipt, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { type Cut, CuttingProxy } from "./cutting-proxy.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

const FOREIGN_SERVER = "The server of TEST_POSTGRES_URL is not cut off or crashed.";
const CUTS = IS_FULL_TEST ? 250 : 8;

describe("a turn", () => {
  it("costs one round trip for each of its two commits", async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const proxy = await CuttingProxy.start(server.port);
    const store = await openStore(server.url.replace(`:${server.port}/`, `:${proxy.port}/`), {
      schema: server.newSchema(),
    });
    try {
      const run = await SampleRun.create(store);
      await run.open(1);
      const turnOf = async (turn: number) => {
        await store.journalResponse(run.fence, run.journal(turn, ["running"]));
        const next = run.opening(turn + 1);
        await store.commitTurn(run.fence, run.commit(turn, { receipts: [newReceipt(1)], next }));
      };
      // The first one reads what the head of the run does not have yet.
      await turnOf(1);
      proxy.roundTrips = 0;
      for (let turn = 2; turn <= 11; turn++) await turnOf(turn);
      expect(proxy.roundTrips).toBe(20);
      // A hundred runs share their round trips.
      const runs = await Promise.all(
        Array.from({ length: 100 }, (_, i) => SampleRun.create(store, `many-${i}`)),
      );
      for (const each of runs) await each.open(1);
      proxy.roundTrips = 0;
      await Promise.all(
        runs.map((each) => store.commitTurn(each.fence, each.commit(1, { journal: each.journal(1) }))),
      );
      expect(proxy.roundTrips).toBe(1);
    } finally {
      await store.close();
      await proxy.stop();
    }
  });
});

describe("a COMMIT that is cut off", () => {
  it.for<Cut>(["before", "after", "late"])(
    "%s its arrival leaves every write once, in order",
    { timeout: 600_000 },
    async (how, context) => {
      if (server.port === null) return context.skip(FOREIGN_SERVER);
      const proxy = await CuttingProxy.start(server.port);
      const schema = server.newSchema();
      const store = await openStore(server.url.replace(`:${server.port}/`, `:${proxy.port}/`), { schema });
      try {
        const run = await SampleRun.create(store);
        await run.open(1);
        for (let turn = 1; turn <= CUTS; turn++) {
          proxy.cutNext(how);
          const next = run.opening(turn + 1);
          await store.commitTurn(run.fence, run.commit(turn, { journal: run.journal(turn), next }));
        }
        expect(proxy.cuts).toBe(CUTS);
        const turns = await store.listTurns(run.runId);
        expect(turns.map(({ turnIndex, committed }) => [turnIndex, committed])).toEqual(
          Array.from({ length: CUTS }, (_, i) => [i + 1, true]),
        );
        const types = (await store.listEvents(run.runId)).map(({ type }) => type);
        expect(types.filter((type) => type === "turn.committed")).toHaveLength(CUTS);
        expect((await store.verify(run.runId)).problems).toEqual([]);
        const { charged } = await run.record();
        expect(charged.tokens).toBe(CUTS * 30);
      } finally {
        await store.close();
        await proxy.stop();
      }
    },
  );
});

describe("a process that stood still inside of a transaction", () => {
  it("writes again, once, when the server has ended its session meanwhile", async () => {
    let standsStill = false;
    let stops = 0;
    const network: Network = {
      connect: (options) => realNetwork.connect(options),
      exchange: async (client, statements, send) => {
        const answers = await send();
        const opens = statements.some(({ text }) => text === "BEGIN");
        if (!standsStill || !opens || statements.some(({ text }) => text === "COMMIT")) return answers;
        standsStill = false;
        stops += 1;
        await client.query({ text: "SET idle_in_transaction_session_timeout = '20ms'" });
        // Nothing of this process runs, as if the system had stopped it: the server's last message waits in the socket.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
        return answers;
      },
    };
    const store = await PostgresStore.open(server.url, { schema: server.newSchema() }, network);
    try {
      standsStill = true;
      const run = await SampleRun.create(store);
      expect(stops).toBe(1);
      expect((await store.listEvents(run.runId)).map(({ type }) => type)).toEqual([
        "run.created",
        "step.begun",
      ]);
    } finally {
      await store.close();
    }
  });
});

describe("a server that crashes", () => {
  it("is waited for by those who read", async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const store = await openStore(server.url, { schema: server.newSchema() });
    const run = await SampleRun.create(store);
    let isBack = false;
    const crash = server.crash().then(() => {
      isBack = true;
    });
    // More at a time than there are sessions for.
    const reads: Promise<unknown>[] = [];
    do {
      reads.push(...Array.from({ length: 5 }, () => store.getRun(run.runId)));
      await sleep(20);
    } while (!isBack);
    await crash;
    expect((await Promise.all(reads)).filter((found) => found === null)).toEqual([]);
    expect(reads.length).toBeGreaterThan(10);
    await store.close();
  });

  it("under load loses no commit and repeats none, and its runs continue by themselves", {
    timeout: 300_000,
  }, async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const store = await openStore(server.url, { schema: server.newSchema() });
    try {
      const runs = await Promise.all(
        Array.from({ length: 6 }, (_, i) => SampleRun.create(store, `run-${i}`)),
      );
      let isOver = false;
      const turns = await Promise.all([
        ...runs.map(async (run) => {
          await run.open(1);
          let turn = 0;
          while (!isOver) {
            turn += 1;
            const next = run.opening(turn + 1);
            await store.commitTurn(run.fence, run.commit(turn, { journal: run.journal(turn), next }));
          }
          return turn;
        }),
        (async () => {
          for (let i = 0; i < (IS_FULL_TEST ? 10 : 2); i++) {
            await sleep(150);
            await server.crash();
          }
          isOver = true;
          return 0;
        })(),
      ]);
      for (const [i, run] of runs.entries()) {
        expect((await store.listTurns(run.runId)).map(({ turnIndex }) => turnIndex)).toEqual(
          Array.from({ length: turns[i] ?? 0 }, (_, n) => n + 1),
        );
        expect((await store.verify(run.runId)).problems).toEqual([]);
        expect((await run.record()).charged.tokens).toBe((turns[i] ?? 0) * 30);
      }
      expect(Math.min(...turns.slice(0, -1))).toBeGreaterThan(3);
    } finally {
      await store.close();
    }
  });
});

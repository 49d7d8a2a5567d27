// A pooler lends a session for one transaction: nothing may rest on what a session keeps.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { agent, Runner, tool } from "../../../src/index.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { loadPg } from "../../../src/store/postgres-wire/pg-driver.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { storeConformance } from "../../../src/testing/store/index.ts";
import { claimOptions, newReceipt, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { hasPgBouncer, NO_PG_BOUNCER, startPgBouncer } from "./pg-bouncer.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
let pooler: Awaited<ReturnType<typeof startPgBouncer>>;
const IS_HERE = hasPgBouncer() && (process.env.TEST_POSTGRES_URL ?? "") === "";

if (!IS_HERE) it("is skipped", (context) => context.skip(NO_PG_BOUNCER));

describe.runIf(IS_HERE)("behind a transaction pooler", () => {
  beforeAll(async () => {
    server = await startPostgres();
    pooler = await startPgBouncer(server.port ?? 0);
  }, 120_000);
  afterAll(async () => {
    await pooler.stop();
    await server.stop();
  }, 60_000);

  it("a run is taken when its lease is over, and not before", async () => {
    const schema = server.newSchema();
    const store = await openStore(pooler.url, { schema });
    const args = [`${import.meta.dirname}/children/hold-run.ts`, pooler.url, schema, "held", "2000"];
    const child = spawn(process.execPath, ["--no-warnings", ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    const start = performance.now();
    const waits: string[] = [];
    for (;;) {
      const { kind } = await store.claimRun("held", claimOptions());
      if (kind === "claimed") break;
      waits.push(kind);
      await sleep(50);
    }
    // A free lock would have been noticed within a second; there is none.
    expect(performance.now() - start).toBeGreaterThan(1_200);
    expect(performance.now() - start).toBeLessThan(2_000 + 2_000);
    expect(new Set(waits)).toEqual(new Set(["busy"]));
    await store.close();
  });

  it("each store has its own schema, and no other client gets what stores have set", async () => {
    const schemas = [server.newSchema(), server.newSchema()];
    const stores = await Promise.all(schemas.map((schema) => openStore(pooler.url, { schema })));
    const work = stores.map(async (store, i) => {
      const run = await SampleRun.create(store, "same-id", { input: { store: i } });
      await run.open(1);
      for (let turn = 1; turn <= 10; turn++) {
        await store.journalResponse(run.fence, run.journal(turn, ["running"]));
        const next = run.opening(turn + 1);
        await store.commitTurn(run.fence, run.commit(turn, { receipts: [newReceipt(1)], next }));
      }
      expect((await store.verify("same-id")).problems).toEqual([]);
      return store.readRunInput("same-id");
    });
    expect((await Promise.all(work)).map(({ input }) => input)).toEqual([{ store: 0 }, { store: 1 }]);
    await Promise.all(stores.map((store) => store.close()));
    const { Client } = await loadPg();
    const clients = Array.from({ length: 3 }, () => new Client({ connectionString: pooler.url }));
    await Promise.all(clients.map((client) => client.connect()));
    // At the same time, so that each has a session of its own.
    const settings = await Promise.all(
      clients.map((client) =>
        client.query({
          text: "SELECT current_setting('search_path') AS path, current_setting('statement_timeout') AS ms, pg_sleep(0.1)",
        }),
      ),
    );
    await Promise.all(clients.map((client) => client.end()));
    expect(settings.map(({ rows }) => rows[0])).toEqual(
      clients.map(() => expect.objectContaining({ path: '"$user", public', ms: "0" })),
    );
  });

  it("an agent works", async () => {
    const store = await openStore(pooler.url, { schema: server.newSchema() });
    const note = tool({
      name: "note",
      description: "Note a number.",
      inputSchema: z.object({ n: z.number() }),
      execute: ({ n }) => ({ noted: n }),
    });
    const model = scriptedModel([
      {
        toolCalls: [
          { name: "note", input: { n: 1 } },
          { name: "note", input: { n: 2 } },
        ],
      },
      { text: "Both are noted." },
    ]);
    const { status, output } = await new Runner(agent({ name: "clerk", model, tools: { note } }), {
      store,
    }).run("Go");
    expect([status, output]).toEqual(["succeeded", "Both are noted."]);
    await store.close();
  });

  it("conforms to the contract of a store", { timeout: 600_000 }, async () => {
    const schema = server.newSchema();
    await (await openStore(server.url, { schema })).close();
    const tables = await server.sql(
      "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') AS names FROM pg_tables WHERE schemaname = $1 AND tablename <> 'migrations'",
      [schema],
    );
    const checks = storeConformance((clocks) =>
      Promise.resolve({
        open: () => openStore(pooler.url, { ...clocks, schema, redactionKey: "ab".repeat(32) }),
        dispose: async () => {
          await server.sql(`TRUNCATE ${String(tables[0]?.names)}`);
        },
      }),
    );
    const ofOneThread = checks.filter(({ stores }) => stores !== "threads");
    const sample = ofOneThread.filter((_, i) => i % (IS_FULL_TEST ? 4 : 80) === 3);
    expect(sample.length).toBeGreaterThan(5);
    const failed: string[] = [];
    for (const check of sample)
      await check.run().catch((error: unknown) => failed.push(`${check.name}: ${String(error)}`));
    expect(failed).toEqual([]);
  });
});

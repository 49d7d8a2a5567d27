import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { embeddedMigrations } from "../../../scripts/embed-migrations.ts";
import { agent, type RunEvent, Runner, watchRun } from "../../../src/index.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { MIGRATIONS } from "../../../src/store/postgres/embedded-migrations.ts";
import { ALL_TABLES, type TableShape } from "../../../src/store/sql/table-list.ts";
import { newRun, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { response, streamingPort, text } from "../../engine/watch/streaming-port.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

const TYPES = { int: "bigint", text: "text", bytes: "bytea", run: "uuid" } as const;

/** What the server fills in, and no intent writes. */
const OWN_COLUMNS: readonly string[] = ["events.transaction_no", "runs.ended_at"];

async function columnsIn(schema: string, table: string) {
  const rows = await server.sql(
    `SELECT column_name, data_type, is_nullable FROM information_schema.columns
      WHERE table_schema = $1 AND table_name = $2 ORDER BY column_name`,
    [schema, table],
  );
  return rows
    .filter((row) => !OWN_COLUMNS.includes(`${table}.${String(row.column_name)}`))
    .map((row) => [row.column_name, row.data_type, row.is_nullable === "NO"]);
}

function columnsOf({ key, groups }: TableShape) {
  const all = [...Object.entries(key), ...Object.values(groups).flatMap((group) => Object.entries(group))];
  return all
    .map(([name, type]) => [name, TYPES[type.replace("?", "") as keyof typeof TYPES], !type.endsWith("?")])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
}

describe("the tables on PostgreSQL", () => {
  it("are those of the list, with the same columns", async () => {
    const schema = server.newSchema();
    await (await openStore(server.url, { schema })).close();
    const tables = Object.entries(ALL_TABLES);
    expect(tables.length).toBeGreaterThan(20);
    for (const [table, shape] of tables)
      expect([table, await columnsIn(schema, table)]).toEqual([table, columnsOf(shape)]);
  });

  it("are embedded as they are in their files (`node scripts/embed-migrations.ts` rewrites the module)", () => {
    const module = new URL("../../../src/store/postgres/embedded-migrations.ts", import.meta.url);
    expect(readFileSync(module, "utf8")).toBe(embeddedMigrations("postgres"));
  });

  it("have no index with what every commit of a turn changes: the server would write all indexes of the run", async () => {
    const schema = server.newSchema();
    await (await openStore(server.url, { schema })).close();
    const rows = await server.sql(
      "SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename = 'runs'",
      [schema],
    );
    const changed =
      /\b(?:updated_at|lease_until|event_seq|event_hash|charged_\w+|reserved_\w+|steps|calls|waits|checkpoints|run_events)\b/;
    expect(rows.length).toBeGreaterThan(8);
    expect(rows.filter((row) => changed.test(String(row.indexdef)))).toEqual([]);
  });

  it("are applied by many that open a new schema at once, however often", { timeout: 60_000 }, async () => {
    for (let round = 0; round < (IS_FULL_TEST ? 60 : 3); round++) {
      const fresh = server.newSchema();
      const stores = await Promise.all([1, 2, 3].map(() => openStore(server.url, { schema: fresh })));
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it("are created once, if several processes open a new database at the same time", async () => {
    const schema = server.newSchema();
    const stores = await Promise.all(Array.from({ length: 6 }, () => openStore(server.url, { schema })));
    await Promise.all(stores.map((store, i) => store.createRun(newRun(`run-${i}`))));
    expect(await stores[0]?.listRuns()).toHaveLength(6);
    for (const store of stores) await store.close();
    expect(await server.sql(`SELECT count(*)::int AS n FROM ${schema}.migrations`)).toEqual([
      { n: MIGRATIONS.length },
    ]);
  });

  it("of a newer version are refused, and left as they are", async () => {
    const schema = server.newSchema();
    await (await openStore(server.url, { schema })).close();
    await server.sql(`INSERT INTO ${schema}.migrations VALUES (999, 'later', 0)`);
    await expect(openStore(server.url, { schema })).rejects.toMatchObject({
      details: { reason: "newer_schema" },
    });
  });

  it("of a development version are refused in one sentence, and left as they are", async () => {
    const schema = server.newSchema();
    await (await openStore(server.url, { schema })).close();
    await server.sql(`DROP TABLE ${schema}.messages`);
    await server.sql(`DELETE FROM ${schema}.migrations WHERE number > 200`);
    await server.sql(`UPDATE ${schema}.migrations SET number = 102`);
    const tables = () =>
      server.sql("SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY tablename", [schema]);
    const before = await tables();
    expect(before.length).toBeGreaterThan(20);
    for (const readOnly of [false, true])
      await expect(openStore(server.url, { schema, readOnly })).rejects.toMatchObject({
        name: "StoreUnusableError",
        message: expect.stringMatching(
          /^The database postgres:\S+ has schema 102, of a development version of Pawl, which this version cannot read: .*it was left as it is\.$/,
        ),
        details: { reason: "development" },
      });
    expect(await tables()).toEqual(before);
    expect(await server.sql(`SELECT number::int FROM ${schema}.migrations`)).toEqual([{ number: 102 }]);
  });

  it("are not created by a reader", async () => {
    const schema = server.newSchema();
    await expect(openStore(server.url, { schema, readOnly: true })).rejects.toMatchObject({
      message: expect.stringMatching(
        /has no tables of Pawl in the schema .*: run `pawl migrate`, or check the address\.$/,
      ),
    });
    expect(await server.sql("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema])).toEqual([]);
  });
});

describe("a store on PostgreSQL", () => {
  it("keeps every text that SQLite keeps, the character 0 included", async () => {
    const schema = server.newSchema();
    const store = await openStore(server.url, { schema });
    const texts = ["a\0b", "\0", "\u{f8f0}", "\u{f8f0}0\0\u{f8f0}1", "é 🙂 \\ ' \" {,} \n"];
    const run = await SampleRun.create(store);
    for (const [i, text] of texts.entries()) {
      await store.keepArtifact(run.fence, {
        stepKey: run.stepKey,
        name: `${text} ${i}`,
        bytes: Buffer.from(text),
      });
      expect(Buffer.from((await store.readArtifact(run.runId, `${text} ${i}`)) ?? []).toString()).toBe(text);
    }
    expect((await store.listArtifacts(run.runId)).map(({ name }) => name).sort()).toEqual(
      texts.map((text, i) => `${text} ${i}`).sort(),
    );
    expect((await store.verify(run.runId)).problems).toEqual([]);
    await store.close();
  });

  it("refuses a server that may lose commits, unless that is wanted in so many words", async () => {
    const schema = server.newSchema();
    await server.sql("ALTER ROLE postgres SET synchronous_commit = off");
    try {
      await expect(openStore(server.url, { schema })).rejects.toMatchObject({
        details: { reason: "lost_commits" },
        message: expect.stringContaining("has synchronous_commit = off"),
      });
      await (await openStore(server.url, { schema, acceptLostCommits: true })).close();
    } finally {
      await server.sql("ALTER ROLE postgres RESET synchronous_commit");
    }
  });

  it("that cannot be reached says so in one sentence, without the password", async () => {
    await expect(openStore("postgres://ann:hunter2@127.0.0.1:1/nothing")).rejects.toMatchObject({
      message:
        "The database postgres://127.0.0.1:1/nothing cannot be reached: nothing was written; check the server, and resume.",
    });
  });
});

describe("answers that are being written", () => {
  it("are shown to a viewer on another store, and a table that is gone ends the show and not the run", async () => {
    const schema = server.newSchema();
    const [store, other] = [
      await openStore(server.url, { schema }),
      await openStore(server.url, { schema, readOnly: true }),
    ];
    const heard: string[] = [];
    const warnings: string[] = [];
    const seen = Promise.withResolvers<void>();
    const model = streamingPort(async (say) => {
      say(text("Half an answer"));
      await seen.promise;
      await server.sql(`DROP TABLE ${schema}.live_parts`);
      say(text(" and more"));
      await new Promise((resolve) => setTimeout(resolve, 150));
      return response("The whole answer.");
    });
    const onEvent = (event: RunEvent) => {
      if (event.type === "warning") warnings.push(event.message);
    };
    const runner = new Runner(agent({ name: "clerk", model, instructions: "Answer." }), {
      store,
      onEvent,
      live: true,
    });
    await runner.enqueue("Hello?", { runId: "q-1" });
    const run = runner.resume("q-1");
    for await (const event of watchRun(other, "q-1")) {
      heard.push(event.type === "part" ? event.delta : event.type);
      if (event.type === "part") seen.resolve();
    }
    expect((await run).output).toBe("The whole answer.");
    expect(heard).toContain("Half an answer");
    expect(heard.at(-1)).toBe("run.ended");
    expect(warnings).toEqual([expect.stringMatching(/^Its answers are not shown/)]);
    await Promise.all([store.close(), other.close()]);
  });
});

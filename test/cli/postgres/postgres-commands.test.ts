// Commands on a store in PostgreSQL: verify and gc, and crashtest with its processes there.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStore, Pipeline, Runner, Step, type Store } from "../../../src/index.ts";
import { PATIENCE } from "../../patience.ts";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { CliFolder } from "../cli-process.ts";
import { configWith } from "../crashtest/crashtest-config.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder, runSamples, SEARCHING } from "../sample-runs.ts";

const FOREIGN_SERVER =
  "Commands use the schema pawl, which is not touched on the server of TEST_POSTGRES_URL.";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(server.url);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

describe("verify", () => {
  it("names each row that was changed, removed or added", PATIENCE, async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    await runSamples({ ...cliFolder(), withStore }, { "v-1": [SEARCHING] });
    const verify = () => pawl(["verify", "v-1", "--store", server.url]);
    const problems = async () => {
      const { document } = await pawlJson<{ problems: readonly { row: string }[] }>([
        "verify",
        "v-1",
        "--store",
        server.url,
      ]);
      return document.problems.map(({ row }) => row);
    };
    const intact = await verify();
    expect([intact.exitCode, intact.stdout]).toEqual([
      0,
      expect.stringMatching(/^Run v-1 is intact: \d+ events, 1 receipt and 0 blobs\.\n$/),
    ]);

    const [call] = await server.sql("SELECT request FROM pawl.tool_calls");
    await server.sql("UPDATE pawl.tool_calls SET request = '{}'");
    const changed = await verify();
    expect(changed.exitCode).toBe(1);
    expect(changed.stdout).toMatch(/^Run v-1 is not intact: 1 problem in/);
    expect(await problems()).toEqual(["call v-1/research#1.1"]);
    await server.sql("UPDATE pawl.tool_calls SET request = $1", [call?.request]);
    expect((await verify()).exitCode).toBe(0);

    await server.sql("UPDATE pawl.events SET data = '{}' WHERE seq = 3");
    expect(await problems()).toContain("event 3");
    await server.sql("DELETE FROM pawl.turns WHERE turn_index = 2");
    expect((await problems()).join()).toMatch(/turn/);
  });
});

describe("gc", () => {
  it("deletes the large results of ended runs, and reports them before", PATIENCE, async (context) => {
    if (server.port === null) return context.skip(FOREIGN_SERVER);
    const big = Step.run("write", async (_input, ctx) => {
      await ctx.artifact("big.bin", new Uint8Array(2_000));
      return null;
    });
    const { cwd } = cliFolder();
    await withStore((store) =>
      new Runner(Pipeline.of("job", big), { store, workspaceRoot: cwd }).run("x", { runId: "j-1" }),
    );
    const gc = async (...argv: readonly string[]) =>
      (await pawlJson(["gc", "--store", server.url, ...argv])).document;
    expect(await gc("--dry-run")).toMatchObject({ dryRun: true, olderThanDays: 30, blobs: 0 });
    expect(await gc("--dry-run", "--max-bytes", "0")).toMatchObject({ blobs: 1, bytes: 2_000 });
    expect(await server.sql("SELECT 1 FROM pawl.blobs")).toHaveLength(1);
    expect(await gc("--max-bytes", "0")).toMatchObject({ dryRun: false, blobs: 1 });
    expect(await server.sql("SELECT 1 FROM pawl.blobs")).toHaveLength(0);
    const { stdout } = await pawl(["verify", "j-1", "--store", server.url]);
    expect(stdout).toContain("collected or removed");
  });
});

describe("crashtest --database", () => {
  const ALL_REAL = `{ forgetful: { input, model: script, tools: { send_email: "real" } } }`;

  it("finds what it finds on SQLite, says what it makes there, and leaves nothing", PATIENCE, async () => {
    const folder = new CliFolder(configWith(ALL_REAL));
    const schedule = ["--schedule", "crash after tool.send_email 1"];
    const { exitCode, stdout, stderr } = await pawl(
      ["crashtest", "forgetful", "--database", server.url, ...schedule],
      { cwd: folder.path },
    );
    expect(exitCode).toBe(1);
    expect(stdout).toContain("✗ effects-at-most-once");
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(
      "schemas named pawl_explorer_… are made there, and dropped at the end.",
    );
    expect(stderr).not.toContain(":postgres@");
    const left = await server.sql("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pawl_explorer_%'");
    expect(left).toEqual([]);
  });

  it("refuses any other address, without showing it", async () => {
    const folder = new CliFolder(configWith(ALL_REAL));
    const { exitCode, stderr } = await pawl(
      ["crashtest", "forgetful", "--database", "mysql://user:secret@host/x"],
      { cwd: folder.path },
    );
    expect(exitCode).toBe(2);
    expect(stderr).toContain("--database takes the address of a PostgreSQL database");
    expect(stderr).not.toContain("secret");
  });
});

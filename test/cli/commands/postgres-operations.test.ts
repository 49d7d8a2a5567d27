// `pawl doctor` on a real server, and the SQL of docs/operations.md: its roles are created, and its queries are run.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { newRun, SampleRun } from "../../../src/testing/store/sample-run.ts";
import { blocksOf } from "../../docs/blocks/blocks.ts";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { pawl, pawlJson } from "../recording-context.ts";

type Document = {
  readonly checks: readonly { name: string; status: string; what: string; remedy: string | null }[];
};

const page = readFileSync(new URL("../../../docs/operations.md", import.meta.url), "utf8");
const blocks = blocksOf("docs/operations.md", page)
  .filter(({ language }) => language === "sql")
  .map(({ text }) => text);
const [roles = "", ...queries] = blocks;

let server: PostgresServer;
const as = (role: string, parameters = "") =>
  server.url.replace("postgres:postgres@", `${role}:postgres@`) + parameters;

beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

/** The lines of doctor, each with its status. */
async function doctor(
  url: string,
): Promise<{ exitCode: number; lines: string[]; of: (name: string) => unknown }> {
  const { exitCode, document } = await pawlJson<Document>(["doctor", "--store", url]);
  return {
    exitCode,
    lines: document.checks.slice(3).map(({ name, status }) => `${name} ${status}`),
    of: (name) => document.checks.find((check) => check.name === name),
  };
}

const SERVER_LINES = [
  "server ok",
  "schema ok",
  "rights ok",
  "commits ok",
  "checksums ok",
  "failover ok",
  "pooler ok",
  "sessions ok",
  "snapshots ok",
  "vacuum ok",
  "clock ok",
  "dispatch ok",
  "size ok",
];
const RUN_LINES = ["integrity ok", "leases ok", "waits ok", "in doubt ok", "queues ok"];

describe("a database for Pawl", () => {
  beforeEach((context) => {
    if (server.port === null)
      context.skip("The server of TEST_POSTGRES_URL gets no roles and keeps its settings.");
  });

  it("is looked at by doctor before it has tables, and gets none by that", async () => {
    const { exitCode, of } = await doctor(as("postgres", "?schema=agents"));
    expect(exitCode).toBe(0);
    expect(of("schema")).toMatchObject({ status: "warn", what: "agents has no tables of Pawl" });
    expect(await server.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'agents'")).toEqual([]);
  });

  it("gets its tables from pawl migrate, in the schema of its address", async () => {
    const { exitCode, stdout } = await pawl(["migrate", "--store", as("postgres", "?schema=agents")]);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("?schema=agents has the tables")]);
    expect((await pawl(["ls", "--store", as("postgres", "?schema=agents")])).exitCode).toBe(0);
    expect((await pawl(["ls", "--store", as("postgres")])).stderr).toMatch(
      /has no tables of Pawl in the schema\s+pawl/,
    );
  });

  it("is in order by all checks, which never show the password", async () => {
    const url = as("postgres", "?schema=agents");
    const { exitCode, lines } = await doctor(url);
    expect(lines).toEqual(["store ok", "store id ok", ...SERVER_LINES, ...RUN_LINES]);
    expect(exitCode).toBe(0);
    for (const extra of [[], ["--json"]])
      expect((await pawl(["doctor", "--store", url, ...extra])).stdout).not.toContain(":postgres@");
  });

  it("has the roles of the page: an owner who migrates, one that works, one that reads", async () => {
    await server.sql(roles);
    for (const role of ["pawl_owner", "pawl", "pawl_reader"])
      await server.sql(`ALTER ROLE ${role} PASSWORD 'postgres'`);
    expect((await pawl(["migrate", "--store", as("pawl_owner")])).exitCode).toBe(0);
    const store = await openStore(as("pawl"));
    const run = await SampleRun.create(store);
    await run.committedWithCall(1);
    await store.close();
    expect((await doctor(as("pawl"))).lines.slice(0, 5)).toEqual([
      "store ok",
      "store id ok",
      ...SERVER_LINES.slice(0, 3),
    ]);
    const reader = await openStore(as("pawl_reader"), { readOnly: true });
    expect(await reader.listRuns()).toHaveLength(1);
    await reader.close();
    // None of them may do what the one before it does.
    await expect(server.sql("SET ROLE pawl; CREATE TABLE pawl.mine ()")).rejects.toThrow(/permission denied/);
    const forbidden = await openStore(as("pawl_reader"));
    await expect(forbidden.createRun(newRun("mine"))).rejects.toMatchObject({
      details: { reason: "refused" },
    });
    await forbidden.close();
  });

  it("says which rights a role lacks", async () => {
    expect((await doctor(as("pawl_reader"))).of("rights")).toMatchObject({
      status: "warn",
      what: expect.stringMatching(/^pawl_reader may read only: .* on .*, and \d+ more is missing$/),
    });
    await server.sql("CREATE ROLE stranger LOGIN PASSWORD 'postgres'");
    const { exitCode, lines, of } = await doctor(as("stranger"));
    expect([exitCode, lines[0], lines[2]]).toEqual([1, "store fail", "schema fail"]);
    expect(of("rights")).toMatchObject({
      status: "fail",
      what: expect.stringContaining("USAGE on the schema pawl"),
    });
    // It cannot see what sessions of others do, and says so.
    expect(of("snapshots")).toMatchObject({ what: expect.stringContaining("grant it pg_read_all_stats") });
  });

  it("answers every query of the page", async () => {
    const statements = queries
      .flatMap((text) => text.split(";").map((each) => each.trim()))
      .filter((each) => each !== "");
    expect(statements.length).toBeGreaterThan(10);
    for (const statement of statements) await server.sql(statement);
    const found = await server.sql(
      statements.find((each) => each.startsWith("SELECT pipeline, count(*)")) ?? "",
    );
    expect(found).toMatchObject([{ pipeline: "report" }]);
  });

  it("that may lose commits is refused, and doctor says why", async () => {
    await server.sql("ALTER SYSTEM SET fsync = off");
    await server.sql("ALTER SYSTEM SET full_page_writes = off");
    await server.sql("SELECT pg_reload_conf()");
    await expect.poll(async () => (await server.sql("SHOW fsync"))[0]?.fsync).toBe("off");
    const { exitCode, of } = await doctor(as("pawl"));
    expect(exitCode).toBe(1);
    expect(of("commits")).toMatchObject({
      status: "fail",
      what: "fsync and full_page_writes off: a crash loses commits, and effects are repeated",
      remedy: "turn them on",
    });
    expect(of("store")).toMatchObject({ status: "fail", what: expect.stringContaining("has fsync = off") });
    await server.sql("ALTER SYSTEM RESET ALL");
    await server.sql("SELECT pg_reload_conf()");
  });

  it("that cannot be reached is one line, without the password", async () => {
    const { document } = await pawlJson<Document>([
      "doctor",
      "--store",
      "postgres://ann:hunter2@127.0.0.1:1/x",
    ]);
    expect(document.checks.slice(3)).toEqual([
      {
        name: "store",
        status: "fail",
        what: expect.stringMatching(/^The database postgres:\/\/127\.0\.0\.1:1\/x cannot be reached/),
        remedy: null,
      },
    ]);
  });
});

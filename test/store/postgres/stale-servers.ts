// Tests that are killed cannot stop their servers: the next tests do it for them.

import { spawnSync } from "node:child_process";
import { globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// PostgreSQL refuses to run as root, so the user that it runs as has to reach the folder. Not in memory: a server that
// is killed with its tests would keep it.
export const FOLDER_OF_SERVERS = "/var/tmp";
const PREFIX = "pawl-postgres-";

/** The beginning of the folder's name: it says which process has started the server. */
export function serverFolder(parent: string, starter: number): string {
  return join(parent, `${PREFIX}${starter}-`);
}

/** The process of the server whose files these are; null if it does not run. */
export function postmasterOf(data: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(join(data, "postmaster.pid"), "utf8"), 10);
    return isRunning(pid) ? pid : null;
  } catch {
    return null;
  }
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // It runs, and belongs to another user.
    return (error as { code?: unknown }).code === "EPERM";
  }
}

/** Ends the servers of tests that no longer run, and removes their folders. Leaves everything else alone. */
export async function removeStaleServers(parent: string): Promise<void> {
  for (const folder of globSync(join(parent, `${PREFIX}*`))) {
    const starter = /-(\d+)-[^/-]+$/.exec(folder)?.[1];
    if (starter === undefined || isRunning(Number(starter))) continue;
    for (const file of globSync(join(folder, "*/postmaster.pid"))) await endServer(join(file, ".."));
    if (globSync(join(folder, "*/postmaster.pid")).every((file) => postmasterOf(join(file, "..")) === null))
      rmSync(folder, { recursive: true, force: true });
  }
}

/** A number in a file may be that of another process by now: only one that was started with this folder is ended. */
async function endServer(data: string): Promise<void> {
  const pid = postmasterOf(data);
  if (pid === null) return;
  const { stdout } = spawnSync("ps", ["-o", "args=", "-p", String(pid)], { encoding: "utf8" });
  if (!stdout.includes(data)) {
    rmSync(join(data, "postmaster.pid"), { force: true });
    return;
  }
  process.kill(pid, "SIGQUIT");
  for (let tries = 0; isRunning(pid) && tries < 200; tries++) await sleep(10);
}

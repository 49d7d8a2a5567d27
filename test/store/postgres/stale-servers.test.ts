import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRunning, removeStaleServers, serverFolder } from "./stale-servers.ts";

let parent: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "stale-servers-"));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(parent, { recursive: true, force: true });
});

/** A process that has these arguments and does nothing, as a server has the folder of its files. */
async function processWith(...args: string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    ["-e", "console.log(1); setInterval(() => {}, 1000)", "--", ...args],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  children.push(child);
  await once(child.stdout, "data");
  return child.pid ?? 0;
}

async function deadProcess(): Promise<number> {
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "close");
  return child.pid ?? 0;
}

/** The folder of a server that this process has started. */
function folderOf(starter: number): { folder: string; data: string } {
  const folder = `${serverFolder(parent, starter)}abc`;
  mkdirSync(join(folder, "data"), { recursive: true });
  return { folder, data: join(folder, "data") };
}

describe("servers of tests that were killed", () => {
  it("are ended and removed with their files", async () => {
    const { folder, data } = folderOf(await deadProcess());
    const server = await processWith("-D", data);
    writeFileSync(join(data, "postmaster.pid"), `${server}\n${data}\n`);
    await removeStaleServers(parent);
    expect([isRunning(server), existsSync(folder)]).toEqual([false, false]);
  });

  it("are left alone while their tests run", async () => {
    const { folder, data } = folderOf(process.pid);
    const server = await processWith("-D", data);
    writeFileSync(join(data, "postmaster.pid"), `${server}\n${data}\n`);
    await removeStaleServers(parent);
    expect([isRunning(server), existsSync(folder)]).toEqual([true, true]);
  });

  it("are not mistaken for another process that has the number now", async () => {
    const { folder, data } = folderOf(await deadProcess());
    const stranger = await processWith("-D", "/elsewhere");
    writeFileSync(join(data, "postmaster.pid"), `${stranger}\n${data}\n`);
    await removeStaleServers(parent);
    expect([isRunning(stranger), existsSync(folder)]).toEqual([true, false]);
  });

  it("are not looked for in folders of other names", async () => {
    const other = join(parent, `postgres-${await deadProcess()}-abc`);
    const unnumbered = join(parent, "pawl-postgres-abc");
    for (const folder of [other, unnumbered]) mkdirSync(folder);
    await removeStaleServers(parent);
    expect([existsSync(other), existsSync(unnumbered)]).toEqual([true, true]);
  });
});

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { bootId } from "../../../src/store/sqlite/boot-id.ts";
import { OwnerLock } from "../../../src/store/sqlite/owner-lock.ts";
import { claimOptions, newRun, sha256 } from "../../../src/testing/store/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

const HOUR_MS = 3_600_000;

/** The files that are left when no process has the store open: the WAL is never removed. */
const FILES = ["pawl.db", "pawl.db-shm", "pawl.db-wal"];

function databaseFile(): string {
  return join(tempFolder(), "pawl.db");
}

/** The lock file of an owner. */
function lockFileOf(file: string, owner: string): string {
  return `${file}-owner-${owner.split("/").at(-1)}`;
}

/** A process that holds run "r" under a lease of an hour. */
async function holdRun(file: string): Promise<{ child: Child; owner: string }> {
  const child = Child.start("hold-run", file, "r", String(HOUR_MS));
  return { child, owner: await child.line() };
}

describe("a run whose process", () => {
  it("was killed can be claimed at once, although its lease runs for an hour", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    const store = await openStore(`file:${file}`);
    expect(await store.claimRun("r", claimOptions())).toMatchObject({ kind: "busy", owner });
    await child.kill();
    const outcome = await store.claimRun("r", claimOptions());
    expect(outcome).toMatchObject({ kind: "claimed", claim: { epoch: 2 } });
    expect(outcome.kind === "claimed" && outcome.chargedAsLost).toHaveLength(1);
    await store.close();
  });

  it("was killed is abandoned at once, and not before", async () => {
    const file = databaseFile();
    const { child } = await holdRun(file);
    const store = await openStore(`file:${file}`);
    expect(await store.findRunsOf("report", sha256("ratchets"))).toMatchObject([{ isHeld: true }]);
    await child.kill();
    expect(await store.findRunsOf("report", sha256("ratchets"))).toMatchObject([{ isHeld: false }]);
    await store.close();
  });

  it("was killed leaves its lock until its run is claimed, and then nothing", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    await child.kill();
    const store = await openStore(`file:${file}`);
    expect(existsSync(lockFileOf(file, owner)), "it says that the owner is dead").toBe(true);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
    await (await openStore(`file:${file}`)).close();
    expect(readdirSync(join(file, ".."))).toEqual(FILES);
  });

  it("is stopped is busy: it may continue", async () => {
    const file = databaseFile();
    const { child } = await holdRun(file);
    child.freeze();
    const store = await openStore(`file:${file}`);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await store.close();
  });

  it("lost its lock file is busy until the lease expires", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    rmSync(lockFileOf(file, owner));
    await child.kill();
    let now = Date.now();
    const store = await openStore(`file:${file}`, { now: () => now });
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    now += HOUR_MS;
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
  });

  it("lives is busy for a whole lease length of watching, whatever the clock on the wall says", async () => {
    const file = databaseFile();
    const { child } = await holdRun(file);
    child.freeze();
    let [now, monotonic] = [Date.now(), 0];
    const store = await openStore(`file:${file}`, { now: () => now, monotonic: () => monotonic });
    now += 365 * 24 * HOUR_MS;
    expect((await store.claimRun("r", claimOptions())).kind, "seen for the first time").toBe("busy");
    monotonic += HOUR_MS - 1;
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    monotonic += 1;
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
  });

  it("cannot be asked, and whose clock was a year ahead, is busy for one lease length from first sight", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    rmSync(lockFileOf(file, owner));
    await child.kill();
    let monotonic = 0;
    const lastYear = Date.now() - 365 * 24 * HOUR_MS;
    const store = await openStore(`file:${file}`, { now: () => lastYear, monotonic: () => monotonic });
    const outcome = await store.claimRun("r", claimOptions());
    expect(outcome).toMatchObject({ kind: "busy", until: lastYear + HOUR_MS });
    monotonic += HOUR_MS;
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
  });

  it("was killed in another boot is not known to be dead: its lease has to expire", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    await child.kill();
    const other = `${owner.slice(0, owner.lastIndexOf("/"))}/ffffffff-${owner.slice(-12)}`;
    renameSync(lockFileOf(file, owner), lockFileOf(file, other));
    const raw = new DatabaseSync(file);
    raw.prepare("UPDATE runs SET owner = ?").run(other);
    raw.close();
    const store = await openStore(`file:${file}`);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await store.close();
  });

  it("lives is not taken over although it read all the files beside the database", async () => {
    const file = databaseFile();
    const { child } = await holdRun(file);
    child.send("read");
    expect(await child.line()).toMatch(/^read [3-9]/);
    const store = await openStore(`file:${file}`);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await store.close();
    const again = await openStore(`file:${file}`);
    expect((await again.claimRun("r", claimOptions())).kind).toBe("busy");
    await child.kill();
    expect((await again.claimRun("r", claimOptions())).kind).toBe("claimed");
    await again.close();
  });

  it("has a database whose path is too long for a socket is still known to live or to be dead", async () => {
    const folder = join(tempFolder(), "long".repeat(40));
    mkdirSync(folder);
    const file = join(folder, `${"pawl".repeat(30)}.db`);
    const { child } = await holdRun(file);
    const store = await openStore(`file:${file}`);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await child.kill();
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
  });

  it("is stopped and probed more often than its socket's backlog is still not considered dead", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    child.freeze();
    const lock = OwnerLock.watch(file);
    const answers = new Set<string>();
    for (let i = 0; i < 20; i++)
      for (const answer of await Promise.all(Array.from({ length: 40 }, () => lock.look(owner))))
        answers.add(answer);
    expect([...answers]).toEqual(["alive"]);
  });

  it("is this one is held by the store that claimed it", async () => {
    const file = databaseFile();
    const [first, second] = [await openStore(`file:${file}`), await openStore(`file:${file}`)];
    await first.createRun(newRun("r"));
    for (const store of [first, second])
      expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await Promise.all([first.close(), second.close()]);
  });
});

describe("lock files", () => {
  it("are removed after a clean shutdown", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    expect(existsSync(lockFileOf(file, owner))).toBe(true);
    child.send("close");
    expect(await child.line()).toBe("closed");
    expect(await child.ended()).toBe(0);
    expect(readdirSync(join(file, ".."))).toEqual(FILES);
  });

  it("of living processes are not swept away", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    const store = await openStore(`file:${file}`);
    await store.close();
    expect(existsSync(lockFileOf(file, owner))).toBe(true);
    const again = await openStore(`file:${file}`);
    expect((await again.claimRun("r", claimOptions())).kind).toBe("busy");
    await child.kill();
    expect((await again.claimRun("r", claimOptions())).kind).toBe("claimed");
    await again.close();
  });

  it("are distinguished from other files beside the database, which stay", async () => {
    const file = databaseFile();
    const others = [
      "pawl.db-owner-notes.txt",
      "pawl.db-owner-",
      "pawl.db-owner-00112233445g",
      "pawl.db-sent-notes",
      "pawl.db-backup",
    ];
    for (const name of others) writeFileSync(join(file, "..", name), "mine");
    for (const kind of ["owner", "sent"]) writeFileSync(`${file}-${kind}-${bootId()}-0123456789ab`, "");
    const store = await openStore(`file:${file}`);
    await store.close();
    expect(readdirSync(join(file, "..")).sort()).toEqual([...others, ...FILES].sort());
  });

  it("that cannot be read prove nothing about their owner", async () => {
    const file = databaseFile();
    // A folder cannot be connected to, not even by root.
    mkdirSync(`${file}-owner-${bootId()}-0123456789ab`);
    const store = await openStore(`file:${file}`);
    await store.createRun(newRun("r"));
    await store.close();
    const raw = new DatabaseSync(file);
    raw.exec(
      `UPDATE runs SET owner = 'host/1/${bootId()}-0123456789ab', lease_until = ${Date.now() + HOUR_MS}, lease_ms = ${HOUR_MS}`,
    );
    raw.close();
    const other = await openStore(`file:${file}`);
    expect((await other.claimRun("r", claimOptions())).kind).toBe("busy");
    await other.close();
  });

  it("are beside the database, not beside a link to it", async () => {
    const file = databaseFile();
    await (await openStore(`file:${file}`)).close();
    const link = join(tempFolder(), "link.db");
    symlinkSync(file, link);
    const { child, owner } = await holdRun(link);
    expect(existsSync(lockFileOf(file, owner))).toBe(true);
    const store = await openStore(`file:${file}`);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await child.kill();
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
  });
});

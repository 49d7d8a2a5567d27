import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import { OwnerLock } from "../../../src/store/sqlite/owner-lock.ts";
import { claimOptions, newRun, sha256 } from "../../../src/testing/store-conformance/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

const HOUR_MS = 3_600_000;

function databaseFile(): string {
  return join(tempFolder(), "pawl.db");
}

/** The sidecar file that an owner's name stands for. */
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
    expect(await store.findAbandonedRuns("report", sha256("ratchets"))).toEqual([]);
    await child.kill();
    expect(await store.findAbandonedRuns("report", sha256("ratchets"))).toEqual(["r"]);
    await store.close();
  });

  it("was killed leaves nothing behind once the next one has opened and closed the store", async () => {
    const file = databaseFile();
    const { child } = await holdRun(file);
    await child.kill();
    const store = await openStore(`file:${file}`);
    await store.close();
    expect(readdirSync(join(file, ".."))).toEqual(["pawl.db"]);
  });

  it("was killed before this one opened the store can be claimed at once, its lock file swept away", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    await child.kill();
    expect(existsSync(lockFileOf(file, owner))).toBe(true);
    const store = await openStore(`file:${file}`);
    expect(existsSync(lockFileOf(file, owner))).toBe(false);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
    await store.close();
  });

  it("stands still is busy: it may go on", async () => {
    const file = databaseFile();
    const { child } = await holdRun(file);
    child.freeze();
    const store = await openStore(`file:${file}`);
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await store.close();
  });

  it("lost its lock file is busy until the lease runs out", async () => {
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

  it("is this one is held by whichever of its stores took it", async () => {
    const file = databaseFile();
    const [first, second] = [await openStore(`file:${file}`), await openStore(`file:${file}`)];
    await first.createRun(newRun("r"));
    for (const store of [first, second])
      expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    await Promise.all([first.close(), second.close()]);
  });
});

describe("lock files", () => {
  it("are gone after a clean end", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    expect(existsSync(lockFileOf(file, owner))).toBe(true);
    child.tell("close");
    expect(await child.line()).toBe("closed");
    expect(await child.ended()).toBe(0);
    expect(readdirSync(join(file, ".."))).toEqual(["pawl.db"]);
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

  it("are told from other files beside the database, which stay", async () => {
    const file = databaseFile();
    const others = [
      "pawl.db-owner-notes.txt",
      "pawl.db-owner-",
      "pawl.db-owner-00112233445g",
      "pawl.db-backup",
    ];
    for (const name of others) writeFileSync(join(file, "..", name), "mine");
    writeFileSync(`${file}-owner-0123456789ab`, "");
    const store = await openStore(`file:${file}`);
    await store.close();
    expect(readdirSync(join(file, "..")).sort()).toEqual([...others, "pawl.db"].sort());
  });

  it("that cannot be read say nothing about their owner", async () => {
    const file = databaseFile();
    // A folder is what nobody can open as a file, root included.
    mkdirSync(`${file}-owner-0123456789ab`);
    const store = await openStore(`file:${file}`);
    await store.createRun(newRun("r"));
    await store.close();
    const raw = new DatabaseSync(file);
    raw.exec("UPDATE runs SET owner = 'host/1/0123456789ab'");
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

describe("several who ask at once whether an owner is dead", () => {
  it("do not take each other for it", async () => {
    const file = databaseFile();
    const { child, owner } = await holdRun(file);
    const [asking, sweeping] = [OwnerLock.take(file), OwnerLock.take(file)];
    expect(asking.isDead(owner)).toBe(false);
    await child.kill();
    const answers: boolean[] = [];
    sweeping.sweep(() => answers.push(asking.isDead(owner)));
    expect(answers).toEqual([true]);
    expect(existsSync(lockFileOf(file, owner))).toBe(false);
    expect(asking.isDead(sweeping.owner)).toBe(false);
    asking.release();
    sweeping.release();
  });
});

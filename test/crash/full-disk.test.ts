import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { agent, openStore, RunBusyError, Runner, StoreUnavailableError, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

/** A small file system; null if this user may not mount one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), "pawl-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
  onTestFinished(() => {
    execFileSync("umount", [folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

function fill(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, "full"), Buffer.alloc(Number(bavail) * Number(bsize)));
}

/** Three orders, each charged under its key; the disk is full from within the second. */
function shop(folder: string, charged: string[]) {
  const charge = tool({
    description: "Charge an order.",
    inputSchema: z.object({ order: z.number() }),
    recovery: "keyed",
    execute: ({ order }, call) => {
      charged.push(`${order} ${call.idempotencyKey}`);
      if (order === 2 && charged.length === 2) fill(folder);
      // More than fits into the write-ahead log.
      return "x".repeat(15_000);
    },
  });
  const model = scriptedModel(({ turn }) =>
    turn <= 3 ? { toolCalls: [{ name: "charge", input: { order: turn } }] } : { text: "Done." },
  );
  return agent({ name: "shop", model, tools: { charge } });
}

/** Prints `closed` once its store is closed, and lives until its input ends. It could not write the release of its run. */
const CLOSES_ON_A_FULL_DISK = `
  import { statfsSync, writeFileSync } from "node:fs";
  import { agent, openStore, Runner, tool } from "SOURCES/index.ts";
  import { scriptedModel } from "SOURCES/testing/index.ts";
  import { z } from "zod";
  const folder = process.argv[1];
  const store = await openStore("file:" + folder + "/pawl.db");
  const charge = tool({
    description: "Charge.",
    inputSchema: z.object({}),
    recovery: "keyed",
    execute: () => {
      const { bavail, bsize } = statfsSync(folder);
      writeFileSync(folder + "/full", Buffer.alloc(bavail * bsize));
      store.close().then(() => console.log("closed"));
      return "x".repeat(15000);
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "charge", input: {} }] }]);
  await new Runner(agent({ name: "shop", model, tools: { charge } }), { store }).run("Go").catch(() => undefined);
  process.stdin.resume();
`;

describe("a graceful close that a full disk keeps from being written", () => {
  test("leaves the run with the process until it dies; then the next one takes it at once", async (context) => {
    const folder = smallDisk();
    if (folder === null) return context.skip("mounting a file system needs root");
    const sources = pathToFileURL(resolve("src")).href;
    const code = CLOSES_ON_A_FULL_DISK.replaceAll("SOURCES", sources);
    const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", code, folder], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const gone = once(child, "close");
    const [printed] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    expect(printed).toBe("closed\n");
    rmSync(join(folder, "full"));

    const keys: string[] = [];
    const charge = tool({
      description: "Charge.",
      inputSchema: z.object({}),
      recovery: "keyed",
      execute: (_input, { idempotencyKey }) => keys.push(idempotencyKey),
    });
    const model = scriptedModel(() => ({ text: "Done." }));
    const store = await openStore(`file:${join(folder, "pawl.db")}`);
    const runner = new Runner(agent({ name: "shop", model, tools: { charge } }), { store });
    await expect(runner.run("Go")).rejects.toBeInstanceOf(RunBusyError);
    child.stdin.end();
    expect(await gone).toEqual([0, null]);
    await expect(runner.run("Go")).resolves.toMatchObject({ status: "succeeded", resumed: true });
    expect([keys.length, (await store.listRuns()).length], "the charge in doubt, under its key").toEqual([
      1, 1,
    ]);
    await store.close();
  });
});

describe("a disk that is full for a moment", () => {
  test.for(["with the same open store", "with the store closed and opened again"])(
    "lets the next run(input) continue the run at once, each order under one key, %s",
    async (how, context) => {
      const folder = smallDisk();
      if (folder === null) return context.skip("mounting a file system needs root");
      const charged: string[] = [];
      const address = `file:${join(folder, "pawl.db")}`;
      let store = await openStore(address);
      const full = await new Runner(shop(folder, charged), { store })
        .run({ orders: 3 })
        .catch((error: unknown) => error);
      expect(full).toBeInstanceOf(StoreUnavailableError);
      rmSync(join(folder, "full"));
      if (how !== "with the same open store") {
        await store.close();
        store = await openStore(address);
      }
      const result = await new Runner(shop(folder, charged), { store }).run({ orders: 3 });
      expect(result).toMatchObject({ status: "succeeded", resumed: true });
      expect(await store.listRuns()).toHaveLength(1);
      expect(new Set(charged).size).toBe(3);
      await store.close();
    },
  );
});

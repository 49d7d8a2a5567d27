import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { agent, openStore, Runner, StoreUnavailableError, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

/** A small file system of its own; null where this user may not make one. */
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
      // More than the log has room for.
      return "x".repeat(15_000);
    },
  });
  const model = scriptedModel(({ turn }) =>
    turn <= 3 ? { toolCalls: [{ name: "charge", input: { order: turn } }] } : { text: "Done." },
  );
  return agent({ name: "shop", model, tools: { charge } });
}

describe("a disk that is full for a moment", () => {
  test.for(["with the same open store", "with the store closed and opened again"])(
    "has the next run(input) continue the run at once, each order under one key, %s",
    async (how, context) => {
      const folder = smallDisk();
      if (folder === null) return context.skip("a file system of its own needs root");
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

// A sender may die before and after each of its steps: another one finishes what it began, and nothing is lost. Here with
// real requests; the scenario `webhook` of the crash explorer has all of its points.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { SampleRun, SUCCEEDED } from "../../../src/testing/store/sample-run.ts";
import { sampled } from "../../full-test.ts";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { isSignedWith, startReceiver } from "./receiver.ts";
import { addWebhook, testSender } from "./sender-world.ts";

const STEPS = ["recordDeliveries", "claimDeliveries", "endDelivery"] as const;
type Step = (typeof STEPS)[number];

const DEATHS = STEPS.flatMap((step) => (["before", "after"] as const).map((when) => [when, step] as const));

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 120_000);
afterAll(() => server.stop(), 60_000);

function newAddress(database: "SQLite" | "PostgreSQL"): string {
  if (database === "PostgreSQL") return `${server.url}?schema=${server.newSchema()}`;
  const folder = mkdtempSync(join(tmpdir(), "pawl-webhooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return `file:${join(folder, "pawl.db")}`;
}

/** The store of a process that dies right before or right after this step: from then on it does nothing. */
function dying(store: Store, step: Step, when: "before" | "after"): Store {
  let isDead = false;
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      // The one that is no promise.
      if (name === "redactionKey") return () => target.redactionKey();
      return async (...given: readonly unknown[]) => {
        if (isDead || (name === step && when === "before")) {
          isDead = true;
          throw new Error("dead");
        }
        const answer: unknown = await Reflect.apply(value, target, given);
        if (name === step) {
          isDead = true;
          throw new Error("dead");
        }
        return answer;
      };
    },
  });
}

describe.each(["SQLite", "PostgreSQL"] as const)("on %s", (database) => {
  it.each(database === "SQLite" ? DEATHS : sampled(DEATHS, DEATHS.length))(
    "a sender that dies right %s %s loses nothing, and what is repeated has the same id",
    { timeout: 30_000 },
    async (when, step) => {
      let time = Date.now();
      const now = () => time;
      const address = newAddress(database);
      const open = async () => {
        const store = await openStore(address, {
          now,
          ...(database === "PostgreSQL" ? { redactionKey: "ab".repeat(32) } : {}),
        });
        onTestFinished(() => store.close({ graceMs: 0 }));
        return store;
      };
      const [first, second] = [await open(), await open()];
      const receiver = await startReceiver();
      const secret = await addWebhook(first, receiver.url);
      const ids: string[] = [];
      for (const runId of ["run-1", "run-2"]) {
        const run = await SampleRun.create(first, runId);
        await first.releaseRun(run.fence, SUCCEEDED);
        ids.push(`${runId}:${(await run.lastEvent()).seq}`);
      }
      const dead = testSender(dying(first, step, when), now);
      await dead.look();
      expect(dead.errors.length, "it died").toBeGreaterThan(0);
      // Nothing that it has claimed is sent before it is taken for dead.
      const living = testSender(second, now);
      await living.look();
      time += 60_000;
      await living.look();
      expect(living.errors).toEqual([]);
      expect([...new Set(receiver.received.map(({ id }) => id))].sort()).toEqual(ids);
      const times = step === "endDelivery" ? 2 : 1;
      expect(receiver.received.length).toBeLessThanOrEqual(2 * times);
      expect(receiver.received.every((each) => isSignedWith(secret, each))).toBe(true);
      const all = await second.listDeliveries("w-1");
      expect(all.map(({ deliveryId, state }) => `${deliveryId} ${state}`).sort()).toEqual(
        ids.map((id) => `${id} delivered`),
      );
      time += 24 * 3_600_000;
      await living.look();
      expect(receiver.received.length, "what was received is not sent again").toBeLessThanOrEqual(2 * times);
    },
  );

  it("two senders that work at the same time send each message once", { timeout: 30_000 }, async () => {
    const address = newAddress(database);
    const now = () => Date.now();
    const open = async () => {
      const store = await openStore(
        address,
        database === "PostgreSQL" ? { redactionKey: "ab".repeat(32) } : {},
      );
      onTestFinished(() => store.close({ graceMs: 0 }));
      return store;
    };
    const stores = [await open(), await open()] as const;
    const receiver = await startReceiver();
    await addWebhook(stores[0], receiver.url);
    for (let i = 0; i < 20; i += 1) {
      const { fence } = await SampleRun.create(stores[0], `run-${i}`);
      await stores[0].releaseRun(fence, SUCCEEDED);
    }
    const senders = stores.map((store) => testSender(store, now));
    for (let looks = 0; looks < 4; looks += 1) await Promise.all(senders.map((sender) => sender.look()));
    expect(senders.flatMap(({ errors }) => errors)).toEqual([]);
    expect(receiver.received).toHaveLength(20);
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(20);
  });
});

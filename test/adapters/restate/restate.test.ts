// Runs driven by a real Restate server, over a service process of their own: both are killed, and every effect happens once.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sweepReady, wake } from "../../../src/adapters/restate/restate.ts";
import { openStore, Pipeline, Runner, Step, type Store } from "../../../src/index.ts";
import { EffectServer } from "../../crash/harness/effect-server.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { freePort, type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import type { ServiceOrder } from "./children/service-order.ts";
import { RestateServer, restateBinary } from "./restate-server.ts";
import { ServiceProcess } from "./service-process.ts";

const binary = restateBinary();
if ("missing" in binary) console.warn(`Tests with Restate are skipped. ${binary.missing}`);

const databases = IS_FULL_TEST ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);
const TURNS = 3;

describe.skipIf("missing" in binary).each(databases)("a run driven by Restate, on %s", (database) => {
  let postgres: PostgresServer | undefined;
  let folder: string;
  let restate: RestateServer;
  let effects: EffectServer;
  let order: ServiceOrder;
  let service: ServiceProcess;
  let store: Store;
  const runIds: string[] = [];

  beforeAll(async () => {
    if ("missing" in binary) return;
    folder = mkdtempSync(join(tmpdir(), "pawl-restate-store-"));
    effects = await EffectServer.listen({ keyed: true });
    postgres = database === "PostgreSQL" ? await startPostgres() : undefined;
    const place =
      postgres === undefined
        ? { store: join(folder, "pawl.db") }
        : { store: postgres.url, schema: postgres.newSchema() };
    order = { ...place, port: await freePort(), effects: effects.url, toolMs: 100 };
    store = await openStore(place.store, "schema" in place ? { schema: place.schema } : {});
    [restate, service] = await Promise.all([RestateServer.start(binary.file), ServiceProcess.start(order)]);
    await restate.register(order.port);
  }, 120_000);

  afterAll(async () => {
    await service?.kill();
    await restate?.stop();
    await store?.close();
    await effects?.close();
    await postgres?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  /** Calls a handler through the ingress. */
  async function call(runId: string, handler: string, body: unknown): Promise<unknown> {
    const response = await fetch(`${restate.ingress}/pawl-run/${runId}/${handler}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status}: ${text}`);
    return JSON.parse(text) as unknown;
  }

  async function start(runId: string, options: object = {}): Promise<void> {
    runIds.push(runId);
    await call(runId, "start", { pipeline: "work", input: "go", ...options });
  }

  const sweep = () => sweepReady(store, restate.ingress, { pipelines: ["work", "asking"] });

  async function reaches(runId: string, status: string): Promise<void> {
    await vi.waitFor(async () => expect((await store.getRun(runId))?.status).toBe(status), {
      timeout: 60_000,
      interval: 25,
    });
  }

  /** It has ended, and had each of its effects once. */
  async function ends(runId: string): Promise<void> {
    await reaches(runId, "succeeded");
    const own = effects.effects.filter((what) => what.startsWith(`${runId} `));
    expect(own).toEqual(Array.from({ length: TURNS }, (_, i) => `${runId} ${i + 1}`));
  }

  it("is driven to its end", async () => {
    await start("whole");
    await ends("whole");
    expect(await call("whole", "start", { pipeline: "work", input: "go" })).toEqual({
      runId: "whole",
      existed: true,
    });
    await expect(call("whole", "start", { pipeline: "work", input: "other" })).rejects.toThrow("other input");
  });

  it("continues at its time, and no earlier", async () => {
    const notBefore = Date.now() + 1_000;
    await start("later", { notBefore });
    await vi.waitFor(async () =>
      expect(await restate.invocations("later")).toMatchObject([{ handler: "proceed", status: "scheduled" }]),
    );
    // However often it is told to, there is one plan.
    await wake(restate.ingress, "later");
    await wake(restate.ingress, "later");
    await vi.waitFor(async () =>
      expect(await restate.invocations("later")).toMatchObject([{ handler: "proceed", status: "scheduled" }]),
    );
    await ends("later");
    const [attempt] = await store.listAttempts("later");
    expect(attempt?.startedAt).toBeGreaterThanOrEqual(notBefore);
  });

  it("occupies nothing in Restate while it waits for an answer, and continues when it is woken", async () => {
    await start("asks", { pipeline: "asking" });
    await reaches("asks", "waiting");
    await vi.waitFor(async () => expect(await restate.invocations("asks")).toEqual([]));
    await store.answer("asks~1", "green");
    await wake(restate.ingress, "asks");
    await ends("asks");
  });

  it("gets a message that comes through Restate once", async () => {
    await start("told", { notBefore: Date.now() + 60_000 });
    const message = { message: { event: "paid", data: 7 }, id: "m-1", by: "bank" };
    const first = await call("told", "send", message);
    expect(first).toMatchObject({ messageId: "m-1", duplicate: false });
    expect(await call("told", "send", message)).toMatchObject({ messageId: "m-1", duplicate: true });
    await expect(call("nobody", "send", message)).rejects.toThrow("no run nobody");
    // An invocation for a run that does not exist fails for good, instead of being retried: nothing is left of it.
    await wake(restate.ingress, "nobody");
    await store.requestCancel("told");
    await wake(restate.ingress, "told");
    runIds.splice(runIds.indexOf("told"), 1);
  });

  it("that Restate never heard of is found by the sweep", async () => {
    const runner = new Runner(
      Pipeline.of(
        "work",
        Step.run("never", () => null),
      ),
      { store },
    );
    await runner.enqueue("go", { runId: "unheard" });
    await runner.enqueue("go", { runId: "unheard-later", notBefore: new Date(Date.now() + 300) });
    await runner.enqueue("go", { runId: "of-others", queue: "others" });
    runIds.push("unheard", "unheard-later");
    expect(await restate.invocations("unheard")).toEqual([]);
    expect(await sweep()).toContain("unheard");
    await vi.waitFor(async () => expect(await sweep()).toContain("unheard-later"), { timeout: 5_000 });
    await ends("unheard");
    await ends("unheard-later");
    expect((await store.getRun("of-others"))?.status).toBe("queued");
  });

  it("continues after the service was killed in a tool", async () => {
    await start("service-killed");
    await service.inTool("service-killed");
    await service.kill();
    await vi.waitFor(async () => expect(await sweep()).toContain("service-killed"), { timeout: 10_000 });
    await sweep();
    const waiting = await restate.invocations("service-killed");
    expect(waiting.filter(({ handler }) => handler === "advance")).toHaveLength(1);
    service = await ServiceProcess.start(order);
    await ends("service-killed");
  });

  it("continues after Restate was killed during a tool", async () => {
    await start("restate-killed");
    await service.inTool("restate-killed");
    await restate.kill();
    await restate.restart();
    await ends("restate-killed");
  });

  it("continues after both were killed", async () => {
    await start("both-killed");
    await service.inTool("both-killed");
    await Promise.all([service.kill(), restate.kill()]);
    [service] = await Promise.all([ServiceProcess.start(order), restate.restart()]);
    await ends("both-killed");
  });

  it.runIf(IS_FULL_TEST)(
    "is worked on by one attempt at a time, though Restate gives each up too early",
    async () => {
      const runner = new Runner(
        Pipeline.of(
          "work",
          Step.run("never", () => null),
        ),
        { store },
      );
      await runner.enqueue("go", { runId: "hurried", queue: "others" });
      runIds.push("hurried");
      await wake(restate.ingress, "hurried", { name: "impatient" });
      await ends("hurried");
    },
  );

  it.runIf(IS_FULL_TEST)("ends beside many others, whatever is killed meanwhile", PATIENCE, async () => {
    const many = Array.from({ length: 30 }, (_, i) => `many-${i}`);
    await Promise.all(many.map((runId) => start(runId)));
    for (let kills = 0; kills < 6; kills++) {
      await sleep(400);
      if (kills % 3 !== 0) await service.kill();
      if (kills % 3 !== 1) await restate.kill();
      if (kills % 3 !== 0) service = await ServiceProcess.start(order);
      if (kills % 3 !== 1) await restate.restart();
    }
    for (const runId of many) await ends(runId);
  });

  it("leaves nothing behind, and its history is whole", PATIENCE, async () => {
    await vi.waitFor(async () => expect(await restate.leftovers()).toEqual([]), { timeout: 60_000 });
    for (const runId of runIds) expect((await store.verify(runId)).problems).toEqual([]);
    expect(runIds.length).toBeGreaterThanOrEqual(8);
  });
});

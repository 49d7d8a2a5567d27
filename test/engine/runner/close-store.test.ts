// Closing a store while its workers run, and leases that were lost or left behind.

import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { LeaseLostError, RunBusyError, Runner, StoreUnavailableError, tool } from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { jumpingClock } from "../call/call-fixture.ts";
import { databaseFile, failureAs, fileStore, must, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

const YEAR_MS = 365 * 24 * 60 * 60_000;

/** An agent whose one tool waits until the test releases it. */
function slowAgent(recovery: "opaque" | "keyed" = "opaque") {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const tool = noteTool(
    async () => {
      begun.resolve();
      await gate.promise;
      return "noted";
    },
    { recovery },
  );
  const { agent, prompts } = scriptedAgent([noting("one"), noting("two"), { text: "End." }], {
    tools: { note: tool.note },
  });
  return { agent, prompts, begun: begun.promise, finish: gate.resolve, ...tool };
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(2);
}

describe("closing a store while a tool is running", () => {
  it("awaits the tool, stores its receipt, starts nothing else, and fails the run as resumable", async () => {
    const file = databaseFile();
    const store = await fileStore(file);
    const { agent, begun, finish, done, prompts } = slowAgent();
    const run = failureAs(StoreUnavailableError, new Runner(agent, { store }).run("Go", { runId: "r-1" }));
    await begun;
    const closed = store.close();
    finish();
    await closed;
    const error = await run;
    expect([error.details.reason, error.runId]).toEqual(["closed", "r-1"]);
    expect(error.message).toContain("resume it again");
    expect([done, prompts.length]).toEqual([["one"], 1]);
    const next = await fileStore(file);
    expect((await next.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["succeeded"]);
    expect(await next.isHeld("r-1")).toBe(false);
    const result = await new Runner(agent, { store: next }).run("Go");
    expect([result.runId, result.output, done]).toEqual(["r-1", "End.", ["one", "two"]]);
  });

  it("leaves a tool in doubt that outlives the grace period, and keeps lock and connection for its receipt", async () => {
    const file = databaseFile();
    const store = await fileStore(file);
    const { agent, begun, finish } = slowAgent();
    const run = failureAs(StoreUnavailableError, new Runner(agent, { store }).run("Go", { runId: "r-1" }));
    await begun;
    const other = await fileStore(file);
    const [before] = await other.listToolCalls("r-1");
    await store.close({ graceMs: 1 });
    const [doubted] = await other.listToolCalls("r-1");
    expect([doubted?.status, doubted?.endsBy], "its time limit is unchanged").toEqual([
      "in_doubt",
      before?.endsBy,
    ]);
    expect(await other.isHeld("r-1")).toBe(false);
    await expect(store.listRuns(), "the store still answers reads").resolves.toHaveLength(1);
    const locks = () => readdirSync(dirname(file)).filter((name) => name.includes("-owner-"));
    expect(locks()).toHaveLength(2);
    finish();
    await run;
    await until(async () => (await other.listToolCalls("r-1"))[0]?.status === "succeeded");
    expect(must((await other.listToolCalls("r-1"))[0]).receipt?.source).toBe("late");
    await until(() => locks().length === 1);
    await expect(store.listRuns()).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  it("charges an unanswered model request, and nothing that was not sent", async () => {
    const file = databaseFile();
    const store = await fileStore(file);
    const asked = Promise.withResolvers<void>();
    const { agent } = scriptedAgent(async () => {
      asked.resolve();
      return new Promise<never>(() => undefined);
    });
    void new Runner(agent, { store }).run("Go", { runId: "r-1" }).catch(() => undefined);
    await asked.promise;
    await store.close({ graceMs: 1 });
    const next = await fileStore(file);
    const [call] = await next.listModelCalls("r-1");
    expect(call?.charge).toMatchObject({ basis: "baseline", amount: must(call).reserved });
  });

  it("happens once if the store is closed twice", async () => {
    const store = await fileStore(databaseFile());
    await Promise.all([store.close(), store.close({ graceMs: 1 })]);
    await expect(store.listRuns()).rejects.toMatchObject({ details: { reason: "closed" } });
  });
});

describe("a lease that was lost to a clock step", () => {
  async function stepped() {
    const file = databaseFile();
    const clock = fakeClock();
    const now = () => clock.now();
    const { note, done } = noteTool(undefined, { recovery: "keyed" });
    const script = [noting("one"), noting("two"), { text: "End." }];
    const { agent } = scriptedAgent(script, { tools: { note } });
    const store = await fileStore(file, { now });
    const probe = (point: string, { turnIndex }: { readonly turnIndex: number }) => {
      if (point === "model:before-request" && turnIndex === 2) clock.setWall(clock.now() + 60_000);
    };
    await failureAs(LeaseLostError, new Runner(agent, { store, clock, probe }).run("Go", { runId: "r-1" }));
    clock.setWall(clock.now() - 60_000);
    return { file, clock, now, agent, done, store };
  }

  it.for(["with the same store", "with the store closed and opened again"])(
    "does not block the next run, %s",
    async (how) => {
      const { file, clock, now, agent, done, store } = await stepped();
      if (how !== "with the same store") await store.close();
      const next = how === "with the same store" ? store : await fileStore(file, { now });
      const result = await new Runner(agent, { store: next, clock }).run("Go");
      expect([result.runId, result.resumed, done]).toEqual(["r-1", true, ["one", "two"]]);
    },
  );

  it("lets a cancel end the run at once", async () => {
    const { file, now } = await stepped();
    const other = await fileStore(file, { now });
    expect(await other.requestCancel("r-1")).toMatchObject({ kind: "ended", run: { status: "cancelled" } });
  });
});

it("an attempt of a process that may be alive can land for its whole time, by the new owner's own clock", async () => {
  const file = databaseFile();
  const [timeoutMs, landsWithinMs] = [5_000, 1_000];
  const looks: string[] = [];
  const begun = Promise.withResolvers<void>();
  const sender = (send: () => unknown) =>
    scriptedAgent([noting("one"), { text: "End." }], {
      tools: {
        note: tool({
          name: "note",
          description: "Writes a line down.",
          inputSchema: z.object({ text: z.string() }),
          recovery: "reconcile",
          timeoutMs,
          landsWithinMs,
          execute: send,
          reconcile: () => {
            looks.push("look");
            return { status: "absent" as const };
          },
        }),
      },
    }).agent;
  const slow = sender(() => {
    begun.resolve();
    return new Promise(() => undefined);
  });
  const store = await fileStore(file);
  void new Runner(slow, { store }).run("Go", { runId: "r-1" }).catch(() => undefined);
  await begun.promise;
  // Its wall clock is a year ahead: by that, every attempt would have landed long ago.
  const clock = jumpingClock();
  clock.setWall(Date.now() + YEAR_MS);
  let watched = 0;
  const other = await fileStore(file, { now: () => clock.now(), monotonic: () => (watched += 30_000) });
  expect(await other.isHeld("r-1"), "the first look starts the watch").toBe(true);
  const result = await new Runner(
    sender(() => "sent"),
    { store: other, clock },
  ).resume("r-1");
  expect([result.output, looks]).toEqual(["End.", ["look", "look"]]);
  expect(clock.slept).toEqual([timeoutMs + landsWithinMs]);
});

it("a run that was claimed by a clock a year ahead is resumed at once after a close", async () => {
  const file = databaseFile();
  const clock = fakeClock(Date.UTC(2026, 0, 1) + YEAR_MS);
  const now = () => clock.now();
  const store = await fileStore(file, { now });
  const { agent, begun } = slowAgent("keyed");
  void new Runner(agent, { store, clock }).run("Go", { runId: "r-1" }).catch(() => undefined);
  await begun;
  clock.setWall(clock.now() - YEAR_MS);
  const other = await fileStore(file, { now });
  await failureAs(RunBusyError, new Runner(agent, { store: other, clock }).run("Go"));
  await store.close({ graceMs: 1 });
  const { agent: quick } = scriptedAgent([noting("one"), noting("two"), { text: "End." }], {
    tools: { note: noteTool(undefined, { recovery: "keyed" }).note },
  });
  expect((await new Runner(quick, { store: other, clock }).run("Go")).runId).toBe("r-1");
});

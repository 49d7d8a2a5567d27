import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { claimOptions, TIMEOUT_MS } from "../../../src/testing/store/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

const HOUR_MS = 3_600_000;

/** A process that holds run "r", with two running calls and one between two attempts. */
async function holdCalls(leaseMs: number): Promise<{ file: string; child: Child }> {
  const file = join(tempFolder(), "pawl.db");
  const child = Child.start("hold-call", file, "r", String(leaseMs));
  expect(await child.line()).toBe("held");
  return { file, child };
}

/** Another process's store, with a clock of its own. */
async function opened(file: string): Promise<{ store: Store; clock: { now: number; monotonic: number } }> {
  const clock = { now: Date.now(), monotonic: 0 };
  const store = await openStore(`file:${file}`, { now: () => clock.now, monotonic: () => clock.monotonic });
  onTestFinished(() => store.close());
  const [call] = await store.listToolCalls("r");
  clock.now = (call?.startedAt ?? 0) + 5;
  return { store, clock };
}

/** How long each call may still run, measured from its dispatch. */
async function timesLeft(store: Store): Promise<[string, number][]> {
  const calls = await store.listToolCalls("r");
  return calls.map(({ status, startedAt, endsBy }) => [status, (endsBy ?? 0) - (startedAt ?? 0)]);
}

async function claim(store: Store): Promise<void> {
  expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
}

describe("a call that a process was running", () => {
  it("has no more time once the process is dead", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    const { store, clock } = await opened(file);
    await child.kill();
    await claim(store);
    const calls = await store.listToolCalls("r");
    expect(calls.map(({ status }) => status)).toEqual(["in_doubt", "in_doubt", "in_doubt"]);
    expect([calls[0]?.endsBy, calls[2]?.endsBy]).toEqual([clock.now, clock.now]);
    expect(calls[1]?.endsBy, "an earlier end does not move").toBeLessThanOrEqual(clock.now);
  });

  it("has no more time once the process is dead, even if it died before this one opened the store", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    await child.kill();
    const { store, clock } = await opened(file);
    await claim(store);
    const calls = await store.listToolCalls("r");
    expect(calls.map(({ status }) => status)).toEqual(["in_doubt", "in_doubt", "in_doubt"]);
    expect([calls[0]?.endsBy, calls[2]?.endsBy]).toEqual([clock.now, clock.now]);
  });

  it("is left running while the process lives, and in doubt once it is dead, after a cancel request", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    const { store, clock } = await opened(file);
    const underWay = ["r/draft#1.1", "r/draft#1.2", "r/draft#0.1"];
    expect(await store.requestCancel("r")).toMatchObject({ kind: "requested", underWay });
    expect((await store.listToolCalls("r")).map(({ status }) => status)).toEqual(
      Array<string>(3).fill("running"),
    );
    await child.kill();
    expect(await store.requestCancel("r")).toMatchObject({ kind: "ended", inDoubt: underWay });
    const calls = await store.listToolCalls("r");
    expect(calls.map(({ status }) => status)).toEqual(Array<string>(3).fill("in_doubt"));
    expect([calls[0]?.endsBy, calls[2]?.endsBy]).toEqual([clock.now, clock.now]);
  });

  it("is in doubt when a claim finds the cancel request of a dead process", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    const { store } = await opened(file);
    await store.requestCancel("r", { by: "Ann" });
    await child.kill();
    const outcome = await store.claimRun("r", claimOptions({ from: ["running", "queued"] }));
    expect(outcome).toMatchObject({ kind: "refused", run: { status: "cancelled", owner: null } });
    expect((await store.listEvents("r")).at(-1)).toMatchObject({
      type: "run.cancelled",
      data: { by: "Ann" },
    });
  });

  it("may run until its timeout if the process is only stopped", async () => {
    const { file, child } = await holdCalls(1);
    const { store, clock } = await opened(file);
    child.freeze();
    expect((await store.claimRun("r", claimOptions())).kind).toBe("busy");
    clock.monotonic += 1;
    await claim(store);
    const [turn, , code] = await timesLeft(store);
    expect([turn, code]).toEqual([
      ["in_doubt", TIMEOUT_MS],
      ["in_doubt", TIMEOUT_MS],
    ]);
  });

  it("never gets more time than its timeout, however late its process is found dead", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    const { store, clock } = await opened(file);
    await child.kill();
    clock.now += 10 * TIMEOUT_MS;
    await claim(store);
    const [turn, , code] = await timesLeft(store);
    expect([turn, code]).toEqual([
      ["in_doubt", TIMEOUT_MS],
      ["in_doubt", TIMEOUT_MS],
    ]);
  });
});

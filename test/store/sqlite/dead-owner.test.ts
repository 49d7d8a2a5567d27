import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { claimOptions, TIMEOUT_MS } from "../../../src/testing/store-conformance/sample-run.ts";
import { Child } from "./child.ts";
import { tempFolder } from "./temp-folder.ts";

const HOUR_MS = 3_600_000;

/** A process with run "r" in its hands, two of its calls under way and one between two tries. */
async function holdCalls(leaseMs: number): Promise<{ file: string; child: Child }> {
  const file = join(tempFolder(), "pawl.db");
  const child = Child.start("hold-call", file, "r", String(leaseMs));
  expect(await child.line()).toBe("held");
  return { file, child };
}

/** Another process's store, with a clock of its own. */
async function opened(file: string): Promise<{ store: Store; clock: { now: number } }> {
  const clock = { now: Date.now() };
  const store = await openStore(`file:${file}`, { now: () => clock.now });
  onTestFinished(() => store.close());
  const [call] = await store.listToolCalls("r");
  clock.now = (call?.startedAt ?? 0) + 5;
  return { store, clock };
}

/** How long each call may be at work, seen from when it was dispatched. */
async function timesLeft(store: Store): Promise<[string, number][]> {
  const calls = await store.listToolCalls("r");
  return calls.map(({ status, startedAt, endsBy }) => [status, (endsBy ?? 0) - (startedAt ?? 0)]);
}

async function claim(store: Store): Promise<void> {
  expect((await store.claimRun("r", claimOptions())).kind).toBe("claimed");
}

describe("what a process had under way", () => {
  it("can land no more once the process is dead", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    const { store, clock } = await opened(file);
    await child.kill();
    await claim(store);
    const calls = await store.listToolCalls("r");
    expect(calls.map(({ status }) => status)).toEqual(["in_doubt", "in_doubt", "in_doubt"]);
    expect([calls[0]?.endsBy, calls[2]?.endsBy]).toEqual([clock.now, clock.now]);
    expect(calls[1]?.endsBy, "what had ended before has not ended later").toBeLessThanOrEqual(clock.now);
  });

  it("can land no more once the process is dead, also where its lock was swept away before", async () => {
    const { file, child } = await holdCalls(HOUR_MS);
    await child.kill();
    const { store, clock } = await opened(file);
    await claim(store);
    const calls = await store.listToolCalls("r");
    expect(calls.map(({ status }) => status)).toEqual(["in_doubt", "in_doubt", "in_doubt"]);
    expect([calls[0]?.endsBy, calls[2]?.endsBy]).toEqual([clock.now, clock.now]);
  });

  it("may be at work for as long as it was given where the process only stands still", async () => {
    const { file, child } = await holdCalls(1);
    const { store } = await opened(file);
    child.freeze();
    await claim(store);
    const [turn, , code] = await timesLeft(store);
    expect([turn, code]).toEqual([
      ["in_doubt", TIMEOUT_MS],
      ["in_doubt", TIMEOUT_MS],
    ]);
  });

  it("is not said to end later than it was given when its process is found dead long after", async () => {
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

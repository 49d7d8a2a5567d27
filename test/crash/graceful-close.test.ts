import { describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { asError, type CrashFolder, crashFolder } from "./harness/crash-folder.ts";

const INPUT = "town";
const run = { scenario: "errands", act: { do: "run", input: INPUT } } as const;

/** How the next process may continue the interrupted run. */
const WAYS = {
  "run without an id": () => run,
  "run by its id": (runId: string) => ({ ...run, act: { ...run.act, runId } }),
  resume: (runId: string) => ({ scenario: "errands", act: { do: "resume", runId } }) as const,
} as const;

async function onlyRun(folder: CrashFolder): Promise<string> {
  const [first, ...others] = await folder.withStore((store) => store.listRuns());
  expect(others).toEqual([]);
  return first?.runId ?? "";
}

describe("a process that closes its store on SIGTERM", () => {
  test.for(sampled(Object.entries(WAYS), 3))(
    "has its run continued at once by %s, and nothing happens twice",
    async ([, way]) => {
      const folder = crashFolder();
      const wait = { at: "before-effect", turn: 3, tool: "pay" } as const;
      const first = folder.start({ ...run, wait, closesWithin: 10_000 });
      await folder.untilWaiting();
      first.kill("SIGTERM");
      // Calls in progress are awaited, and their receipts are stored before the leases are released.
      folder.allow("release");
      expect(await first.end).toEqual({ kind: "closed" });
      const result = await folder.result(way(await onlyRun(folder)));
      expect(result).toMatchObject({ status: "succeeded", resumed: true });
      expect(await onlyRun(folder)).toBe(result.runId);
      expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
      expect([folder.tries("pay"), folder.outside().length]).toEqual([4, 4]);
    },
  );

  test("charges nothing for a turn that was reserved but not requested", async () => {
    const folder = crashFolder();
    const usage = { inputTokens: 20, outputTokens: 5 };
    const wait = { at: "before-effect", turn: 2, tool: "pay" } as const;
    const first = folder.start({ ...run, wait, variant: { usage }, closesWithin: 10_000 });
    await folder.untilWaiting();
    first.kill("SIGTERM");
    folder.allow("release");
    await first.end;
    const result = await folder.result({ ...run, variant: { usage } });
    expect(result.usage).toMatchObject({ charged: { tokens: 125 }, modelCalls: 5 });
  });

  test("leaves a call that outlives the grace period in doubt, and a person is asked", async () => {
    const folder = crashFolder();
    const wait = { at: "before-effect", turn: 2, tool: "pay", ignoresAbort: true } as const;
    const variant = { payRecovery: "opaque" } as const;
    const first = folder.start({ ...run, wait, variant, closesWithin: 20 });
    await folder.untilWaiting();
    first.kill("SIGTERM");
    expect(await first.end).toEqual({ kind: "closed" });
    const result = await folder.result({ ...run, variant });
    expect(result).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt" }] });
    expect(folder.tries("pay")).toBe(2);
  });

  test("records the interruption as the last event of its run", async () => {
    const folder = crashFolder();
    const wait = { at: "before-effect", turn: 2, tool: "pay" } as const;
    const first = folder.start({ ...run, wait, closesWithin: 10_000 });
    await folder.untilWaiting();
    first.kill("SIGTERM");
    folder.allow("release");
    await first.end;
    const events = await folder.withStore(async (store) => store.listEvents(await onlyRun(folder)));
    expect(events.at(-1)?.type).toBe("run.interrupted");
  });
});

describe("a process that is killed between two turns", () => {
  const usage = { inputTokens: 20, outputTokens: 5 };

  test("is charged what the provider reported, and no model call is counted twice", async () => {
    const folder = crashFolder();
    const dies = { point: "model:before-request", turn: 4 } as const;
    for (let kills = 0; kills < 2; kills++) await folder.killed({ ...run, variant: { usage }, crash: dies });
    const result = await folder.result({ ...run, variant: { usage } });
    expect(folder.lines("asked")).toHaveLength(5);
    expect(result.usage).toMatchObject({ charged: { tokens: 125 }, modelCalls: 5 });
  });

  test("leaves a call that was journaled but never sent not in doubt, whatever its recovery", async () => {
    const folder = crashFolder();
    const variant = { payRecovery: "opaque" } as const;
    await folder.killed({ ...run, variant, crash: { point: "turn:journaled", turn: 2 } });
    const result = await folder.result({ ...run, variant });
    expect(result).toMatchObject({ status: "succeeded", waits: [] });
    expect(folder.outside()).toHaveLength(4);
  });

  test("is charged its reservation for a request that was sent", async () => {
    const folder = crashFolder();
    const wait = { at: "model", turn: 3 } as const;
    const first = folder.start({ ...run, wait, variant: { usage } });
    await folder.untilWaiting();
    first.kill("SIGKILL");
    await first.end;
    const result = await folder.result({ ...run, variant: { usage } });
    expect(result.usage.modelCalls).toBe(6);
    expect(result.usage.charged.tokens).toBeGreaterThan(125);
  });
});

describe("two customers with equal inputs, in one server whose runs have keys", () => {
  const ask = (key: string) =>
    ({ scenario: "errands", identity: "required", act: { do: "run", input: INPUT, key } }) as const;

  const orders = [
    ["ann", "bob"],
    ["bob", "ann"],
  ];

  test.for(sampled(orders))(
    "have a run each, when %s's was killed and %s asks first",
    async ([killed = "", other = ""]) => {
      const folder = crashFolder();
      await folder.killed({ ...ask(killed), crash: { point: "turn:committed", turn: 2 } });
      const second = await folder.result(ask(other));
      const first = await folder.result(ask(killed));
      expect(new Set([first.runId, second.runId]).size).toBe(2);
      expect(first.resumed).toBe(true);
      expect(second.resumed).toBe(false);
      expect(folder.outside()).toHaveLength(8);
    },
  );

  test("are refused if they name no run", async () => {
    const folder = crashFolder();
    const error = asError(await folder.end({ ...run, identity: "required" }));
    expect(error.message).toContain("names no run");
  });
});

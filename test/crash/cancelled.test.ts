import { describe, expect, test } from "vitest";
import { asResult, type CrashFolder, crashFolder, type Worker } from "./harness/crash-folder.ts";
import type { Act, Variant, WaitSite } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "errands-1" };
const RESUME: Act = { do: "resume", runId: "errands-1" };
const EVERY_ORDER = ["town/1", "town/2", "town/3", "town/4"];

/** Starts a worker, and sends it SIGTERM while it waits; its handler aborts the run's signal. */
async function terminated(folder: CrashFolder, wait: WaitSite, variant: Variant = {}): Promise<Worker> {
  const worker = folder.start({ scenario: "errands", act: RUN, wait, variant, trace: true });
  await folder.untilWaiting();
  // The other call of the turn has its receipt.
  if (wait.at !== "model")
    await folder.until(() =>
      folder
        .lines("reached")
        .some(({ point, turn }) => point === "tool:receipt-stored" && turn === wait.turn),
    );
  worker.kill("SIGTERM");
  return worker;
}

async function assertCancelled(folder: CrashFolder, worker: Worker): Promise<void> {
  expect(asResult(await worker.end)).toMatchObject({ status: "cancelled", output: null, resumed: false });
  const run = await folder.withStore((store) => store.getRun("errands-1"));
  expect(run).toMatchObject({ status: "cancelled", owner: null, reserved: { tokens: 0, microDollars: 0 } });
}

function turnsAsked(folder: CrashFolder): number[] {
  return folder.lines("asked").map(({ turn }) => turn);
}

describe("a process that gets SIGTERM", () => {
  test("while it waits for the model leaves a cancelled run that can be resumed", async () => {
    const folder = crashFolder();
    await assertCancelled(folder, await terminated(folder, { at: "model", turn: 3 }));
    const before = folder.witness();
    // `run` only returns its status.
    expect(await folder.result({ scenario: "errands", act: RUN })).toMatchObject({ status: "cancelled" });
    expect(folder.witness()).toEqual(before);

    const result = await folder.result({ scenario: "errands", act: RESUME });
    expect(result).toMatchObject({ status: "succeeded", resumed: true });
    expect(turnsAsked(folder)).toEqual([1, 2, 3, 3, 4, 5]);
    expect(folder.outside()).toEqual(EVERY_ORDER);
    expect(folder.tries("pay")).toBe(4);
    // The provider may have worked on the request: it is charged.
    const calls = await folder.withStore((store) => store.listModelCalls("errands-1"));
    const lost = calls.filter(({ charge }) => charge?.basis === "baseline");
    expect(lost.map(({ turnIndex }) => turnIndex)).toEqual([3]);
  });

  test("while a tool waits leaves that call to its recovery, and keeps the other's receipt", async () => {
    const folder = crashFolder();
    const worker = await terminated(folder, { at: "before-effect", tool: "pay", turn: 2 });
    await assertCancelled(folder, worker);
    const result = await folder.result({ scenario: "errands", act: RESUME });
    expect(result.status).toBe("succeeded");
    expect(turnsAsked(folder)).toEqual([1, 2, 3, 4, 5]);
    expect(folder.tries("pay", "town/2")).toBe(2);
    expect(folder.effects("look", "town/2")).toBe(1);
    expect(folder.outside()).toEqual(EVERY_ORDER);
  });

  test("while a tool works that ignores its signal lets it end, and stores its receipt", async () => {
    const folder = crashFolder();
    const worker = await terminated(folder, {
      at: "before-effect",
      tool: "pay",
      turn: 2,
      ignoresAbort: true,
    });
    folder.allow("release");
    await assertCancelled(folder, worker);
    expect(folder.outside()).toEqual(["town/1", "town/2"]);
    const result = await folder.result({ scenario: "errands", act: RESUME });
    expect(result.status).toBe("succeeded");
    expect(turnsAsked(folder)).toEqual([1, 2, 3, 4, 5]);
    expect(folder.tries("pay")).toBe(4);
    expect(folder.effects("look")).toBe(4);
  });

  test("in a tool that may not be repeated leaves a call in doubt that the next process asks about", async () => {
    const folder = crashFolder();
    const variant: Variant = { payRecovery: "opaque" };
    const worker = await terminated(folder, { at: "after-effect", tool: "pay", turn: 2 }, variant);
    await assertCancelled(folder, worker);
    const result = await folder.result({ scenario: "errands", act: RESUME, variant });
    expect(result).toMatchObject({ status: "waiting", resumed: true });
    expect(result.waits).toMatchObject([{ kind: "in_doubt", toolCallId: "errands-1/errands#2.1" }]);
    expect(folder.tries("pay", "town/2")).toBe(1);
    expect(folder.effects("look", "town/2")).toBe(1);
    // The attempt is recorded as aborted, beside the wait.
    const tries = await folder.withStore((store) => store.listToolCallAttempts("errands-1"));
    expect(tries).toMatchObject([{ toolCallId: "errands-1/errands#2.1", attempt: 1, outcome: "aborted" }]);
  });

  test("is not treated as dead: run without an id starts another run", async () => {
    const folder = crashFolder();
    await assertCancelled(folder, await terminated(folder, { at: "model", turn: 2 }));
    const result = await folder.result({ scenario: "errands", act: { do: "run", input: "town" } });
    expect(result.resumed).toBe(false);
    expect(result.runId).not.toBe("errands-1");
  });
});

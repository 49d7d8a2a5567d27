import { describe, expect, test } from "vitest";
import type { RecoveryClass, Settlement } from "../../src/index.ts";
import { sampled, sampledPairs } from "../full-test.ts";
import { asError, asResult, type CrashFolder, crashFolder, type Worker } from "./harness/crash-folder.ts";
import { type EffectServer, effectServer } from "./harness/effect-server.ts";
import type { Act, BookingVariant, CrashSite, Variant, WaitSite } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "window", runId: "booking-1" };
const RESUME: Act = { do: "resume", runId: "booking-1" };
/** For a process that must wait until the lease of the silent one has expired. */
const TAKE_OVER: Act = { ...RESUME, wait: true };
const BOOKED = "Done: window is booking 1.";
/** Long enough for a worker on a busy machine, and short to wait for. */
const LEASE_MS = 500;

const ASKERS = [
  { asker: "an agent", scenario: "bookings", turn: 1, callId: "booking-1/booking#1.1" },
  { asker: "a code step", scenario: "bookingsByCode", turn: 0, callId: "booking-1/booking#0.1" },
] as const;
type Asker = (typeof ASKERS)[number];
const PLACES = ["before-effect", "after-effect"] as const;

function variantOf(server: EffectServer, recovery: RecoveryClass, more: Partial<BookingVariant> = {}) {
  return { booking: { server: server.url, recovery, ...more } } satisfies Variant;
}

/** Starts a worker that stops, by SIGSTOP, when it reaches the point. */
async function stoppedAt(
  folder: CrashFolder,
  { scenario }: Asker,
  variant: Variant,
  stop: CrashSite,
  act = RUN,
): Promise<Worker> {
  const worker = folder.start({ scenario, act, variant, stop, leaseMs: LEASE_MS });
  await folder.untilWaiting();
  return worker;
}

/** Starts a worker and stops it, by SIGSTOP, inside its tool. */
async function stoppedInside(
  folder: CrashFolder,
  { scenario, turn }: Asker,
  variant: Variant,
  at: WaitSite["at"],
): Promise<Worker> {
  const wait = { at, turn, tool: "book" };
  const worker = folder.start({ scenario, act: RUN, variant, wait, leaseMs: LEASE_MS });
  await folder.untilWaiting();
  await folder.stopWaiting();
  return worker;
}

/** Continues the stopped worker. It finds that it has lost the run, whatever it was about to do. */
async function continued(folder: CrashFolder, worker: Worker): Promise<void> {
  folder.allow("release");
  worker.kill("SIGCONT");
  expect(asError(await worker.end)).toMatchObject({
    name: "LeaseLostError",
    details: { runId: "booking-1", epoch: 1 },
  });
}

function stored(folder: CrashFolder) {
  return folder.withStore(async (store) => ({
    run: await store.getRun("booking-1"),
    calls: await store.listToolCalls("booking-1"),
    tries: await store.listToolCallAttempts("booking-1"),
    waits: await store.listWaits("booking-1"),
    events: await store.listEvents("booking-1"),
  }));
}

describe("a process that is stopped before the gateway's last check of the lease, and continued after another took the run,", () => {
  const before: CrashSite = { point: "tool:before-execute" };

  test.for(sampled(ASKERS))("dispatches nothing: a keyed call of $asker has one effect", async (asker) => {
    const [folder, server] = [crashFolder(), await effectServer({ keyed: true })];
    const variant = variantOf(server, "keyed");
    const sleeper = await stoppedAt(folder, asker, variant, before);
    const result = await folder.result({ scenario: asker.scenario, act: TAKE_OVER, variant });
    expect(result).toMatchObject({ status: "succeeded", output: BOOKED });
    const end = await stored(folder);

    await continued(folder, sleeper);
    expect(server.log.map(({ did }) => did)).toEqual(["effect"]);
    expect(folder.tries("book")).toBe(1);
    // Its write is refused, so nothing is stored.
    expect(await stored(folder)).toEqual(end);
    expect(end.calls).toMatchObject([{ attempt: 2, receipt: { source: "tool" } }]);
  });

  const others = sampled(ASKERS, 2, 1);
  test.for(others)("dispatches nothing: an opaque call of $asker still waits for a person", async (asker) => {
    const [folder, server] = [crashFolder(), await effectServer()];
    const variant = variantOf(server, "opaque");
    const sleeper = await stoppedAt(folder, asker, variant, before);
    const asking = await folder.result({ scenario: asker.scenario, act: TAKE_OVER, variant });
    expect(asking.waits).toMatchObject([{ kind: "in_doubt", toolCallId: asker.callId }]);
    const end = await stored(folder);

    await continued(folder, sleeper);
    expect(server.log).toEqual([]);
    expect(await stored(folder)).toEqual(end);
    expect(end.run).toMatchObject({ status: "waiting", epoch: 2 });
  });

  test("writes nothing: the start of a call that waited is refused, and the call has one effect", async () => {
    const [folder, server] = [crashFolder(), await effectServer({ keyed: true })];
    const [asker] = ASKERS;
    const variant: Variant = {
      ...variantOf(server, "keyed", { calls: ["look", "book"] }),
      maxParallelToolCalls: 1,
    };
    const sleeper = await stoppedAt(folder, asker, variant, { point: "tool:before-start" });
    const result = await folder.result({ scenario: asker.scenario, act: TAKE_OVER, variant });
    expect(result.status).toBe("succeeded");
    const end = await stored(folder);

    await continued(folder, sleeper);
    expect(server.log.map(({ did }) => did)).toEqual(["effect"]);
    // The look that it made before it was stopped is stored with its attempt.
    const after = await stored(folder);
    expect(after.calls).toEqual(end.calls);
    expect(after.calls.map(({ attempt }) => attempt)).toEqual([2, 1]);
    expect(after.run).toMatchObject({ status: "succeeded", epoch: 2 });
  });
});

describe("a process that is stopped inside its tool, and continued after another took the run,", () => {
  test.for(sampledPairs(ASKERS, PLACES).map(([asker, at]) => ({ ...asker, at, from: asker })))(
    "sends under the same key, $at, so a keyed call of $asker has one effect",
    async ({ from, at }) => {
      const [folder, server] = [crashFolder(), await effectServer({ keyed: true })];
      const variant = variantOf(server, "keyed");
      const sleeper = await stoppedInside(folder, from, variant, at);
      const result = await folder.result({ scenario: from.scenario, act: TAKE_OVER, variant });
      expect(result).toMatchObject({ status: "succeeded", output: BOOKED });
      const end = await stored(folder);

      await continued(folder, sleeper);
      expect(server.log.map(({ did }) => did)).toEqual(["effect", "dropped"]);
      expect(new Set(server.log.map(({ key }) => key)).size).toBe(1);
      const after = await stored(folder);
      // The receipt stays. The outcome of the other attempt is stored with that attempt.
      expect({ run: after.run?.output, calls: after.calls }).toEqual({ run: BOOKED, calls: end.calls });
      expect(after.calls).toMatchObject([{ attempt: 2, receipt: { source: "tool" } }]);
      expect(after.tries).toMatchObject([
        {
          attempt: 1,
          outcome: "lost",
          late: { status: "succeeded", output: { value: "window is booking 1" } },
        },
      ]);
    },
  );

  test.for(sampled(ASKERS))(
    "settles an opaque call of $asker that is still in doubt, late",
    async (asker) => {
      const [folder, server] = [crashFolder(), await effectServer()];
      const variant = variantOf(server, "opaque");
      const sleeper = await stoppedInside(folder, asker, variant, "after-effect");
      const asking = await folder.result({ scenario: asker.scenario, act: TAKE_OVER, variant });
      expect(asking).toMatchObject({ status: "waiting", waits: [{ kind: "in_doubt", status: "open" }] });

      await continued(folder, sleeper);
      const { run, calls, waits } = await stored(folder);
      expect(run).toMatchObject({ status: "queued", epoch: 2, owner: null });
      expect(calls).toMatchObject([{ status: "succeeded", attempt: 1, receipt: { source: "late" } }]);
      expect(waits.map(({ status }) => status)).toEqual(["withdrawn"]);
      // It is queued, so even a plain `run` resumes it.
      const result = await folder.result({ scenario: asker.scenario, act: RUN, variant });
      expect(result).toMatchObject({ status: "succeeded", output: BOOKED, waits: [] });
      expect(server.log.map(({ did }) => did)).toEqual(["effect"]);
    },
  );

  test.for(sampled(ASKERS, 2, 1))(
    "lands while the other looks it up: a call of $asker is found and not sent again",
    async (asker) => {
      const [folder, server] = [crashFolder(), await effectServer()];
      // The stopped process may still send until its timeout: the look-up waits for that long.
      const variant = variantOf(server, "reconcile", { timeoutMs: 4_000 });
      const sleeper = await stoppedInside(folder, asker, variant, "before-effect");
      const other = folder.start({ scenario: asker.scenario, act: TAKE_OVER, variant });
      await folder.until(() => server.lookUps.length === 1);

      await continued(folder, sleeper);
      expect(asResult(await other.end)).toMatchObject({ status: "succeeded", output: BOOKED, waits: [] });
      expect(server.effects).toEqual(["window"]);
      expect(server.lookUps[0]).toBe(false);
      expect((await stored(folder)).calls).toMatchObject([{ attempt: 1, receipt: { source: "late" } }]);
    },
  );

  test.for<{ settlement: Settlement; message: string }>([
    { settlement: { as: "succeeded", result: "booked by telephone" }, message: "booked by telephone" },
    { settlement: { as: "failed", why: "They are closed." }, message: "settled as failed: They are closed." },
  ])(
    "is only evidence if a person has settled the call as $settlement.as",
    async ({ settlement, message }) => {
      const [folder, server] = [crashFolder(), await effectServer()];
      const [asker] = ASKERS;
      const variant = variantOf(server, "opaque");
      const sleeper = await stoppedInside(folder, asker, variant, "after-effect");
      await folder.result({ scenario: asker.scenario, act: TAKE_OVER, variant });
      await folder.withStore((store) => store.settle(asker.callId, settlement, { by: "maria" }));
      const settled = await stored(folder);
      expect(settled.run).toMatchObject({ status: "queued" });

      await continued(folder, sleeper);
      const { run, calls, tries, waits } = await stored(folder);
      expect({ run: run?.status, calls, waits }).toEqual({
        run: "queued",
        calls: settled.calls,
        waits: settled.waits,
      });
      expect(calls).toMatchObject([{ receipt: { source: "person" } }]);
      expect(tries).toMatchObject([
        { attempt: 1, late: { status: "succeeded", output: { value: "window is booking 1" } } },
      ]);
      const result = await folder.result({ scenario: asker.scenario, act: RESUME, variant });
      expect(result.status).toBe("succeeded");
      expect(result.output).toContain(message);
      expect(server.effects).toEqual(["window"]);
    },
  );

  test("counts if a person chose a retry, and no worker has started it", async () => {
    const [folder, server] = [crashFolder(), await effectServer()];
    const [asker] = ASKERS;
    const variant = variantOf(server, "opaque");
    const sleeper = await stoppedInside(folder, asker, variant, "after-effect");
    await folder.result({ scenario: asker.scenario, act: TAKE_OVER, variant });
    await folder.withStore((store) => store.settle(asker.callId, { as: "retry" }));

    await continued(folder, sleeper);
    const result = await folder.result({ scenario: asker.scenario, act: RESUME, variant });
    expect(result).toMatchObject({ status: "succeeded", output: BOOKED });
    expect((await stored(folder)).calls).toMatchObject([{ attempt: 1, receipt: { source: "late" } }]);
    expect(server.effects).toEqual(["window"]);
  });
});

describe("a tool that blocks its process for longer than the lease", () => {
  test.for(sampledPairs(ASKERS, [...PLACES].reverse()).map(([asker, at]) => ({ ...asker, at })))(
    "loses the run, notices it, and has no second effect ($asker, $at)",
    async ({ scenario, turn, at }) => {
      const [folder, server] = [crashFolder(), await effectServer({ keyed: true })];
      const variant = variantOf(server, "keyed");
      const wait = { at, turn, tool: "book", blocks: true };
      const blocked = folder.start({ scenario, act: RUN, variant, wait, leaseMs: LEASE_MS });
      await folder.untilWaiting();
      const result = await folder.result({ scenario, act: TAKE_OVER, variant });
      expect(result).toMatchObject({ status: "succeeded", output: BOOKED });

      folder.allow("release");
      expect(asError(await blocked.end)).toMatchObject({ name: "LeaseLostError", details: { epoch: 1 } });
      expect(server.log.map(({ did }) => did)).toEqual(["effect", "dropped"]);
      const { run, calls } = await stored(folder);
      expect(run).toMatchObject({ status: "succeeded", epoch: 2, output: BOOKED });
      expect(calls).toMatchObject([{ status: "succeeded", attempt: 2, receipt: { source: "tool" } }]);
    },
  );
});

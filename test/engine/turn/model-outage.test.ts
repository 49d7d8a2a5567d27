// A provider that takes no requests for a while is waited for, at no charge: with the real provider package against a
// server that refuses, is overloaded, or is not there.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  agent,
  BudgetExceededError,
  Deadline,
  DeadlineExceededError,
  ModelCallError,
  type RunEvent,
  Runner,
  type RunnerOptions,
  type Store,
  StoreUnavailableError,
} from "../../../src/index.ts";
import { fakeClock } from "../../../src/testing/index.ts";
import { answer, FakeOpenAiServer, raw, refusal } from "../../adapters/ai-sdk/fake-openai-server.ts";
import { openAiModel } from "../../adapters/ai-sdk/model-request.ts";
import { drainEventLoop, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { databaseFile, failureAs, fileStore, must } from "../run-fixture.ts";

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const NOTHING = { tokens: 0, microDollars: 0 };

let server: FakeOpenAiServer;
let clock: ReturnType<typeof jumpingClock>;
let store: Store;
let events: RunEvent[];

beforeEach(async () => {
  server = await FakeOpenAiServer.start();
  clock = jumpingClock();
  store = await timedStore(clock);
  events = [];
});

afterEach(async () => {
  await server.close().catch(() => undefined);
  vi.restoreAllMocks();
});

function workerOf(baseUrl = server.baseUrl) {
  return agent({ name: "worker", instructions: "You work.", model: openAiModel(baseUrl) });
}

function runnerOf(options: RunnerOptions = {}) {
  const onEvent = (event: RunEvent) => events.push(event);
  return new Runner(workerOf(), { store, clock, random: () => 1, onEvent, ...options });
}

const failures = () => events.filter((event) => event.type === "model.failed");
const slept = () => clock.slept.reduce((sum, ms) => sum + ms, 0);

/** Each attempt's basis and charge; and nothing may be left reserved. */
async function charges(of = store) {
  expect(must(await of.getRun("r-1")).reserved).toEqual(NOTHING);
  return (await of.listModelCalls("r-1")).map(({ charge }) => [charge?.basis, charge?.amount.tokens]);
}

describe("a provider that takes no requests", () => {
  it.each([
    [429, "refused the request for now (429): not now."],
    [503, "is unavailable (503): not now."],
    [529, "is unavailable (529): not now."],
  ])("and answers %i is asked until it answers, more often than maxModelAttempts", async (status, what) => {
    server.next(...Array.from({ length: 10 }, () => refusal(status, "not now")), answer("Hello"));
    const began = clock.now();
    const { output } = await runnerOf({ maxModelAttempts: 2 }).run("Go", { runId: "r-1" });
    expect(output).toBe("Hello");
    expect(await charges()).toEqual([...Array.from({ length: 10 }, () => ["none", 0]), ["provider", 18]]);
    expect(must(await store.getRun("r-1")).charged.tokens).toBe(18);
    // 0.5, 1, 2 … s, and at most one request in a minute.
    expect(failures().map(({ retryInMs }) => retryInMs)).toEqual(
      [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * SECOND),
    );
    expect(failures().map(({ outageSince }) => outageSince)).toEqual(Array.from({ length: 10 }, () => began));
    expect(failures()[0]?.message).toBe(`fake.chat/fake-model ${what}`);
    expect((await store.verify("r-1")).problems).toEqual([]);
  });

  it("and refuses connections is asked until a server is there", async () => {
    await server.close();
    let later: FakeOpenAiServer | null = null;
    const sleep = async (ms: number, signal?: AbortSignal) => {
      await clock.sleep(ms, signal);
      if (failures().length < 5) return;
      later = await FakeOpenAiServer.start(server.baseUrl);
      later.next(answer("Hello"));
    };
    const runner = runnerOf({ clock: { ...clock, sleep } });
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("Hello");
    expect(failures()).toHaveLength(5);
    expect(failures()[0]?.message).toMatch(/cannot be reached, nothing was sent: .*ECONNREFUSED/);
    expect((await charges()).slice(0, -1).every(([basis]) => basis === "none")).toBe(true);
    await must<FakeOpenAiServer>(later).close();
  });

  it("is not asked before the time that it asked for, however long that is", async () => {
    server.next(refusal(429, "come back later", { "retry-after": "7200" }), answer("Hello"));
    expect((await runnerOf().run("Go", { runId: "r-1" })).output).toBe("Hello");
    expect(clock.slept).toEqual([2 * HOUR]);
  });

  it("between two failures does not count as one of them", async () => {
    const [failed, refused] = [refusal(500, "oops"), refusal(503, "not now")];
    server.next(failed, refused, refused, refused, failed, failed);
    const error = await failureAs(ModelCallError, runnerOf().run("Go", { runId: "r-1" }));
    expect([error.details.status, server.requests.length]).toEqual([500, 6]);
    expect((await charges()).map(([basis]) => basis)).toEqual([
      "baseline",
      "none",
      "none",
      "none",
      "baseline",
      "baseline",
    ]);
  });

  it("keeps the lease of the waiting run", async () => {
    server.next(refusal(429, "later", { "retry-after": "3600" }), answer("Hello"));
    const renewal = vi.spyOn(store, "renewLease");
    await runnerOf({ leaseMs: 30 * SECOND }).run("Go", { runId: "r-1" });
    const renewed = renewal.mock.settledResults.filter(({ type }) => type === "fulfilled");
    expect(renewed.length).toBeGreaterThan(100);
  });
});

describe("the wait for a provider", () => {
  const busy = () => server.next(...Array.from({ length: 99 }, () => refusal(503, "not now")));

  it("ends at the deadline, with an error that says what the run waited for", async () => {
    busy();
    const deadline = Deadline.in(10 * MINUTE, clock);
    const error = await failureAs(DeadlineExceededError, runnerOf().run("Go", { runId: "r-1", deadline }));
    expect(error.message).toMatch(
      /waited for its model since 2026-01-01T00:00:00.000Z: \d+ requests were refused/,
    );
    expect(error.message).toContain("is unavailable (503): not now");
    expect(slept()).toBe(10 * MINUTE);
    expect(must(await store.getRun("r-1")).charged).toEqual(NOTHING);
    server.replaceScript(answer("Hello"));
    const resumed = runnerOf().resume("r-1", { deadline: Deadline.in(10 * HOUR, clock) });
    expect((await resumed).output).toBe("Hello");
  });

  it("ends at the wall-clock budget of a job", async () => {
    server.next(refusal(429, "later", { "retry-after": "86400" }));
    const spec = { objective: "Wait.", budgets: { maxWallclockMinutes: 5 } };
    const runner = runnerOf({ workspaceRoot: mkdtempSync(join(tmpdir(), "pawl-outage-")) });
    const error = await failureAs(BudgetExceededError, runner.run("Go", { runId: "r-1", spec }));
    expect(error.message).toContain("refused the request for now (429): later");
    expect([error.details.budget, slept()]).toEqual(["maxWallclockMinutes", 5 * MINUTE]);
  });

  it("is limited by maxOutageMs, and the run can be resumed", async () => {
    busy();
    const error = await failureAs(
      ModelCallError,
      runnerOf({ maxOutageMs: MINUTE }).run("Go", { runId: "r-1" }),
    );
    expect(error.message).toContain("The outage has lasted for maxOutageMs of the Runner (60000).");
    expect([error.recoverable, error.details.status]).toEqual([true, 503]);
    expect(slept()).toBe(MINUTE);
    const [first, last] = [must(failures()[0]), must(failures().at(-1))];
    expect([last.retryInMs, last.outageSince]).toEqual([null, first.outageSince]);
    expect(first.outageSince).not.toBeNull();
    expect((await charges()).every(([basis]) => basis === "none")).toBe(true);
    const none = await failureAs(ModelCallError, runnerOf({ maxOutageMs: 0 }).resume("r-1"));
    expect(none.message).toContain("maxOutageMs");
    expect(server.requests).toHaveLength(failures().length);
  });

  /** A run that waits, on a clock that stands still. */
  async function waiting(of: Store) {
    busy();
    const still = fakeClock();
    const [cancel, release] = [new AbortController(), new AbortController()];
    const pausing = Promise.withResolvers<void>();
    const onEvent = ({ type }: RunEvent) => type === "model.failed" && pausing.resolve();
    const runner = new Runner(workerOf(), { store: of, clock: still, onEvent });
    const { signal } = cancel;
    const run = runner.run("Go", { runId: "r-1", signal, release: release.signal });
    run.catch(() => undefined);
    await pausing.promise;
    await drainEventLoop();
    return { run, cancel, release };
  }

  it.each(["cancel", "release"] as const)(
    "ends at once on %s, with nothing charged or reserved",
    async (how) => {
      const { run, ...stop } = await waiting(store);
      stop[how].abort();
      expect((await run).status).toBe(how === "cancel" ? "cancelled" : "queued");
      expect(await charges()).toEqual([["none", 0]]);
    },
  );

  it("ends at once when the store is closed, and the run can be resumed", async () => {
    const file = databaseFile();
    const closing = await fileStore(file);
    const { run } = await waiting(closing);
    await closing.close();
    await failureAs(StoreUnavailableError, run);
    const next = await fileStore(file);
    expect(await charges(next)).toEqual([["none", 0]]);
    expect((await next.listRuns())[0]?.status).toBe("running");
    expect(await next.isHeld("r-1")).toBe(false);
  });

  it("survives kill -9: the next process continues to wait, and pays for one answer", async () => {
    busy();
    const file = databaseFile();
    const child = spawn(process.execPath, [
      fileURLToPath(new URL("./children/waiting-run.ts", import.meta.url)),
      file,
      server.baseUrl,
    ]);
    let heard = "";
    for await (const chunk of child.stdout) {
      heard += String(chunk);
      if (heard.includes("model.failed")) break;
    }
    child.kill("SIGKILL");
    await once(child, "exit");
    const next = await fileStore(file);
    const refused = (await next.listModelCalls("r-1")).length;
    let asked = 0;
    const later = new Runner(workerOf(), {
      store: next,
      clock,
      random: () => 1,
      onEvent: ({ type }) => {
        if (type !== "model.failed" || ++asked < 3) return;
        server.replaceScript(answer("Hello"));
      },
    });
    expect((await later.run("Go", { runId: "r-1", wait: true })).output).toBe("Hello");
    expect(await charges(next)).toEqual([
      ...Array.from({ length: refused + 3 }, () => ["none", 0]),
      ["provider", 18],
    ]);
  });

  it("is reported as a process warning if the runner has no onEvent, once for each outage", async () => {
    server.next(refusal(429, "slow down"), refusal(429, "slow down"), answer("Hello"));
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    await new Runner(workerOf(), { store, clock }).run("Go", { runId: "r-1" });
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      "Run r-1 waits for its model: fake.chat/fake-model refused the request for now (429): slow down. It asks again until its deadline, or until it is cancelled. Limit the wait with maxOutageMs of the Runner.",
    ]);
  });

  it("is reported with its end if maxOutageMs is set", async () => {
    server.next(refusal(429, "slow down"), answer("Hello"));
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const end = new Date(clock.now() + MINUTE).toISOString();
    await new Runner(workerOf(), { store, clock, maxOutageMs: MINUTE }).run("Go", { runId: "r-1" });
    const [[message] = []] = warn.mock.calls;
    expect(message).toMatch(
      /slow down\. It asks again until \S+ \(maxOutageMs of the Runner is 60000\), its deadline, /,
    );
    expect(String(message)).toContain(end.slice(0, "2026-11-17T16".length));
    expect(message).not.toContain("Limit the wait");
  });
});

it("an account without quota fails the run at once, and the message says that waiting does not help", async () => {
  const error = {
    message: "You exceeded your current quota.",
    type: "insufficient_quota",
    code: "insufficient_quota",
  };
  server.next(raw(429, JSON.stringify({ error })), answer("Hello"));
  const failure = await failureAs(ModelCallError, runnerOf().run("Go", { runId: "r-1" }));
  expect(failure.message).toContain("Waiting does not help");
  expect([server.requests.length, slept(), await charges()]).toEqual([1, 0, [["none", 0]]]);
  expect((await runnerOf().resume("r-1")).output).toBe("Hello");
});

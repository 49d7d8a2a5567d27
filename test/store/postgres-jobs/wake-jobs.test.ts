import { afterEach, describe, expect, it, vi } from "vitest";
import { JobRunner } from "../../../src/store/postgres-jobs/job-runner.ts";
import { jobsSchema } from "../../../src/store/postgres-jobs/jobs-schema.ts";
import { WakeJobs } from "../../../src/store/postgres-jobs/wake-jobs.ts";
import type { Network } from "../../../src/store/postgres-wire/pg-driver.ts";
import type { Write } from "../../../src/store/sql/write.ts";

afterEach(() => vi.useRealTimers());

const wake = (runId: string, at: number | null = null): Write => ({ kind: "wake", runId, at });

describe("the statement that adds jobs", () => {
  it("is one for all runs, in the order of their ids, with the last time of each", () => {
    const jobs = new WakeJobs("pawl_jobs", true, () => Promise.resolve(true));
    const renewal: Write = { kind: "renew", runId: "a", key: "a", owner: "me", epoch: 1, leaseMs: 1 };
    const [timeout, added, ...more] = jobs.statementsOf([wake("b", 5), wake("a"), renewal, wake("b", 7)]);
    expect(timeout?.text).toMatch(/lock_timeout/);
    expect(added?.values).toEqual([
      ["a", "b"],
      [null, 7],
    ]);
    expect(more).toEqual([]);
  });

  it("is none for writes without a hint", () => {
    const jobs = new WakeJobs("pawl_jobs", true, () => Promise.resolve(true));
    expect(jobs.statementsOf([{ kind: "remove", table: "runs", key: { run_key: "a" } }])).toEqual([]);
  });

  it("is off after a failure, until it is looked for again half a minute later", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    let looks = 0;
    const jobs = new WakeJobs("pawl_jobs", true, () => {
      looks += 1;
      return looks === 1 ? Promise.reject(new Error("away")) : Promise.resolve(true);
    });
    jobs.stop();
    for (const expected of [1, 2]) {
      expect(jobs.statementsOf([wake("a")])).toEqual([]);
      expect(looks).toBe(expected - 1);
      vi.advanceTimersByTime(31_000);
      // The one that notices does not wait for the answer.
      expect(jobs.statementsOf([wake("a")])).toEqual([]);
      expect(jobs.statementsOf([wake("a")])).toEqual([]);
      expect(looks).toBe(expected);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(jobs.statementsOf([wake("a")])).toHaveLength(2);
  });
});

describe("the schema of the jobs", () => {
  it("has a short name of its own for each store", () => {
    expect(jobsSchema("pawl")).toBe("pawl_jobs");
    const [a, b] = ["a".repeat(63), `${"a".repeat(62)}b`].map(jobsSchema);
    expect(a).toMatch(/^a{26}_[0-9a-f]{8}_jobs$/);
    expect(a).not.toBe(b);
  });
});

describe("a runner of jobs", () => {
  const network: Network = {
    connect: () => Promise.reject(new Error("There is no server.")),
    exchange: (_client, _statements, send) => send(),
  };
  const options = {
    url: "",
    schema: "pawl_jobs",
    network,
    onJob: () => undefined,
    onInstalled: () => undefined,
  };

  it("says once that the package is not installed, and does nothing", async () => {
    const reasons: string[] = [];
    const runner = new JobRunner({ ...options, load: () => Promise.resolve(null) });
    for (const _ of ["first", "second"]) {
      runner.start((reason) => reasons.push(reason));
      await vi.waitFor(() => expect(reasons).toHaveLength(1));
      await runner.stop();
    }
    expect(reasons).toEqual(["the package graphile-worker is not installed beside pawl"]);
  });

  it("says why it cannot work, and tries again later", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const reasons: string[] = [];
    let tries = 0;
    const runner = new JobRunner({
      ...options,
      load: () => {
        tries += 1;
        return Promise.reject(new Error("This Node is too old."));
      },
    });
    runner.start((reason) => reasons.push(reason));
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1));
    await vi.advanceTimersByTimeAsync(31_000);
    await vi.waitFor(() => expect(tries).toBe(2));
    await runner.stop();
    expect(vi.getTimerCount()).toBe(0);
    expect(reasons).toEqual(["the jobs of graphile-worker could not be set up: This Node is too old."]);
  });
});

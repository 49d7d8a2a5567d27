import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  ConfigurationError,
  Pipeline,
  type ScheduleSpec,
  Step,
  type Store,
  Worker,
  type WorkerNotice,
  type WorkerOptions,
} from "../../../src/index.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { temporaryFolder } from "../job-fixture.ts";

const MINUTE = 60_000;
const seen: unknown[] = [];
const report = Pipeline.of(
  "report",
  Step.run("write", (topic: string | null) => {
    seen.push(topic);
    return topic;
  }),
);
const EVERY_MINUTE: ScheduleSpec = { pipeline: "report", cron: "* * * * *", input: "sales" };

/** A store whose clock a test moves: workers look at it every few milliseconds. */
async function clockedStore(): Promise<{ readonly store: Store; readonly clock: { now: number } }> {
  const clock = { now: Date.UTC(2026, 10, 17, 1) };
  const store = await openStore(":memory:", { now: () => clock.now });
  onTestFinished(() => store.close());
  return { store, clock };
}

function started(options: Partial<WorkerOptions> & { readonly store: Store }): WorkerNotice[] {
  const notices: WorkerNotice[] = [];
  const onNotice = (notice: WorkerNotice) => notices.push(notice);
  const worker = new Worker({ sweepMs: 10, pipelines: { report }, ...options, onNotice });
  const end = new AbortController();
  const ended = worker.run(end.signal);
  onTestFinished(() => {
    end.abort();
    return ended;
  });
  return notices;
}

const some = (notices: readonly WorkerNotice[], type: WorkerNotice["type"]) =>
  vi.waitFor(() => expect(notices.map((notice) => notice.type)).toContain(type), { timeout: 5_000 });

async function ends(store: Store, runId: string): Promise<void> {
  await vi.waitFor(async () => expect((await store.getRun(runId))?.status).toBe("succeeded"), {
    timeout: 5_000,
    interval: 10,
  });
}

describe("a worker with schedules", () => {
  it("stores them, fires what is due, and works on the runs", async () => {
    const { store, clock } = await clockedStore();
    const notices = started({ store, schedules: { nightly: EVERY_MINUTE } });
    await some(notices, "schedule_changed");
    clock.now += MINUTE;
    await ends(store, "nightly@2026-11-17T01:01Z");
    clock.now += MINUTE;
    await ends(store, "nightly@2026-11-17T01:02Z");
    expect(seen.slice(-2)).toEqual(["sales", "sales"]);
    expect(notices.filter(({ type }) => type === "fired")).toHaveLength(2);
  });

  it("gives their runs its default budgets, also those that a person fires", async () => {
    const { store, clock } = await clockedStore();
    const budgets = { maxSteps: 9, maxTokens: 500 };
    const notices = started({
      store,
      budgets,
      workspaceRoot: temporaryFolder(),
      schedules: { nightly: EVERY_MINUTE },
    });
    await some(notices, "schedule_changed");
    const { runId } = await store.fireNow("nightly", { by: "ann" });
    await ends(store, runId ?? "");
    clock.now += MINUTE;
    await ends(store, "nightly@2026-11-17T01:01Z");
    for (const each of [runId ?? "", "nightly@2026-11-17T01:01Z"])
      expect(await store.getRun(each)).toMatchObject({ budgets, spec: { objective: "sales", budgets } });
  });

  it("accepts the key of a pipeline as well as its name", async () => {
    const { store, clock } = await clockedStore();
    const schedules = { nightly: { pipeline: "key", cron: "* * * * *" } };
    const notices = started({ store, pipelines: { key: report }, schedules });
    await some(notices, "schedule_changed");
    expect((await store.listSchedules())[0]?.schedule.pipeline).toBe("report");
    clock.now += MINUTE;
    await ends(store, "nightly@2026-11-17T01:01Z");
    expect(seen.at(-1)).toBeNull();
  });

  it("fires the schedules of others too, and changes nothing without any of its own", async () => {
    const { store, clock } = await clockedStore();
    const first = started({ store, schedules: { nightly: EVERY_MINUTE } });
    await some(first, "schedule_changed");
    const other = Pipeline.of(
      "other",
      Step.run("none", () => null),
    );
    const second = started({ store, pipelines: { other } });
    clock.now += MINUTE;
    await ends(store, "nightly@2026-11-17T01:01Z");
    expect(second.filter(({ type }) => type.startsWith("schedule"))).toEqual([]);
    const fired = [...first, ...second].filter(({ type }) => type === "fired");
    expect(fired).toHaveLength(1);
  });

  it("says so if a newer configuration is in use", async () => {
    const { store } = await clockedStore();
    const schedules = { nightly: EVERY_MINUTE };
    await some(started({ store, schedules, scheduleRevision: 2 }), "schedule_changed");
    const edited = { nightly: { ...EVERY_MINUTE, cron: "0 2 * * *" } };
    await some(started({ store, schedules: edited, scheduleRevision: 1 }), "schedule_ignored");
    expect((await store.listSchedules())[0]?.schedule.cron).toBe("* * * * *");
    await some(started({ store, schedules: edited, scheduleRevision: 3 }), "schedule_changed");
    expect((await store.listSchedules())[0]?.schedule.cron).toBe("0 2 * * *");
    await some(started({ store, schedules: {}, scheduleRevision: 4 }), "schedule_changed");
    expect((await store.listSchedules())[0]?.isRemoved).toBe(true);
  });

  it("fires the others if one cannot be fired, and does not ask for it without a pause", async () => {
    const { store, clock } = await clockedStore();
    const schedules = { broken: EVERY_MINUTE, nightly: EVERY_MINUTE };
    const fire = vi.spyOn(store, "fireSchedule");
    fire.mockImplementation(async (name) => {
      if (name === "broken") throw new Error("It cannot be read.");
      fire.mockRestore();
      return store.fireSchedule(name);
    });
    const notices = started({ store, schedules });
    await some(notices, "schedule_changed");
    clock.now += MINUTE;
    await ends(store, "nightly@2026-11-17T01:01Z");
    expect(notices.filter(({ type }) => type === "schedule_failed")).toHaveLength(1);
  });

  it.each([
    [{ nightly: { ...EVERY_MINUTE, pipeline: "raport" } }, /does not have: give one of report/],
    [{ nightly: { ...EVERY_MINUTE, cron: "0 25 * * *" } }, /hour "25" cannot be read/],
    [[], /schedules are a list/],
  ])("is refused with a schedule that cannot be fired (%#)", async (schedules, message) => {
    const { store } = await clockedStore();
    const options = { store, pipelines: { report }, schedules: schedules as WorkerOptions["schedules"] & {} };
    expect(() => new Worker(options)).toThrow(ConfigurationError);
    expect(() => new Worker(options)).toThrow(message);
    expect(() => new Worker({ ...options, schedules: {}, scheduleRevision: 0.5 })).toThrow(
      /scheduleRevision/,
    );
  });
});

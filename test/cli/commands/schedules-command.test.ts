import { describe, expect, it } from "vitest";
import type { ScheduleSpec, Store } from "../../../src/index.ts";
import { queuedRun } from "../../../src/testing/store/runs/queue.ts";
import { newSchedule } from "../../../src/testing/store/runs/schedules.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { type CliFolder, cliFolder } from "../sample-runs.ts";

const NIGHTLY = { cron: "0 2 * * *", timeZone: "Europe/Berlin" };

/** A folder whose store has these schedules. */
async function withSchedules(specs: { readonly [name: string]: Partial<ScheduleSpec> }): Promise<CliFolder> {
  const folder = cliFolder();
  const schedules = Object.entries(specs).map(([name, over]) => newSchedule(over, name));
  await folder.withStore((store: Store) => store.configureSchedules({ revision: 1, schedules }));
  return folder;
}

describe("pawl schedules", () => {
  it("lists them with the next planned time and what became of the last one", async () => {
    const folder = await withSchedules({ nightly: NIGHTLY, hourly: { cron: "@hourly" } });
    await pawl(["schedules", "fire", "nightly"], folder);
    await pawl(["schedules", "pause", "hourly", "--by", "ann"], folder);
    const { exitCode, stdout } = await pawl(["schedules"], { ...folder, columns: 200 });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^schedule +cron +zone +pipeline +next +last\n/);
    expect(stdout).toMatch(/^hourly +@hourly +UTC +report +paused by ann$/m);
    expect(stdout).toMatch(/^nightly +0 2 \* \* \* +Europe\/Berlin +report +\d{4}-\S+ \S+ +started /m);
    const { document } = await pawlJson(["schedules"], folder);
    expect(document).toMatchObject({
      schedules: [
        { name: "hourly", pausedBy: "ann", lastFiring: null },
        { name: "nightly", cron: "0 2 * * *", pausedAt: null, lastFiring: { outcome: "started" } },
      ],
    });
  });

  it("says how to get one if there is none", async () => {
    const folder = await withSchedules({});
    const { exitCode, stdout } = await pawl(["schedules"], folder);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("There are no schedules")]);
  });

  it("fires one now, and exits with 1 if an earlier run is in the way", async () => {
    const folder = await withSchedules({ nightly: NIGHTLY, hourly: {} });
    const { exitCode, stdout } = await pawl(["schedules", "fire", "nightly", "--by", "ann"], folder);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/run nightly@\S+Z waits for a worker/)]);
    const [run] = await folder.withStore((store) => store.listRuns());
    expect(run?.startedBy).toMatchObject({ name: "ann", authenticated: { by: "os" } });
    const earlier = "hourly@2020-01-01T00:00Z";
    await folder.withStore((store) => store.enqueueRun(queuedRun(earlier)));
    const skipped = await pawl(["schedules", "fire", "hourly"], folder);
    expect([skipped.exitCode, skipped.stdout]).toEqual([1, expect.stringContaining(earlier)]);
    const { document } = await pawlJson(["schedules", "show", "hourly"], folder);
    expect(document).toMatchObject({ firings: [{ outcome: "skipped", runId: null }] });
  });

  it("does not say of a run that was there already that it waits for a worker", async () => {
    const folder = await withSchedules({ nightly: NIGHTLY });
    const fire = async () =>
      (await pawl(["schedules", "fire", "nightly"], { ...folder, columns: 300 })).stdout;
    const [, runId = ""] = /run (\S+) waits/.exec(await fire()) ?? [];
    await folder.withStore((store) => store.requestCancel(runId));
    const again = await fire();
    await folder.withStore((store) => store.deleteRun(runId, { why: "It was a test." }));
    const third = await fire();
    // A minute may end between two of them: then it is another run.
    for (const said of [again, third].filter((each) => each.includes(runId)))
      expect(said).toMatch(/ is cancelled\.| was deleted, and is not started again\./);
  });

  it("shows a schedule with its planned times, and why some started no run", async () => {
    const folder = await withSchedules({ nightly: { ...NIGHTLY, input: { topic: "sales" } } });
    await pawl(["schedules", "fire", "nightly"], folder);
    const { stdout } = await pawl(["schedules", "show", "nightly"], { ...folder, columns: 200 });
    expect(stdout).toMatch(/^nightly\n +cron +0 2 \* \* \* \(Europe\/Berlin\)\n +pipeline +report\n/);
    expect(stdout).toMatch(/overlap +skip/);
    expect(stdout).toMatch(/^planned +outcome +run +why\n/m);
    expect(stdout).toMatch(/started +nightly@\S+Z +Fired by tester, beside its planned times\./);
    const { document } = await pawlJson(["schedules", "show", "nightly", "--limit", "1"], folder);
    expect(document).toMatchObject({ schedule: { name: "nightly" }, firings: [{ outcome: "started" }] });
  });

  it("pauses one and resumes it, any number of times", async () => {
    const folder = await withSchedules({ nightly: NIGHTLY });
    const pause = () => pawl(["schedules", "pause", "nightly", "--by", "ann"], { ...folder, columns: 200 });
    expect((await pause()).stdout).toMatch(/is paused:.*\n +pawl schedules resume nightly\n$/);
    expect((await pause()).stdout).toMatch(/was already paused by ann/);
    const resume = () => pawl(["schedules", "resume", "nightly"], { ...folder, columns: 200 });
    expect((await resume()).stdout).toMatch(/is resumed, and does not catch up/);
    const { exitCode, stdout } = await resume();
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/is not paused\. It fires next at \d{4}-/)]);
  });

  it("suggests the name that was meant", async () => {
    const folder = await withSchedules({ nightly: NIGHTLY });
    for (const [words, message] of [
      [["pause", "nightli"], /no schedule nightli in this store: did you mean nightly\./],
      [["pause"], /needs the name of a schedule/],
      [["pauze", "nightly"], /did you mean pause\./],
      [["nightly"], /pawl schedules show <name>/],
      [["--limit", "3"], /--limit is about the planned times of one schedule/],
      [["show", "nightly", "--by", "ann"], /--by is about pause, resume and fire/],
    ] as const) {
      const { exitCode, stderr } = await pawl(["schedules", ...words], { ...folder, columns: 300 });
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
  });

  it("shows one that was removed, and does nothing else with it", async () => {
    const folder = await withSchedules({ nightly: NIGHTLY });
    await folder.withStore((store) => store.configureSchedules({ revision: 2, schedules: [] }));
    expect((await pawl(["schedules", "show", "nightly"], folder)).stdout).toMatch(/removed +at /);
    const { exitCode, stderr } = await pawl(["schedules", "fire", "nightly"], { ...folder, columns: 300 });
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/was removed from the configuration/)]);
  });
});

import assert from "node:assert/strict";
import { ConfigurationError } from "../../../core/errors.ts";
import { assertScheduleSpec, type ScheduleSpec } from "../../../core/schedule/schedule-spec.ts";
import type { ConfiguredStart, FiringRecord, ScheduleReport, Store } from "../../../store/store.ts";
import { type Check, check, checkSeveral, rejection } from "../check.ts";
import { newSpec } from "../sample-contract.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** A schedule of the sample pipeline; for every minute, unless the cron line is another one. */
export function newSchedule(over: Partial<ScheduleSpec> = {}, name = "nightly"): ConfiguredStart {
  const schedule = assertScheduleSpec(name, { pipeline: "report", cron: "* * * * *", ...over });
  return { schedule, entrypoint: "library", shape: [{ path: "draft", kind: "agent" }] };
}

/** Schedules of the same configuration, by name. */
function configuration(revision: number, specs: { readonly [name: string]: Partial<ScheduleSpec> }) {
  return {
    revision,
    schedules: Object.entries(specs).map(([name, over]) => newSchedule(over, name)),
  };
}

export async function configured(store: Store, over: Partial<ScheduleSpec> = {}): Promise<void> {
  const reports = await store.configureSchedules(configuration(1, { nightly: over }));
  assert.deepEqual(reports, [{ name: "nightly", kind: "added" }]);
}

/** What was decided, each in a line: the planned time of the day, the outcome, and how many it stands for. */
export function told(firings: readonly FiringRecord[]): string[] {
  return firings.map(({ plannedAt, outcome, times }) => {
    const at = new Date(plannedAt).toISOString().slice(0, 16);
    return `${at} ${outcome}${times === 1 ? "" : ` ${times}`}`;
  });
}

export async function runIds(store: Store): Promise<string[]> {
  return (await store.listRuns()).map(({ runId }) => runId).sort();
}

export const first = "nightly@2026-01-01T00:01Z";
export const second = "nightly@2026-01-01T00:02Z";

const configurationChecks: readonly Check[] = [
  check("a new schedule is planned from now on, and fires nothing from before", async (scene) => {
    const { store, now } = scene;
    await configured(store, { catchUp: "all" });
    const [record] = await store.listSchedules();
    assert.deepEqual([record?.name, record?.isRemoved, record?.lastFiring], ["nightly", false, null]);
    assert.equal(record?.nextAt, now() + MINUTE);
    assert.deepEqual(await store.listDueSchedules({ limit: 5 }), [{ name: "nightly", inMs: MINUTE }]);
    assert.deepEqual(await store.fireSchedule("nightly"), { firings: [], nextAt: now() + MINUTE });
    assert.deepEqual(await store.fireSchedule("unknown"), { firings: [], nextAt: null });
  }),

  check("two versions of a configuration, in whatever order, change a schedule once", async (scene) => {
    const { store, advance } = scene;
    const old = configuration(1, { nightly: { cron: "0 2 * * *" }, gone: {} });
    const fresh = configuration(2, { nightly: { cron: "0 3 * * *" }, extra: {} });
    for (const [each, kinds] of [
      [old, ["gone added", "nightly added"]],
      [fresh, ["extra added", "gone removed", "nightly edited"]],
      [old, ["extra ignored", "gone ignored", "nightly ignored"]],
      [fresh, []],
      [old, ["extra ignored", "gone ignored", "nightly ignored"]],
    ] as const) {
      const reports: readonly ScheduleReport[] = await store.configureSchedules(each);
      assert.deepEqual(
        reports.map(({ name, kind }) => `${name} ${kind}`),
        kinds,
      );
      advance(MINUTE);
    }
    const stored = await store.listSchedules();
    assert.deepEqual(
      stored.map(({ name, isRemoved, schedule }) => [name, isRemoved, schedule.cron]),
      [
        ["extra", false, "* * * * *"],
        ["gone", true, "* * * * *"],
        ["nightly", false, "0 3 * * *"],
      ],
    );
    assert.deepEqual((await store.fireSchedule("gone")).firings, []);
  }),

  check(
    "an old worker that configures first is corrected, and one that configures last is not",
    async (scene) => {
      const { store } = scene;
      const old = configuration(1, { nightly: { cron: "0 2 * * *" } });
      const fresh = configuration(2, { nightly: { cron: "0 3 * * *" } });
      assert.deepEqual(await store.configureSchedules(fresh), [{ name: "nightly", kind: "added" }]);
      const [ignored] = await store.configureSchedules(old);
      assert.ok(ignored?.kind === "ignored" && /newer configuration/.test(ignored.why), "it says so");
      const same = await store.configureSchedules({ ...old, revision: 2 });
      assert.ok(same[0]?.kind === "ignored" && /same revision 2/.test(same[0].why), "neither is newer");
      const back = await store.configureSchedules({ ...old, revision: 3 });
      assert.deepEqual(back, [{ name: "nightly", kind: "edited" }], "a rollback is a newer version");
    },
  ),

  check("a changed cron line plans anew, and what was due is recorded as missed", async (scene) => {
    const { store, now, advance } = scene;
    await configured(store);
    advance(3 * MINUTE);
    await store.configureSchedules(configuration(2, { nightly: { cron: "0 2 * * *" } }));
    assert.deepEqual(told(await store.listFirings("nightly")), ["2026-01-01T00:01 missed 3"]);
    const [record] = await store.listSchedules();
    assert.equal(record?.nextAt, Math.floor(now() / HOUR) * HOUR + 2 * HOUR);
    await store.configureSchedules(configuration(3, {}));
    assert.deepEqual(await store.listDueSchedules({ limit: 5 }), []);
    assert.equal((await store.listSchedules())[0]?.nextAt, null);
  }),

  check("another change keeps the planned times: one that is due still fires", async (scene) => {
    const { store, advance } = scene;
    await configured(store);
    advance(MINUTE);
    await store.configureSchedules(
      configuration(2, { nightly: { input: "new", queue: "mail", priority: 3 } }),
    );
    await store.fireSchedule("nightly");
    const run = await store.getRun(first);
    assert.deepEqual([run?.queue, run?.priority], ["mail", 3]);
    assert.deepEqual((await store.readRunInput(first)).input, "new");
  }),

  check("a schedule that cannot be stored is refused", async ({ store }) => {
    assert.ok(
      ConfigurationError.isInstance(
        await rejection(store.configureSchedules({ revision: -1, schedules: [] })),
      ),
    );
    for (const intent of ["fireNow", "pauseSchedule", "resumeSchedule"] as const)
      assert.ok(ConfigurationError.isInstance(await rejection(store[intent]("unknown"))));
  }),
];

const firingChecks: readonly Check[] = [
  check("a planned time creates a run with everything that the schedule says", async (scene) => {
    const { store, now, advance } = scene;
    await configured(store, { input: { topic: "größe 🙂" }, metadata: { team: "billing" } });
    advance(MINUTE);
    const { firings, nextAt } = await store.fireSchedule("nightly");
    const firing = { name: "nightly", plannedAt: now(), decidedAt: now(), times: 1, why: null };
    assert.deepEqual(firings, [{ ...firing, outcome: "started", runId: first }]);
    assert.equal(nextAt, now() + MINUTE);
    assert.deepEqual(await store.listFirings("nightly"), firings);
    assert.deepEqual((await store.listSchedules())[0]?.lastFiring, firings[0]);
    const run = await store.getRun(first);
    assert.deepEqual([run?.status, run?.pipeline, run?.queue], ["queued", "report", "default"]);
    assert.deepEqual(run?.metadata, { team: "billing", "pawl.schedule": "nightly" });
    assert.equal(run?.startedBy?.name, "schedule nightly");
    assert.deepEqual((await store.readRunInput(first)).input, { topic: "größe 🙂" });
    assert.deepEqual(await store.fireSchedule("nightly"), { firings: [], nextAt });
  }),

  check("the runs of a schedule have its contract, of the newest configuration", async (scene) => {
    const { store, advance } = scene;
    const withBudget = (revision: number, maxTokens: number) =>
      store.configureSchedules({
        revision,
        schedules: [{ ...newSchedule({ overlap: "allow" }), spec: newSpec({ maxTokens }) }],
      });
    await withBudget(1, 500);
    advance(MINUTE);
    await store.fireSchedule("nightly");
    assert.deepEqual(await withBudget(2, 700), []);
    advance(MINUTE);
    const { runId } = await store.fireNow("nightly", { by: "ann" });
    assert.equal(runId, second);
    const limits = [await store.getRun(first), await store.getRun(second)];
    assert.deepEqual(
      limits.map((run) => [run?.limit.tokens, run?.spec?.budgets.maxTokens]),
      [
        [500, 500],
        [700, 700],
      ],
    );
  }),

  checkSeveral("stores that fire the same planned time at once fire it once", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    await configured(scene.store, { overlap: "allow", catchUp: "all" });
    scene.advance(3 * MINUTE);
    const looks = await Promise.all(
      [0, 1, 2, 3].flatMap(() => stores.map((store) => store.fireSchedule("nightly"))),
    );
    const started = looks.flatMap(({ firings }) => firings.map(({ runId }) => String(runId)));
    assert.deepEqual(started.sort(), [first, second, "nightly@2026-01-01T00:03Z"]);
    assert.deepEqual(await runIds(scene.store), started);
  }),

  checkSeveral("stores that configure at once add a schedule once", async (scene) => {
    const stores = [scene.store, await scene.openAnother(), await scene.openAnother()];
    const reports = await Promise.all(
      stores.map((store, revision) =>
        store.configureSchedules(configuration(revision, { nightly: {}, b: {} })),
      ),
    );
    const added = reports.flat().filter(({ kind }) => kind === "added");
    assert.deepEqual(added.map(({ name }) => name).sort(), ["b", "nightly"]);
  }),

  check("a clock that is set back fires nothing twice", async ({ store, advance }) => {
    await configured(store, { overlap: "allow" });
    advance(2 * MINUTE);
    await store.fireSchedule("nightly");
    const before = await store.listFirings("nightly");
    advance(-2 * MINUTE);
    assert.deepEqual((await store.fireSchedule("nightly")).firings, []);
    advance(2 * MINUTE);
    assert.deepEqual((await store.fireSchedule("nightly")).firings, []);
    assert.deepEqual(await store.listFirings("nightly"), before);
  }),

  check("after an outage, catchUp says what fires, and the rest is recorded", async ({ store, advance }) => {
    const specs = { a: { catchUp: "none" }, b: { catchUp: "last" }, c: { catchUp: "all" } } as const;
    const allow = { overlap: "allow" } as const;
    const entries = Object.entries(specs).map(([name, spec]) => [name, { ...spec, ...allow }] as const);
    await store.configureSchedules(configuration(1, Object.fromEntries(entries)));
    advance(4 * MINUTE + 30_000);
    const expected = {
      a: ["2026-01-01T00:01 missed 3", "2026-01-01T00:04 started"],
      b: ["2026-01-01T00:01 missed 3", "2026-01-01T00:04 started"],
      c: [1, 2, 3, 4].map((minute) => `2026-01-01T00:0${minute} started`),
    };
    for (const [name, lines] of Object.entries(expected)) {
      const { firings } = await store.fireSchedule(name);
      assert.deepEqual(told(firings), lines);
      assert.deepEqual(told(await store.listFirings(name)), [...lines].reverse());
      for (const { outcome, why } of firings) assert.equal(why === null, outcome === "started");
    }
    advance(2 * HOUR);
    assert.deepEqual(told((await store.fireSchedule("a")).firings).at(-1), "2026-01-01T02:04 started");
  }),

  check("a long outage is decided in several looks", async ({ store, advance }) => {
    await configured(store, { catchUp: "all", overlap: "skip" });
    advance(150 * MINUTE);
    const { firings, nextAt } = await store.fireSchedule("nightly");
    assert.equal(firings.length, 100);
    assert.ok(nextAt !== null && nextAt < Date.UTC(2026, 0, 1, 2, 30), "more is due");
    assert.deepEqual(await store.listDueSchedules({ limit: 1 }), [{ name: "nightly", inMs: 0 }]);
    assert.equal((await store.fireSchedule("nightly")).firings.length, 50);
    const decided = await store.listFirings("nightly");
    assert.equal(decided.filter(({ outcome }) => outcome === "started").length, 1, "the others overlap");
    assert.equal(decided.length, 150);
  }),

  check("a time that clocks show twice fires once, and one that they skip after the gap", async (scene) => {
    const { store, advance, now } = scene;
    await configured(store, {
      cron: "30 2 24-30 3,10 *",
      timeZone: "Europe/Berlin",
      overlap: "allow",
      catchUp: "all",
    });
    for (const day of [Date.UTC(2026, 2, 30), Date.UTC(2026, 9, 26)]) {
      advance(day - now());
      while (((await store.fireSchedule("nightly")).nextAt ?? 0) <= now());
    }
    const fired = await runIds(store);
    const around = fired.filter((runId) => /2026-(03-(28|29|30)|10-(24|25|26))/.test(runId));
    assert.deepEqual(around, [
      "nightly@2026-03-28T01:30Z",
      // Clocks go from 2:00 to 3:00.
      "nightly@2026-03-29T01:00Z",
      "nightly@2026-03-30T00:30Z",
      "nightly@2026-10-24T00:30Z",
      // The first of the two.
      "nightly@2026-10-25T00:30Z",
    ]);
  }),

  check("a run of that id that is there counts as fired", async ({ store, advance }) => {
    await configured(store);
    advance(MINUTE);
    const byHand = await store.fireNow("nightly", { by: "Ann" });
    assert.deepEqual([byHand.outcome, byHand.runId], ["started", first]);
    const { firings } = await store.fireSchedule("nightly");
    assert.deepEqual(told(firings), ["2026-01-01T00:01 started"]);
    assert.equal((await store.listEvents(first)).length, 1, "nothing has changed");
    const [kept] = await store.listFirings("nightly");
    assert.match(kept?.why ?? "", /Fired by Ann/);
  }),
];

const peopleChecks: readonly Check[] = [
  check(
    "a paused schedule does not fire, and what it missed is recorded when it is resumed",
    async (scene) => {
      const { store, now, advance } = scene;
      await configured(store, { catchUp: "all" });
      const paused = await store.pauseSchedule("nightly", { by: "Ann" });
      assert.deepEqual([paused.pausedAt, paused.pausedBy], [now(), "Ann"]);
      assert.deepEqual(await store.pauseSchedule("nightly", { by: "Bob" }), paused, "once");
      advance(3 * MINUTE);
      assert.deepEqual(await store.listDueSchedules({ limit: 5 }), []);
      assert.deepEqual(await store.fireSchedule("nightly"), { firings: [], nextAt: null });
      await store.configureSchedules(configuration(2, { nightly: { cron: "*/2 * * * *" } }));
      assert.equal((await store.listSchedules())[0]?.pausedBy, "Ann", "a configuration does not resume it");
      advance(4 * MINUTE);
      const resumed = await store.resumeSchedule("nightly", { by: "Bob" });
      assert.deepEqual([resumed.pausedAt, resumed.nextAt], [null, now() + MINUTE]);
      assert.match(resumed.lastFiring?.why ?? "", /paused by Ann .* until Bob resumed it/);
      assert.deepEqual(told(await store.listFirings("nightly")), ["2026-01-01T00:04 missed 2"]);
      assert.deepEqual((await store.fireSchedule("nightly")).firings, []);
      assert.deepEqual(await store.resumeSchedule("nightly"), resumed);
    },
  ),

  check("a person fires a schedule beside its planned times, once a minute", async (scene) => {
    const { store, advance } = scene;
    await configured(store, { cron: "0 2 * * *", overlap: "skip" });
    advance(90_000);
    await store.pauseSchedule("nightly");
    const fired = await store.fireNow("nightly", { by: "Ann" });
    assert.deepEqual([fired.runId, fired.outcome], [first, "started"]);
    assert.equal((await store.getRun(first))?.startedBy?.name, "Ann");
    advance(20_000);
    assert.equal((await store.fireNow("nightly")).runId, first, "it is the same minute");
    advance(MINUTE);
    const skipped = await store.fireNow("nightly", { by: "Ann" });
    assert.deepEqual([skipped.outcome, skipped.runId], ["skipped", null], "the overlap policy holds");
    assert.equal((await store.listSchedules())[0]?.nextAt, Date.UTC(2026, 0, 1, 2));
    assert.deepEqual(told(await store.listFirings("nightly")), [
      "2026-01-01T00:02 skipped",
      "2026-01-01T00:01 started",
    ]);
  }),
];

export const scheduleChecks: readonly Check[] = [...configurationChecks, ...firingChecks, ...peopleChecks];

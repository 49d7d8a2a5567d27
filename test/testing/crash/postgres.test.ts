// The explorer on PostgreSQL: a sample of its scenarios and modes, real kills, and planted bugs. `npm run test:full` runs
// `npm run explore -- --database postgres` besides.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CrashExplorerOptions, crashExplorer, type Evidence } from "../../../src/testing/crash/index.ts";
import { pointText } from "../../../src/testing/crash/point.ts";
import { sampled } from "../../full-test.ts";
import { assertPlantable, makeBundleFolder } from "../../patched-sources.ts";
import { PATIENCE } from "../../patience.ts";
import { EXPLORER_FOLDER } from "./explored-scenario.ts";
import { type ExplorerServer, explorerServer } from "./explorer-server.ts";
import { KilledChildren, makeExplorerFolder } from "./killed-children.ts";
import { KilledSample, violationLines } from "./killed-sample.ts";
import { type Bundled, loadPatched } from "./mutants/bundle-mutant.ts";
import { MUTANTS } from "./mutants/index.ts";
import { isForPostgres } from "./mutants/mutant.ts";
import { CHECKED_POSTGRES_MUTANTS } from "./mutants/postgres-mutants.ts";
import { expectFound } from "./mutants/try-mutant.ts";
import { evidenceLog } from "./random-schedule-log.ts";
import { SCENARIOS } from "./scenarios/index.ts";

let server: ExplorerServer;
beforeAll(async () => {
  const started = await explorerServer("postgres");
  if (started === null) throw new Error("There is no server.");
  server = started;
}, 120_000);
afterAll(() => server.stop(), 60_000);

function onPostgres(name: string, how: Partial<CrashExplorerOptions>): CrashExplorerOptions {
  const make = SCENARIOS[name];
  if (make === undefined) throw new Error(`There is no scenario ${name}.`);
  return { ...make(), ...EXPLORER_FOLDER, database: server.database, seed: 20_262, ...how };
}

/** One, since each schedule takes a quarter of a second; `npm run explore`, as in the full test, takes all. */
const SAMPLE = Object.keys(SCENARIOS).filter((_, i, { length }) => i === 20_261 % length);

describe("a run on PostgreSQL keeps every promise", () => {
  it.for(SAMPLE)(
    "in %s, if a process dies, is stopped or closed, or loses its server",
    PATIENCE,
    async (name) => {
      const modes = ["crash", "twice", "pause", "close", "disk"] as const;
      const few = { crashes: 2, pairs: 1, pauses: 1, ends: 1 };
      const report = await crashExplorer(onPostgres(name, { modes, ...few }));
      report.assertKept();
      expect(report.counts).toMatchObject({ missed: 0, byMode: { crash: 3, twice: 1, close: 1, disk: 1 } });
    },
  );

  it("if several processes work at once, and everything else is random", PATIENCE, async () => {
    const report = await crashExplorer(onPostgres("parallel-mixed", { modes: ["random"], courses: 2 }));
    report.assertKept();
  });

  // Each schedule was a bug once: a result that said waiting, of a run whose last wait had just been settled; one that
  // said succeeded, of a run that another process had just taken; and evidence that was read while other calls of a
  // stopped process were under way.
  it.for([
    ["late-receipt", "pause before reconcile.ship 1; wake after clock.sleep 301"],
    ["budget-asked", "pause before store.createRun 1; wake before store.beginEffect 3"],
    ["parallel-mixed", "pause after store.recordReceipt 1; wake after store.settle 1"],
  ] as const)("in %s, %s", PATIENCE, async ([name, schedule]) => {
    const report = await crashExplorer(onPostgres(name, { schedule }));
    report.assertKept();
  });

  it("if its processes are really killed, one after the other", PATIENCE, async () => {
    const folder = await makeExplorerFolder(server.database);
    const children = await KilledChildren.make();
    try {
      const sample = new KilledSample(folder, children);
      const trial = await sample.trial("one-tool", [
        { phase: "before", call: "tool.charge", nth: 1 },
        { phase: "after", call: "store.commitTurn", nth: 1 },
      ]);
      expect(violationLines(trial)).toEqual([]);
      expect(trial.kills).toBe(2);
    } finally {
      children.remove();
      await folder.remove();
    }
  });
});

describe("the explorer on PostgreSQL", () => {
  it("has the same points as on SQLite, and does the same each time", PATIENCE, async () => {
    const seen: Evidence[] = [];
    const keep = (evidence: Evidence) => void seen.push(evidence);
    const how = { schedule: "seed 3", invariants: { keep } };
    const { database: _, ...inFiles } = onPostgres("parallel-mixed", how);
    const explored = [
      await crashExplorer(onPostgres("parallel-mixed", how)),
      await crashExplorer(onPostgres("parallel-mixed", how)),
      await crashExplorer(inFiles),
    ];
    // Calls that run side by side may be in another order.
    const [points, , pointsInFiles] = explored.map((report) => report.points.map(pointText).sort());
    expect(points).toEqual(pointsInFiles);
    expect(seen.map(({ database }) => database)).toEqual([
      ...Array.from({ length: 4 }, () => "postgres"),
      "sqlite",
      "sqlite",
    ]);
    const [, first, , second] = seen;
    if (first === undefined || second === undefined) throw new Error("The schedule was not run.");
    expect(first.lives.length).toBeGreaterThan(1);
    expect(evidenceLog(second)).toBe(evidenceLog(first));
  });

  it("leaves nothing behind on the server, also if it is interrupted", PATIENCE, async () => {
    const interrupted = crashExplorer(
      onPostgres("plain-answer", {
        modes: ["crash"],
        onProgress: ({ schedules }) => {
          if (schedules === 2) throw new Error("Interrupted.");
        },
      }),
    );
    await expect(interrupted).rejects.toThrow("Interrupted.");
    expect(await server.schemas()).toEqual([]);
  });
});

describe("a bug that is planted", () => {
  const shared = MUTANTS.filter(isForPostgres);
  const explored = shared.map((mutant, i) => ({ ...mutant, i }));
  const checked = CHECKED_POSTGRES_MUTANTS.map((mutant, i) => ({ ...mutant, i }));
  const { folder, remove } = makeBundleFolder();
  let sound: Bundled;
  beforeAll(async () => {
    sound = await loadPatched(folder, "sound", []);
  }, 60_000);
  afterAll(remove);

  it.for(sampled(explored, explored.length))("is found by the explorer: $what", PATIENCE, async (mutant) => {
    const patched = await loadPatched(folder, `mutant-${mutant.i}`, mutant.patches);
    await expectFound(mutant, patched, sound, server.database);
  });

  it.for(sampled(checked, checked.length))("is found by its own check: $what", PATIENCE, async (mutant) => {
    expect(await mutant.check(sound, server.database)).toBe(true);
    const patched = await loadPatched(folder, `checked-${mutant.i}`, mutant.patches);
    expect(await mutant.check(patched, server.database)).toBe(false);
  });

  it("is mostly one that is found on SQLite too", () => {
    for (const { patches } of CHECKED_POSTGRES_MUTANTS) assertPlantable(patches);
    expect(shared.length).toBeGreaterThan(MUTANTS.length * 0.8);
    for (const { sqliteOnly } of MUTANTS) if (sqliteOnly !== undefined) expect(sqliteOnly).toMatch(/\.$/);
  });
});

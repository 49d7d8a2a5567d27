import { expect, test } from "vitest";
import { type CrashReport, crashExplorer, scheduleText } from "../../src/testing/index.ts";
import { EXPLORER_FOLDER } from "../testing/crash/explored-scenario.ts";
import { endsAsExpected, RANDOM_SCENARIOS, ScheduleTally } from "../testing/crash/random-schedule-log.ts";
import { SOAK_MINUTES, SOAK_SEED } from "./soak-options.ts";

/** How many courses of one scenario are gone before the next one has its turn. */
const COURSES = 5;
const TELL_EVERY_MS = 30_000;

test("every scenario keeps every promise on random courses, for as long as one likes", async () => {
  const tally = new ScheduleTally();
  const end = Date.now() + SOAK_MINUTES * 60_000;
  let tellAt = Date.now() + TELL_EVERY_MS;
  const tell = (seed: number) => console.log(`${tally.toString()}, seed ${seed} reached`);
  let seed = SOAK_SEED;
  console.log(`PAWL_SOAK_SEED=${seed}`);
  for (; Date.now() < end; seed += COURSES)
    for (const [name, make] of RANDOM_SCENARIOS) {
      if (Date.now() >= end) break;
      const report = await crashExplorer({
        ...EXPLORER_FOLDER,
        ...make(),
        modes: ["random"],
        courses: COURSES,
        seed,
        invariants: {
          "ends-as-it-may": endsAsExpected,
          counted: (evidence) => {
            if (evidence.schedule.kind === "random") tally.add(evidence);
            return null;
          },
        },
      });
      tellHowToReplay(name, report);
      report.assertKept();
      if (Date.now() < tellAt) continue;
      tell(seed);
      tellAt = Date.now() + TELL_EVERY_MS;
    }
  tell(seed);
  expect(tally.crashes).toBeGreaterThan(0);
});

function tellHowToReplay(name: string, { violations }: CrashReport): void {
  const schedules = new Set(violations.map(({ evidence }) => scheduleText(evidence.schedule)));
  for (const schedule of schedules)
    console.log(`node scripts/explore.ts --scenario ${name} --schedule "${schedule}"`);
}

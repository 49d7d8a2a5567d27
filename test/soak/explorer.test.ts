import { expect, test } from "vitest";
import { type CrashReport, crashExplorer, scheduleText } from "../../src/testing/crash/index.ts";
import { EXPLORER_FOLDER } from "../testing/crash/explored-scenario.ts";
import { endsAsExpected, RANDOM_SCENARIOS, ScheduleTally } from "../testing/crash/random-schedule-log.ts";
import { SOAK_MINUTES, SOAK_SEED } from "./soak-options.ts";

/** Random schedules of one scenario before the next scenario follows. */
const SCHEDULES = 5;
const PRINT_EVERY_MS = 30_000;

test("every scenario keeps every promise in random schedules, for as long as the soak test runs", async () => {
  const tally = new ScheduleTally();
  const end = Date.now() + SOAK_MINUTES * 60_000;
  let printAt = Date.now() + PRINT_EVERY_MS;
  const print = (seed: number) => console.log(`${tally.toString()}, seed ${seed} reached`);
  let seed = SOAK_SEED;
  console.log(`PAWL_SOAK_SEED=${seed}`);
  for (; Date.now() < end; seed += SCHEDULES)
    for (const [name, make] of RANDOM_SCENARIOS) {
      if (Date.now() >= end) break;
      const report = await crashExplorer({
        ...EXPLORER_FOLDER,
        ...make(),
        modes: ["random"],
        courses: SCHEDULES,
        seed,
        invariants: {
          "ends-as-expected": endsAsExpected,
          counted: (evidence) => {
            if (evidence.schedule.kind === "random") tally.add(evidence);
            return null;
          },
        },
      });
      printReplayCommands(name, report);
      report.assertKept();
      if (Date.now() < printAt) continue;
      print(seed);
      printAt = Date.now() + PRINT_EVERY_MS;
    }
  print(seed);
  expect(tally.crashes).toBeGreaterThan(0);
});

function printReplayCommands(name: string, { violations }: CrashReport): void {
  const schedules = new Set(violations.map(({ evidence }) => scheduleText(evidence.schedule)));
  for (const schedule of schedules)
    console.log(`node scripts/explore.ts --scenario ${name} --schedule "${schedule}"`);
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeJobFile } from "../../src/demo/demo.ts";
import { openOutside } from "../../src/demo/outside.ts";
import { killJob, randomKills } from "../crash/harness/jobs-killed.ts";
import { ENVIRONMENT } from "../demo/demo-fixture.ts";
import { SOAK_SEED } from "./soak-options.ts";

const RUNS = 50;

test(`${RUNS} jobs that are killed at random times and places do everything once`, async () => {
  console.log(`PAWL_SOAK_SEED=${SOAK_SEED}`);
  let kills = 0;
  for (let seed = SOAK_SEED; seed < SOAK_SEED + RUNS; seed++) {
    const folder = mkdtempSync(join(tmpdir(), "pawl-soak-"));
    const outside = await openOutside();
    try {
      writeJobFile(folder, outside);
      const { lives } = await killJob(folder, outside, randomKills(seed), ENVIRONMENT);
      kills += lives.length - 1;
    } catch (error) {
      console.log(`Seed ${seed} failed: PAWL_SOAK_SEED=${seed} starts with it.`);
      throw error;
    } finally {
      await outside.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
  console.log(`${RUNS} jobs, ${kills} kills`);
  expect(kills).toBeGreaterThan(RUNS);
});

// Runs the job of the demo with the kills of a test, and checks its result by the counts of the outside systems.

import { join } from "node:path";
import { expect, inject } from "vitest";
import { PHASES } from "../../../src/demo/job-pipeline.ts";
import { type Kill, killsOf } from "../../../src/demo/kill-plan.ts";
import type * as KilledJob from "../../../src/demo/killed-job.ts";
import { type ProcessLife, REPORT_FILES } from "../../../src/demo/killed-job.ts";
import type { DemoServices } from "../../../src/demo/outside.ts";
import { type Ledger, readLedger, tallyOf } from "../../../src/demo/tally.ts";
import { RUN_ID } from "../../../src/demo/worker-order.ts";
import { openStore } from "../../../src/store/open-store.ts";
import { seededRandom } from "../../../src/testing/crash/seeded-random.ts";

const bundled = inject("crashWorker");

/** It starts the worker that is beside it: this one starts the bundled worker. */
const { runKilled } = (await import(join(bundled, "demo/killed-job.mjs"))) as typeof KilledJob;

/** About as long as a process works on the whole job: it is killed at any time in it, or not at all. */
const LONGEST_MS = 400;

export type KilledJobResult = { readonly lives: readonly ProcessLife[]; readonly ledger: Ledger };

/**
 * Three kills: one at a point of some phase, which every process reaches, and then two at random times, by which a fast
 * process may have ended. The same seed makes the same kills.
 */
export function randomKills(seed: number): readonly Kill[] {
  const random = seededRandom(seed);
  const time = (): Kill => ({ kind: "time", afterMs: Math.floor(random() * LONGEST_MS) });
  const place = killsOf(seed)[Math.floor(random() * PHASES.length)] ?? time();
  return [place, time(), time()];
}

/** Kills the job as planned, lets it end, and asserts that everything happened once. */
export async function killJob(
  folder: string,
  outside: DemoServices,
  kills: readonly Kill[],
  environment: NodeJS.ProcessEnv,
): Promise<KilledJobResult> {
  const lives = await runKilled({
    folder,
    outside,
    kills,
    environment: { ...environment, NODE_COMPILE_CACHE: join(bundled, "compiled") },
    patienceMs: 60_000,
  });
  const store = await openStore(`file:${join(folder, "pawl.db")}`);
  try {
    // The output of the last phase, whichever process ran it.
    const output = expect.stringContaining("was written, uploaded, mailed and announced.");
    expect(await store.getRun(RUN_ID)).toMatchObject({ status: "succeeded", output, error: null });
    const ledger = await readLedger(store, RUN_ID);
    assertOnce(outside, lives, ledger);
    return { lives, ledger };
  } finally {
    await store.close();
  }
}

/** Each effect happened once, by the servers' own counts. */
function assertOnce(outside: DemoServices, lives: readonly ProcessLife[], ledger: Ledger): void {
  expect(outside.mail.accepted.map(({ to }) => to)).toEqual([["reader@pawl.example"]]);
  expect(outside.notifications.shown.size).toBe(1);
  const uploaded = [...outside.uploads.objects.values()].map(({ name }) => name);
  expect(uploaded.toSorted()).toEqual(REPORT_FILES);
  expect(ledger.artifacts.map(({ name }) => name)).toEqual(REPORT_FILES);
  const { rows, problems } = tallyOf(outside, lives, ledger);
  expect({ wrong: rows.filter(({ isRight }) => !isRight), problems }).toEqual({ wrong: [], problems: [] });
  expect(ledger.verification.events).toBeGreaterThan(0);
}

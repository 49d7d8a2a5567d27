// Runs that schedules start.

import { assertScheduleSpec, type ScheduleSpec } from "../../../../src/core/schedule/schedule-spec.ts";
import { shapeOf } from "../../../../src/engine/definition/pipeline/pipeline-shape.ts";
import { Pipeline, Step } from "../../../../src/engine/definition/step.ts";
import { systemClock } from "../../../../src/engine/ports/system-clock.ts";
import type { ProcessTools, Scenario } from "../../../../src/testing/crash/scenario.ts";
import { charge, STAND_INS } from "./errand-tools.ts";

const billing = Pipeline.of(
  "billing",
  Step.run("bill", (order: string, ctx) => ctx.call(charge, { order })),
);

/** Three planned times, in the first minutes of the world, and the next ones a year later. */
const SOON = "1-3 0 1 1 *";
const SPECS: { readonly [name: string]: Omit<ScheduleSpec, "pipeline"> } = {
  queued: { cron: SOON, overlap: "queue", catchUp: "all", input: "a" },
  skipping: { cron: SOON, overlap: "skip", catchUp: "all", input: "b" },
  byhand: { cron: "0 0 1 2 *", input: "c" },
};

const CONFIGURATION = {
  revision: 1,
  schedules: Object.entries(SPECS).map(([name, spec]) => ({
    schedule: assertScheduleSpec(name, { pipeline: "billing", ...spec }),
    entrypoint: "library",
    shape: shapeOf(billing),
  })),
};

/**
 * Three schedules: the runs of the first one run one after the other. The run of the second one waits until all of its
 * planned times have passed, so that two of them are skipped, however late they are looked at. A person pauses, resumes and
 * fires the third one; an earlier run of it is in the way, since a process that was paused must not fire another one.
 */
export function scheduleFires(): Scenario {
  return {
    name: "schedule-fires",
    pipeline: billing,
    input: "none",
    // The earlier run of the third one stays in the queue.
    mayFail: true,
    tools: STAND_INS,
    act: async (tools) => {
      const { store } = tools;
      await store.configureSchedules(CONFIGURATION);
      await actAsPerson(tools);
      const clock = tools.options.clock ?? systemClock;
      for (;;) {
        const [next] = await store.listDueSchedules({ limit: 1 });
        if (next === undefined || next.inMs > 600_000) break;
        if (next.inMs > 0) await clock.sleep(next.inMs);
        await store.fireSchedule(next.name);
        if (next.name === "queued") await workOn(tools, "queued");
      }
      for (const name of ["queued", "skipping"]) await workOn(tools, name);
      return null;
    },
  };
}

async function actAsPerson({ store, runner }: ProcessTools): Promise<void> {
  await runner.enqueue("c", { runId: "byhand@2025-12-31T00:00Z" });
  if ((await store.listFirings("byhand")).length > 0) return;
  await store.pauseSchedule("byhand", { by: "Ann" });
  await store.resumeSchedule("byhand", { by: "Ann" });
  await store.fireNow("byhand", { by: "Ann" });
}

/** As a worker that takes the first one first. */
async function workOn({ store, runner }: ProcessTools, name: string): Promise<void> {
  const runs = (await store.listRuns()).filter(({ runId }) => runId.startsWith(`${name}@`));
  for (const { runId, status } of runs.sort((a, b) => (a.runId < b.runId ? -1 : 1)))
    if (status !== "succeeded") await runner.resume(runId, { wait: true });
}

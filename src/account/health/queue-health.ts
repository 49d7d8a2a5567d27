import { counted, duration } from "../../export/figures.ts";
import type { LiveWorker, QueueDepth, StoreReader } from "../../store/store.ts";
import { type Health, ok, problem } from "./health.ts";

/** A worker reports every five seconds: one that has not for so long may be dead. */
export const SILENT_WORKER_MS = 15_000;
/** Workers wake runs within a second or two. */
const OVERDUE_MS = 10_000;

/** Runs that wait although nothing keeps them from being taken or woken. */
export async function queueHealth(store: StoreReader): Promise<Health> {
  const { ready, sleeping } = await store.readActivity({ limit: 1 });
  const workers = await store.listWorkers();
  const living = workers.filter(({ seenMs }) => seenMs < SILENT_WORKER_MS);
  const untaken = ready.filter((depth) => !living.some((worker) => takes(worker, depth)));
  const [first] = untaken;
  if (first !== undefined) {
    const runs = untaken.reduce((sum, each) => sum + each.ready, 0);
    const where = untaken.map(({ pipeline, queue }) => `${pipeline} in ${queue}`).join(", ");
    const what = `${counted(runs, "run")} ready that no living worker takes: ${where}`;
    const flag = first.queue === "default" ? "" : ` --queue ${first.queue}`;
    return problem("queues", "warn", what, `start one that has the pipeline: pawl worker${flag}`);
  }
  const late = sleeping.find(({ nextInMs }) => nextInMs < -OVERDUE_MS);
  if (late !== undefined) {
    const what = `a run of ${late.queue} should have been woken ${duration(-late.nextInMs)} ago`;
    return problem("queues", "warn", what, "any worker wakes runs of all queues: start one with pawl worker");
  }
  const runs = ready.reduce((sum, each) => sum + each.ready, 0);
  return ok(
    "queues",
    `${counted(runs, "run")} ready, ${counted(living.length, "worker")}, nothing is overdue`,
  );
}

function takes({ facts }: LiveWorker, { queue, pipeline }: QueueDepth): boolean {
  return facts.queues.includes(queue) && facts.pipelines.includes(pipeline);
}

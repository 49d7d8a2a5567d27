import type { Answer } from "../../api/client.ts";

type Activity = Pick<Answer<"getActivity">, "ready" | "sleeping" | "running">;
type Worker = Pick<Answer<"listWorkers">["items"][number], "queues" | "pipelines" | "isSilent">;

export type QueueRow = {
  readonly queue: string;
  readonly ready: number;
  /** How long the oldest of those has been ready. */
  readonly oldestMs: number;
  readonly running: number;
  readonly sleeping: number;
  readonly nextInMs: number | null;
  /** Pipelines with ready runs that no worker takes from this queue. */
  readonly untaken: readonly string[];
};

/** The queues with runs, by name. Workers that are silent take nothing. */
export function queueRows(
  { ready, sleeping, running }: Activity,
  workers: readonly Worker[],
): readonly QueueRow[] {
  const taking = workers.filter(({ isSilent }) => !isSilent);
  const names = new Set([...ready, ...running, ...sleeping].map(({ queue }) => queue));
  return [...names].toSorted().map((queue) => {
    const depths = ready.filter((each) => each.queue === queue);
    const asleep = sleeping.find((each) => each.queue === queue);
    return {
      queue,
      ready: depths.reduce((sum, each) => sum + each.ready, 0),
      oldestMs: Math.max(0, ...depths.map(({ oldestMs }) => oldestMs)),
      running: running.find((each) => each.queue === queue)?.running ?? 0,
      sleeping: asleep?.sleeping ?? 0,
      nextInMs: asleep?.nextInMs ?? null,
      untaken: depths
        .map(({ pipeline }) => pipeline)
        .filter(
          (pipeline) =>
            !taking.some((worker) => worker.queues.includes(queue) && worker.pipelines.includes(pipeline)),
        ),
    };
  });
}

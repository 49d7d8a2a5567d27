import type { LiveEvent } from "../../../engine/ports/live-events.ts";
import type { RunEvent } from "../../../engine/ports/run-events.ts";
import { type AgentCall, personOf } from "./agent-call.ts";
import { type CallMeans, viewOf } from "./call-means.ts";
import { MirroredRun } from "./mirrored-run.ts";
import type { RunView } from "./run-view.ts";

/** A call of an agent that is no conversation: a run of its own, or the one that it names. */
export async function startRun<O>(means: CallMeans<O>, input: string, call: AgentCall): Promise<MirroredRun> {
  const { runId, key, by, start } = call;
  const named = { ...(runId === undefined ? {} : { runId }), ...(key === undefined ? {} : { key }) };
  const options = { ...(by === undefined ? {} : { startedBy: personOf(by) }), ...start, ...named };
  if (!means.drives) {
    const enqueued = await means.runner.enqueue(input, options);
    return mirrored(means, viewOf(means, enqueued.runId));
  }
  // Another process may work on it: then its end is awaited, and if that process dies, the run continues here.
  const events = means.runner.stream(input, { ...options, wait: true, live: means.wantsLive });
  const first = await events.next();
  if (first.done === true) throw new Error("A run has begun without an event.");
  const view = viewOf({ ...means, wantsLive: false }, first.value.runId);
  void readOn(events, view);
  return mirrored(means, view);
}

function mirrored<O>({ target }: CallMeans<O>, view: RunView): MirroredRun {
  return new MirroredRun(view, target, { of: "run", afterTurn: 0 });
}

/** Reads to the end, whether the viewer is still there or not: the run is not cut off by a reader. */
async function readOn(events: AsyncGenerator<RunEvent | LiveEvent, void>, view: RunView): Promise<void> {
  try {
    for await (const event of events)
      if (event.type === "part" || event.type === "attempt.withdrawn") view.addLive(event);
  } catch (error) {
    view.fail(error);
  }
}

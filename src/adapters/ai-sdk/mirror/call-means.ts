import type { Json } from "../../../core/json.ts";
import type { Runner } from "../../../engine/runner/runner.ts";
import type { MirroredTarget } from "./mirrored-target.ts";
import { RunView } from "./run-view.ts";

/** What a call needs to begin. */
export type CallMeans<O> = {
  readonly runner: Runner<O, Json>;
  readonly target: MirroredTarget;
  /** Works on the run in this process. */
  readonly drives: boolean;
  readonly wantsLive: boolean;
};

export function viewOf<O>({ runner, target, wantsLive }: CallMeans<O>, runId: string): RunView {
  const { store } = target;
  return new RunView(runId, { store, watch: (id, options) => runner.watch(id, options), wantsLive });
}

/** A run of the same pipeline, input and contract that has not ended. */
export type UnfinishedRun = {
  readonly runId: string;
  readonly status: "queued" | "running" | "waiting";
  /** A live process holds its lease. */
  readonly isHeld: boolean;
};

export type RunStart =
  | { readonly kind: "begin" }
  | { readonly kind: "resume"; readonly runId: string }
  /** Another run might repeat the side effects of these. */
  | { readonly kind: "refuse"; readonly why: StartRefusal; readonly runIds: readonly string[] };

export type StartRefusal = "held" | "waiting" | "several" | "failed" | "moved";

/**
 * Decides what a call without a run id does. A process that restarts after a crash or a shutdown makes the same call again,
 * and must continue the run that it began. Anything less clear is refused, since a second run would repeat every effect
 * under other keys.
 */
export function decideRunStart(
  unfinished: readonly UnfinishedRun[],
  /** The newest run of the same input, if it has failed after side effects. */
  failedWithEffects: string | null,
): RunStart {
  const [only, ...others] = unfinished;
  const runIds = unfinished.map(({ runId }) => runId);
  if (others.length > 0) return { kind: "refuse", why: "several", runIds };
  if (only !== undefined) {
    if (only.isHeld) return { kind: "refuse", why: "held", runIds };
    return only.status === "waiting"
      ? { kind: "refuse", why: "waiting", runIds }
      : { kind: "resume", runId: only.runId };
  }
  if (failedWithEffects !== null) return { kind: "refuse", why: "failed", runIds: [failedWithEffects] };
  return { kind: "begin" };
}

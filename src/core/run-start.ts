/** A run of the same pipeline, input and contract that has not ended. */
export type UnfinishedRun = {
  readonly runId: string;
  readonly status: "queued" | "running" | "waiting";
  /** Whether a living process has it. */
  readonly isHeld: boolean;
};

export type RunStart =
  | { readonly kind: "begin" }
  | { readonly kind: "resume"; readonly runId: string }
  /** Beginning another one might do again what these have done. */
  | { readonly kind: "refuse"; readonly why: StartRefusal; readonly runIds: readonly string[] };

export type StartRefusal = "held" | "waiting" | "several" | "failed";

/**
 * What a call that names no run means. A process that is started again after a crash or a close makes the same call again,
 * and has to continue what it began; whatever is not clearly that is refused, since a second run does every effect again
 * under other keys.
 */
export function decideRunStart(
  unfinished: readonly UnfinishedRun[],
  /** The newest run of the same input, where it has failed and had effects outside. */
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

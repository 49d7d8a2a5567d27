import type { AgentCall } from "./agent-call.ts";
import type { AsAgentOptions } from "./agent-types.ts";
import type { CallMeans } from "./call-means.ts";
import type { RunView } from "./run-view.ts";

/** Leaves the run when the caller aborts, and stops it if that was asked for. Returns a function that ends this. */
export function whenAborted<O>(
  signal: AbortSignal | undefined,
  { runner, target }: CallMeans<O>,
  view: RunView,
  onAbort: NonNullable<AsAgentOptions["onAbort"]>,
  by: AgentCall["by"],
): () => void {
  const { runId } = view;
  const stop = () =>
    target.isConversation
      ? runner.stop(runId, by === undefined ? {} : { by })
      : target.store.requestCancel(runId);
  const onSignal = () => {
    view.leave(signal?.reason);
    if (onAbort === "leave") return;
    // The caller has left: there is nobody to report it to but the process.
    stop().catch((error: unknown) => process.emitWarning(`Run ${runId} was not stopped: ${String(error)}`));
  };
  signal?.addEventListener("abort", onSignal, { once: true });
  if (signal?.aborted === true) onSignal();
  return () => signal?.removeEventListener("abort", onSignal);
}

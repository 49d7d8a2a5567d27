import type { Store } from "../../store/store.ts";

/** Answers the waits of a run whose time has come, by the store's clock. True if there was something to do. */
export async function wakeIfDue(store: Store, runId: string): Promise<boolean> {
  const run = await store.getRun(runId);
  if (run === null || run.wakeAt === null) return false;
  // Its clock decides, not that of this process.
  return (await store.wakeRun(runId)) !== run.wakeAt;
}

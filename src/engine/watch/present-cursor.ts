import type { StoreReader } from "../../store/store.ts";
import { cursorBehind } from "./watch-cursor.ts";

/** The number of the last event that the run's log has now; 0 for a run that does not exist. */
export async function lastSeqOf(store: Pick<StoreReader, "readProgress">, runId: string): Promise<number> {
  return (await store.readProgress([runId])).get(runId) ?? 0;
}

/**
 * The place behind everything that the run's log has now. Take it before you read the run or send to it: what happens
 * after that read is behind the place, and a watch that begins there yields it.
 */
export async function presentCursor(
  store: Pick<StoreReader, "readProgress">,
  runId: string,
): Promise<string> {
  return cursorBehind(runId, await lastSeqOf(store, runId));
}

import { RunMovedError } from "../../../core/errors.ts";
import type { RunMove } from "../../store.ts";
import { get, type SqlScript } from "../script.ts";
import { parseJson, type RunRow } from "./run-row.ts";

/** The id of this database; null if it was never asked for. */
export function* readStoreId(): SqlScript<string | null> {
  const row = yield* get("SELECT store_id FROM identity WHERE place = ?", 1);
  return row?.text("store_id") ?? null;
}

export function moveOf({ moved }: Pick<RunRow, "moved">): RunMove | null {
  return parseJson(moved) as RunMove | null;
}

/** Throws if the run was moved to another store, or has not arrived in this one yet. */
export function* assertHere(run: RunRow): SqlScript<void> {
  const move = run.status === "moved" ? moveOf(run) : null;
  if (move !== null) throw runMoved(run.runId, move, yield* readStoreId());
}

export function runMoved(runId: string, { to }: RunMove, storeId: string | null): RunMovedError {
  const message =
    to === storeId
      ? `Run ${runId} is on its way into this store: its import has not ended. Import its bundle again with \`pawl import\`.`
      : `Run ${runId} was moved to the store ${to}: continue it there. If its bundle was lost before it arrived, make it again with \`pawl export ${runId} --bundle FILE --to ${to}\`.`;
  return new RunMovedError(message, { runId, to });
}

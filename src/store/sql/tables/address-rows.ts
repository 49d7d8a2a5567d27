import type { RunHead } from "../run-head.ts";
import { get, type SqlScript } from "../script.ts";
import { insertRow, type Transaction } from "../transaction.ts";

/** The run that is reached by an address; null if there is none. */
export function* findAddress(address: string): SqlScript<string | null> {
  const row = yield* get("SELECT run_id FROM addresses JOIN runs USING (run_key) WHERE address = ?", address);
  return row?.text("run_id") ?? null;
}

/** Gives a run an address; it may have it already. Returns the run that is in the way; null if it has it now. */
export function* takeAddress(tx: Transaction, run: RunHead, address: string): SqlScript<string | null> {
  // Of two runs that take it at once, the second one sees that it is taken.
  yield* tx.lockName(`address ${address}`);
  const owner = yield* findAddress(address);
  if (owner === null) insertRow(tx, run, "addresses", { address, created_at: tx.now });
  return owner === run.runId ? null : owner;
}

/** Why a run does not get an address. */
export function addressInUse(runId: string, address: string, owner: string): string {
  return `The address ${JSON.stringify(address)} belongs to run ${owner}, which has not ended: give run ${runId} another one, or send messages to that run.`;
}

import { WaitNotFoundError } from "../../core/errors.ts";
import { parseWaitId } from "../../core/wait.ts";
import type { StoreReader, WaitRecord } from "../../store/store.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { completeId, findRun } from "./find-run.ts";

/** The wait with this id, or the only open wait of the run with this id. */
export async function findWait(store: StoreReader, text: string): Promise<WaitRecord> {
  const waitId = await completeId(store, text);
  const parsed = parseWaitId(waitId);
  if (parsed !== null) {
    const waits = await store.listWaits(parsed.runId);
    const wait = waits.find((each) => each.waitId === waitId);
    if (wait !== undefined) return wait;
    throw new WaitNotFoundError(
      `There is no wait ${cleanLine(waitId)} in this store: \`pawl waits\` lists the open ones.`,
      { waitId },
    );
  }
  return onlyWaitOf(store, (await findRun(store, text)).runId);
}

async function onlyWaitOf(store: StoreReader, runId: string): Promise<WaitRecord> {
  const open = await store.listWaits(runId, { open: true });
  const [only, second] = open;
  if (only === undefined)
    throw new WaitNotFoundError(`Run ${runId} has no open wait: \`pawl show ${runId}\` shows its status.`, {
      waitId: runId,
    });
  if (second === undefined) return only;
  const ids = open.map(({ waitId }) => waitId).join(", ");
  throw new WrongUseError(`Run ${runId} has more than one open wait: name one of ${ids}.`, {
    candidates: open.map(({ waitId }) => waitId),
  });
}

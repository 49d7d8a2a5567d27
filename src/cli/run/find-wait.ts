import { WaitNotFoundError } from "../../core/errors.ts";
import { parseWaitId } from "../../core/wait.ts";
import type { StoreReader, WaitRecord } from "../../store/store.ts";
import { cleanLine } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { completeId, findRun } from "./find-run.ts";

/** The wait of this id; or, by the id of its run, the only open one of that run. */
export async function findWait(store: StoreReader, text: string): Promise<WaitRecord> {
  const waitId = await completeId(store, text);
  const parsed = parseWaitId(waitId);
  if (parsed !== null) {
    const waits = await store.listWaits(parsed.runId);
    const wait = waits.find((each) => each.waitId === waitId);
    if (wait !== undefined) return wait;
    throw new WaitNotFoundError(
      `There is no wait ${cleanLine(waitId)} in this store: \`pawl waits\` lists what is asked.`,
      { waitId },
    );
  }
  return onlyWaitOf(store, (await findRun(store, text)).runId);
}

async function onlyWaitOf(store: StoreReader, runId: string): Promise<WaitRecord> {
  const open = (await store.listWaits(runId)).filter(({ status }) => status === "open");
  const [only, second] = open;
  if (only === undefined)
    throw new WaitNotFoundError(`Run ${runId} waits for nobody: \`pawl show ${runId}\` says how it stands.`, {
      waitId: runId,
    });
  if (second === undefined) return only;
  const ids = open.map(({ waitId }) => waitId).join(", ");
  throw new WrongUseError(`Run ${runId} asks more than one question: say which of ${ids}.`, {
    candidates: open.map(({ waitId }) => waitId),
  });
}

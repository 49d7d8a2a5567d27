import { asksPeople } from "../../core/wait.ts";
import { counted } from "../../export/figures.ts";
import type { RunRecord, StoreReader } from "../../store/store.ts";
import { callsInDoubt } from "../calls-in-doubt.ts";
import { isInterrupted } from "../run-status.ts";
import { type Health, ok, problem } from "./health.ts";

/** A command line with these words after `pawl`, ready to paste. */
export type CommandHint = (...words: readonly string[]) => string;

/** The number of newest runs to verify: enough to notice a bad disk, and done within a second. */
const MOST_VERIFIED = 20;

/** The checks of the runs in the store. Whether the pages of a database are intact is another check. */
export async function runHealth(
  store: StoreReader,
  runs: readonly RunRecord[],
  { hint, now }: { readonly hint: CommandHint; readonly now: number },
): Promise<readonly Health[]> {
  return [
    await integrity(store, runs),
    leases(hint, runs, now),
    await waits(store, hint),
    await doubts(store, hint, runs),
  ];
}

async function integrity(store: StoreReader, runs: readonly RunRecord[]): Promise<Health> {
  const checked = runs.slice(0, MOST_VERIFIED);
  for (const { runId } of checked) {
    const { problems } = await store.verify(runId);
    if (problems.length === 0) continue;
    const remedy = `see \`pawl verify ${runId}\`, and restore the database from a backup`;
    return problem("integrity", "fail", `run ${runId} is not intact`, remedy);
  }
  return ok("integrity", `the newest ${counted(checked.length, "run")} of ${runs.length} are intact`);
}

function leases(hint: CommandHint, runs: readonly RunRecord[], now: number): Health {
  const dead = runs.filter((run) => isInterrupted(run, now));
  const [first] = dead;
  if (first === undefined) return ok("leases", "no run was interrupted by a dead worker");
  const what = `${counted(dead.length, "run")} interrupted by a dead worker`;
  return problem("leases", "warn", what, `resume with ${hint("resume", first.runId)}`);
}

async function waits(store: StoreReader, hint: CommandHint): Promise<Health> {
  const open = (await store.listOpenWaits()).filter(({ kind }) => asksPeople(kind));
  if (open.length === 0) return ok("waits", "nothing is waiting for a person");
  const what = `${counted(open.length, "question")} open`;
  return problem("waits", "warn", what, `see ${hint("waits")}`);
}

async function doubts(store: StoreReader, hint: CommandHint, runs: readonly RunRecord[]): Promise<Health> {
  let found = 0;
  let where: string | null = null;
  for (const { runId, status } of runs) {
    if (status === "succeeded") continue;
    const unsettled = (await store.listToolCalls(runId)).filter((call) => call.status === "in_doubt");
    if (unsettled.length === 0) continue;
    const doubtful = callsInDoubt(unsettled, await store.listWaits(runId));
    found += doubtful.length;
    if (doubtful.length > 0) where ??= runId;
  }
  if (where === null) return ok("in doubt", "no tool call is in doubt");
  const what = `the outcome of ${counted(found, "call")} is unknown`;
  return problem("in doubt", "warn", what, `see ${hint("receipts", where, "--in-doubt")}`);
}

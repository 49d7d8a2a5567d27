import type { StoreReader } from "../store/store.ts";
import { readRunAccount } from "./run-account.ts";
import { logOf } from "./run-log.ts";
import { traceOf } from "./trace.ts";
import { transcriptOf } from "./transcript.ts";

/** What is written of a run for people and trace viewers, by file name: from the store alone, so it can be made anew. */
export async function telemetryOf(
  reader: StoreReader,
  runId: string,
): Promise<readonly (readonly [name: string, text: string])[]> {
  const account = await readRunAccount(reader, runId);
  return [
    ["trace.json", `${JSON.stringify(traceOf(account), null, 1)}\n`],
    ["transcript.md", await transcriptOf(reader, account)],
    ["run.log", logOf(account)],
  ];
}

import type { StoreReader } from "../store/store.ts";
import { type RunAccount, readRunAccount } from "./run-account.ts";
import { logOf } from "./run-log.ts";
import { traceOf } from "./trace.ts";
import { transcriptOf } from "./transcript.ts";

type NamedText = readonly [name: string, text: string];

/** What is written of a run for people and trace viewers, by file name: from the store alone, so it can be made anew. */
export async function telemetryOf(reader: StoreReader, runId: string): Promise<readonly NamedText[]> {
  return telemetryIn(reader, await readRunAccount(reader, runId));
}

export async function telemetryIn(reader: StoreReader, account: RunAccount): Promise<readonly NamedText[]> {
  return [
    ["trace.json", documentText(traceOf(account))],
    ["transcript.md", await transcriptOf(reader, account)],
    ["run.log", logOf(account)],
  ];
}

/** A document as its file has it. */
export function documentText(document: unknown): string {
  return `${JSON.stringify(document, null, 1)}\n`;
}

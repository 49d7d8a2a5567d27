import { type RunAccount, readRunAccount } from "../export/run-account.ts";
import type { StoreReader } from "../store/store.ts";
import {
  artifactDocument,
  attemptDocument,
  callDocument,
  checkpointDocument,
  runDocument,
  stepDocument,
  turnDocument,
  waitDocument,
} from "./documents.ts";
import type { NextStep } from "./next-steps.ts";

/** All that is stored of a run, and how much of its budgets it has used, for `pawl show`. */
export type RunReport = RunAccount & {
  readonly work: { readonly steps: number; readonly toolCalls: number };
};

export async function readRunReport(store: StoreReader, runId: string): Promise<RunReport> {
  return { ...(await readRunAccount(store, runId)), work: await store.countWork(runId) };
}

export function reportDocument(report: RunReport, now: number, next: readonly NextStep[]): object {
  return {
    run: runDocument(report.run, now),
    input: report.input,
    usage: report.usage,
    used: report.work,
    steps: report.steps.map(stepDocument),
    turns: report.turns.map(turnDocument),
    calls: report.calls.map(callDocument),
    waits: report.waits.map(waitDocument),
    artifacts: report.artifacts.map(artifactDocument),
    checkpoints: report.checkpoints.map(checkpointDocument),
    attempts: report.attempts.map(attemptDocument),
    next,
  };
}

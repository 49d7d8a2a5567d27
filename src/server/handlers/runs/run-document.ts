import { nextSteps } from "../../../account/next-steps.ts";
import { outageDocument, readOutage } from "../../../account/run-outage.ts";
import { isoTime } from "../../../export/figures.ts";
import { betweenPages, everyRecord } from "../../../export/record-pages.ts";
import type { RunRecord, StoreReader, ToolCallRecord } from "../../../store/store.ts";
import { budgetUses } from "../../documents/budget-uses.ts";
import { decisionDocument } from "../../documents/decision-document.ts";
import { runHeadDocument } from "../../documents/run-head-document.ts";
import { notFound } from "../../scope/run-scope.ts";
import { isConversation } from "../known-pipeline.ts";
import type { ServerParts } from "../server-parts.ts";
import type { RunAccounts, RunCount } from "./run-accounts.ts";

/** A run, and what can be done about it. */
export async function readRun(parts: ServerParts, accounts: RunAccounts, run: RunRecord) {
  const { store, clock } = parts;
  const { runId, resumeRequest } = run;
  const now = clock.now();
  const head = await store.readRunHead(runId);
  // Deleted since it was looked up.
  if (head === null) throw notFound("run", runId);
  const { turns, lastTurn, lostWork } = await accounts.countsOf(runId, head.eventSeq);
  const waits = await store.listWaits(runId, { open: true });
  const doubts = head.callsInDoubt === 0 ? [] : await callsInDoubt(store, runId);
  // Of a long run each takes some ten milliseconds: other requests are answered in between.
  await betweenPages();
  const work = await store.countWork(runId);
  await betweenPages();
  const outage = await readOutage(store, run, committedTurn(run, lastTurn));
  return {
    head: runHeadDocument(head, now),
    ...stored(run),
    input: (await store.readRunInput(runId)).input,
    usage: await store.readUsage(runId),
    budgets: budgetUses(run, { ...work, toolCalls: await callsUsed(store, run, work.toolCalls) }, now),
    lostWork: { charged: lostWork.total.charged, requests: lostWork.total.modelCalls },
    outage: outage === null ? null : outageDocument(outage),
    steps: work.steps,
    turns,
    isConversation: await hasConversation(parts, run),
    milestone: await readMilestone(store, runId),
    resumeRequested:
      resumeRequest === null
        ? null
        : { at: isoTime(resumeRequest.by.at), by: resumeRequest.by.name, from: resumeRequest.from },
    next: nextSteps(run, waits, doubts, now),
  };
}

function stored(run: RunRecord) {
  const { entrypoint, output, error, spec, forkedFrom, startedBy, moved, finalArtifact } = run;
  const { workerVersion, concurrencyKey, priority } = run;
  return {
    entrypoint,
    inputHash: Buffer.from(run.inputHash).toString("hex"),
    output,
    error: error === null ? null : { code: error.code, message: error.message, details: error.details },
    spec,
    deadline: isoTime(run.deadline),
    cancelRequestedAt: isoTime(run.cancelRequestedAt),
    forkedFrom:
      forkedFrom === null
        ? null
        : { runId: forkedFrom.runId, stepPath: forkedFrom.stepPath, turnIndex: forkedFrom.turnIndex },
    startedBy: startedBy === null ? null : decisionDocument(startedBy),
    moved: moved === null ? null : { from: moved.from, to: moved.to },
    finalArtifact,
    workerVersion,
    concurrencyKey,
    priority,
  };
}

/** The last turn of the current step that is committed, if it has one. A fork has not committed those that it began with. */
function committedTurn({ currentStep, forkedFrom }: RunRecord, lastTurn: RunCount["lastTurn"]): number {
  const last = lastTurn ?? forkedFrom;
  return last?.stepPath === currentStep ? last.turnIndex : 0;
}

/** The ledger has the calls that a budget has refused as well: they never began, so they have used nothing of it. */
async function callsUsed(
  store: StoreReader,
  { runId, budgets }: RunRecord,
  inLedger: number,
): Promise<number> {
  if (inLedger <= (budgets?.maxToolCalls ?? inLedger)) return inLedger;
  let refused = 0;
  for await (const call of everyRecord<ToolCallRecord>((range) => store.listToolCalls(runId, range)))
    if (call.status === "prepared") refused += 1;
  return inLedger - refused;
}

async function callsInDoubt(store: StoreReader, runId: string): Promise<readonly ToolCallRecord[]> {
  const doubts: ToolCallRecord[] = [];
  for await (const call of everyRecord<ToolCallRecord>((range) => store.listToolCalls(runId, range)))
    if (call.status === "in_doubt") doubts.push(call);
  return doubts;
}

async function readMilestone(store: StoreReader, runId: string) {
  const found = await store.findMilestone(runId);
  if (found === null) return null;
  const { checkpoint, type, stepPath, turnIndex, at } = found;
  return { checkpoint, type, stepPath, turnIndex, at: isoTime(at) };
}

/** The code says it where the server has it; otherwise what has happened in the run. */
async function hasConversation({ store, pipelines }: ServerParts, run: RunRecord): Promise<boolean> {
  const runner = pipelines.get(run.pipeline);
  if (runner !== undefined) return isConversation(runner);
  return (await store.listExchanges(run.runId, { limit: 1 })).length > 0;
}

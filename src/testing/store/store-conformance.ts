import { artifactChecks } from "./calls/artifacts.ts";
import { blobCollectionChecks } from "./calls/blob-collection.ts";
import { blobChecks } from "./calls/blobs.ts";
import { callAttemptChecks } from "./calls/call-attempts.ts";
import { correlationChecks } from "./calls/correlations.ts";
import { inDoubtChecks } from "./calls/in-doubt.ts";
import { lateReceiptChecks } from "./calls/late-receipts.ts";
import { ledgerEventChecks } from "./calls/ledger-events.ts";
import { receiptChecks } from "./calls/receipts.ts";
import { settlementChecks } from "./calls/settlements.ts";
import { toolCallChecks } from "./calls/tool-calls.ts";
import type { Check, OpenConformanceDatabase, StoresOfCheck } from "./check.ts";
import { runCheck } from "./check.ts";
import { arrivingChecks } from "./runs/arriving.ts";
import { auditChecks } from "./runs/audit.ts";
import { budgetChecks } from "./runs/budgets.ts";
import { cancelChecks } from "./runs/cancel.ts";
import { claimQuotaChecks } from "./runs/claim-quota.ts";
import { eventChecks } from "./runs/events.ts";
import { fencingChecks } from "./runs/fencing.ts";
import { leaseChecks } from "./runs/leases.ts";
import { leavingChecks } from "./runs/leaving.ts";
import { listRangeChecks } from "./runs/list-ranges.ts";
import { liveWorkerChecks } from "./runs/live-workers.ts";
import { neededPeopleChecks } from "./runs/needed-people.ts";
import { queueChecks } from "./runs/queue.ts";
import { quotaChecks } from "./runs/quota.ts";
import { resumeRequestChecks } from "./runs/resume-requests.ts";
import { resumeWorkChecks } from "./runs/resume-work.ts";
import { retentionChecks } from "./runs/retention.ts";
import { runFilterChecks } from "./runs/run-filters.ts";
import { runPageChecks } from "./runs/run-pages.ts";
import { runChecks } from "./runs/runs.ts";
import { overlapChecks } from "./runs/schedule-overlap.ts";
import { scheduleChecks } from "./runs/schedules.ts";
import { stepChecks } from "./runs/steps.ts";
import { textChecks } from "./runs/texts.ts";
import { threadChecks } from "./runs/threads.ts";
import { togetherChecks } from "./runs/together.ts";
import { verificationChecks } from "./runs/verification.ts";
import { workerChecks } from "./runs/workers.ts";
import { accessChecks } from "./server/access.ts";
import { overviewChecks } from "./server/overview.ts";
import { runChangeChecks } from "./server/run-changes.ts";
import { spendChecks } from "./server/spend.ts";
import { webhookDeliveryChecks } from "./server/webhook-deliveries.ts";
import { webhookChecks } from "./server/webhooks.ts";
import { checkpointChecks } from "./turns/checkpoints.ts";
import { divergenceChecks } from "./turns/divergence.ts";
import { droppedTurnChecks } from "./turns/dropped-turns.ts";
import { forkLedgerChecks } from "./turns/fork-ledger.ts";
import { forkLifeChecks } from "./turns/fork-life.ts";
import { forkChecks } from "./turns/forks.ts";
import { historyChecks } from "./turns/history.ts";
import { lateCheckpointChecks } from "./turns/late-checkpoints.ts";
import { lineageChecks } from "./turns/lineages.ts";
import { livePartChecks } from "./turns/live-parts.ts";
import { sessionChecks } from "./turns/session.ts";
import { sessionEventChecks } from "./turns/session-events.ts";
import { turnChecks } from "./turns/turns.ts";
import { answerChecks } from "./waits/answers.ts";
import { approvalChecks } from "./waits/approvals.ts";
import { budgetWaitChecks } from "./waits/budget-waits.ts";
import { clockWaitChecks } from "./waits/clock-waits.ts";
import { compactionChecks } from "./waits/compactions.ts";
import { conversationWaitChecks } from "./waits/conversation-waits.ts";
import { exchangeChecks } from "./waits/exchanges.ts";
import { messageFileChecks } from "./waits/message-files.ts";
import { messageChecks } from "./waits/messages.ts";
import { peopleChecks } from "./waits/people.ts";
import { questionChecks } from "./waits/questions.ts";
import { refusedTextChecks } from "./waits/refused-texts.ts";
import { waitListChecks } from "./waits/wait-lists.ts";
import { waitingTimeChecks } from "./waits/waiting-time.ts";
import { waitChecks } from "./waits/waits.ts";

export type { ConformanceDatabase, OpenConformanceDatabase, StoresOfCheck } from "./check.ts";
export type { StoreOnThread } from "./store-thread.ts";

/** One promise of the contract. Rejects, with an `AssertionError` from `node:assert`, if a store breaks it. */
export type StoreCheck = {
  /** A sentence, unique in the suite. */
  readonly name: string;
  /**
   * `several`: the check opens more than one store on the same database, as several processes would. `threads`: it also
   * opens some on threads of their own, so the database needs `thread`.
   */
  readonly stores: StoresOfCheck;
  run(): Promise<void>;
};

const SUBJECTS: { readonly [subject: string]: readonly Check[] } = {
  runs: runChecks,
  leases: leaseChecks,
  fencing: fencingChecks,
  steps: stepChecks,
  quota: quotaChecks,
  "quota across claims": claimQuotaChecks,
  budgets: budgetChecks,
  "budget waits": budgetWaitChecks,
  "waiting time": waitingTimeChecks,
  turns: turnChecks,
  "dropped turns": droppedTurnChecks,
  "tool calls": toolCallChecks,
  "call attempts": callAttemptChecks,
  correlations: correlationChecks,
  receipts: receiptChecks,
  "in doubt": inDoubtChecks,
  approvals: approvalChecks,
  people: peopleChecks,
  waits: waitChecks,
  "lists of waits": waitListChecks,
  answers: answerChecks,
  questions: questionChecks,
  "the clock": clockWaitChecks,
  messages: messageChecks,
  "files of messages": messageFileChecks,
  "texts that a provider refuses": refusedTextChecks,
  exchanges: exchangeChecks,
  compactions: compactionChecks,
  "waits of conversations": conversationWaitChecks,
  settlements: settlementChecks,
  "late receipts": lateReceiptChecks,
  history: historyChecks,
  session: sessionChecks,
  "session events": sessionEventChecks,
  checkpoints: checkpointChecks,
  "late checkpoints": lateCheckpointChecks,
  "live parts": livePartChecks,
  lineages: lineageChecks,
  divergence: divergenceChecks,
  forks: forkChecks,
  "ledger of a fork": forkLedgerChecks,
  "life of a fork": forkLifeChecks,
  cancel: cancelChecks,
  "resume requests": resumeRequestChecks,
  "work of a resume": resumeWorkChecks,
  access: accessChecks,
  "the audit log": auditChecks,
  webhooks: webhookChecks,
  "deliveries to webhooks": webhookDeliveryChecks,
  workers: workerChecks,
  queue: queueChecks,
  "live workers": liveWorkerChecks,
  retention: retentionChecks,
  "pages of runs": runPageChecks,
  "filters of runs": runFilterChecks,
  "runs that need people": neededPeopleChecks,
  "changes of runs": runChangeChecks,
  spend: spendChecks,
  "overview of a store": overviewChecks,
  schedules: scheduleChecks,
  "overlap of schedules": overlapChecks,
  blobs: blobChecks,
  artifacts: artifactChecks,
  "blob collection": blobCollectionChecks,
  "lists in parts": listRangeChecks,
  events: eventChecks,
  "events of the ledger": ledgerEventChecks,
  verification: verificationChecks,
  "leaving a store": leavingChecks,
  "arriving in a store": arrivingChecks,
  "many at once": togetherChecks,
  texts: textChecks,
  threads: threadChecks,
};

/**
 * The checks that every implementation of `Store` must pass. No test framework is needed: each check is a name and a
 * function, and each runs on a database of its own.
 *
 * @example
 * const open = async ({ now }: { now: () => number }) => {
 *   const folder = await mkdtemp(join(tmpdir(), "store-"));
 *   return {
 *     open: () => openStore(`file:${folder}/pawl.db`, { now }),
 *     dispose: () => rm(folder, { recursive: true }),
 *   };
 * };
 * for (const check of storeConformance(open)) it(check.name, () => check.run());
 */
export function storeConformance(open: OpenConformanceDatabase): readonly StoreCheck[] {
  return Object.entries(SUBJECTS).flatMap(([subject, checks]) =>
    checks.map((check) => ({
      name: `${subject}: ${check.name}`,
      stores: check.stores,
      run: () => runCheck(check, open),
    })),
  );
}

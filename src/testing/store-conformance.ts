import { answerChecks } from "./store-conformance/answers.ts";
import { approvalChecks } from "./store-conformance/approvals.ts";
import { artifactChecks } from "./store-conformance/artifacts.ts";
import { blobCollectionChecks } from "./store-conformance/blob-collection.ts";
import { blobChecks } from "./store-conformance/blobs.ts";
import { budgetWaitChecks } from "./store-conformance/budget-waits.ts";
import { budgetChecks } from "./store-conformance/budgets.ts";
import { cancelChecks } from "./store-conformance/cancel.ts";
import type { Check, OpenConformanceDatabase } from "./store-conformance/check.ts";
import { runCheck } from "./store-conformance/check.ts";
import { checkpointChecks } from "./store-conformance/checkpoints.ts";
import { claimQuotaChecks } from "./store-conformance/claim-quota.ts";
import { correlationChecks } from "./store-conformance/correlations.ts";
import { divergenceChecks } from "./store-conformance/divergence.ts";
import { droppedTurnChecks } from "./store-conformance/dropped-turns.ts";
import { eventChecks } from "./store-conformance/events.ts";
import { fencingChecks } from "./store-conformance/fencing.ts";
import { forkLedgerChecks } from "./store-conformance/fork-ledger.ts";
import { forkLifeChecks } from "./store-conformance/fork-life.ts";
import { forkChecks } from "./store-conformance/forks.ts";
import { historyChecks } from "./store-conformance/history.ts";
import { inDoubtChecks } from "./store-conformance/in-doubt.ts";
import { lateReceiptChecks } from "./store-conformance/late-receipts.ts";
import { leaseChecks } from "./store-conformance/leases.ts";
import { ledgerEventChecks } from "./store-conformance/ledger-events.ts";
import { lineageChecks } from "./store-conformance/lineages.ts";
import { listRangeChecks } from "./store-conformance/list-ranges.ts";
import { peopleChecks } from "./store-conformance/people.ts";
import { questionChecks } from "./store-conformance/questions.ts";
import { quotaChecks } from "./store-conformance/quota.ts";
import { receiptChecks } from "./store-conformance/receipts.ts";
import { runChecks } from "./store-conformance/runs.ts";
import { sessionChecks } from "./store-conformance/session.ts";
import { sessionEventChecks } from "./store-conformance/session-events.ts";
import { settlementChecks } from "./store-conformance/settlements.ts";
import { stepChecks } from "./store-conformance/steps.ts";
import { togetherChecks } from "./store-conformance/together.ts";
import { toolCallChecks } from "./store-conformance/tool-calls.ts";
import { tryChecks } from "./store-conformance/tries.ts";
import { turnChecks } from "./store-conformance/turns.ts";
import { verificationChecks } from "./store-conformance/verification.ts";
import { waitingTimeChecks } from "./store-conformance/waiting-time.ts";
import { waitChecks } from "./store-conformance/waits.ts";
import { workerChecks } from "./store-conformance/workers.ts";

export type { ConformanceDatabase, OpenConformanceDatabase } from "./store-conformance/check.ts";

/** One promise of the contract. It rejects, with an `AssertionError` from `node:assert`, where a store breaks it. */
export type StoreCheck = {
  /** A sentence, unique in the suite. */
  readonly name: string;
  /** `several`: the check opens more than one store on the same database, as several processes would. */
  readonly stores: "one" | "several";
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
  "questions about budgets": budgetWaitChecks,
  "waiting time": waitingTimeChecks,
  turns: turnChecks,
  "dropped turns": droppedTurnChecks,
  "tool calls": toolCallChecks,
  tries: tryChecks,
  correlations: correlationChecks,
  receipts: receiptChecks,
  "in doubt": inDoubtChecks,
  approvals: approvalChecks,
  people: peopleChecks,
  waits: waitChecks,
  answers: answerChecks,
  questions: questionChecks,
  settlements: settlementChecks,
  "late receipts": lateReceiptChecks,
  history: historyChecks,
  session: sessionChecks,
  "session events": sessionEventChecks,
  checkpoints: checkpointChecks,
  lineages: lineageChecks,
  divergence: divergenceChecks,
  forks: forkChecks,
  "the ledger of a fork": forkLedgerChecks,
  "the life of a fork": forkLifeChecks,
  cancel: cancelChecks,
  workers: workerChecks,
  blobs: blobChecks,
  artifacts: artifactChecks,
  "blob collection": blobCollectionChecks,
  "lists in parts": listRangeChecks,
  events: eventChecks,
  "events of the ledger": ledgerEventChecks,
  verification: verificationChecks,
  "many at once": togetherChecks,
};

/**
 * What every store must keep to, whatever it is made of. No test framework is needed: each check is a name and a
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

import type { Invariant } from "../invariant.ts";
import { runsAsApproved } from "./approvals.ts";
import { compactedOnce } from "./compactions.ts";
import { databaseIntact, eventsVerify, referencesHaveBlobs } from "./database.ts";
import { deletedOrWhole } from "./deletion.ts";
import { effectsAtMostOnce, effectsExactlyOnceWhereSucceeded, oneFingerprintPerKey } from "./effects.ts";
import { endsOrWaits, resumingTwiceIsResumingOnce } from "./end.ts";
import { exchangeEndsOnce, messagesInOrder, oneSenderAnExchange } from "./exchanges.ts";
import { divergedIsSilent, writesUnderTheEpoch } from "./fencing.ts";
import { keysFitTheirCalls, wantedOnceHadOnce } from "./keys.ts";
import { callsMatchTheLedger, journalBeforeTools, nothingRunsAtRest, receiptsImmutable } from "./ledger.ts";
import { ledgerTransitions } from "./ledger-transitions.ts";
import { abandonedIsFound, claimedByOne, enqueuedOnce, forksWaitForPeople, perKeyHeld } from "./queue.ts";
import { noMoreEffectsThanUndisturbed } from "./repeats.ts";
import { resumedAsRequested } from "./resume-requests.ts";
import { sameEnd } from "./same-end.ts";
import { firesOnce, overlapHeld, skipsAreTold } from "./schedules.ts";
import { silenceIsNoProof } from "./silence.ts";
import { stepsDoneOnce } from "./steps.ts";
import { committedTurnsKept, journaledResponsesKept, turnsWithoutAHole } from "./turns.ts";
import { reservationsBalance, usageExact } from "./usage.ts";
import {
  liveChangesNothing,
  noHalfAnswerJournaled,
  oldEpochsAreSilent,
  viewerConverges,
  withdrawnIsNeverFinal,
} from "./viewers.ts";
import {
  acceptedOrReturned,
  dueComputedOnce,
  messagesTakenOnce,
  neverEarly,
  oneAnswerAWait,
  wakesWhenDue,
} from "./waits.ts";
import { webhookNeverLost } from "./webhooks.ts";

/** Every promise that is checked, in the order of the report. */
export const INVARIANTS: readonly Invariant[] = [
  effectsAtMostOnce,
  effectsExactlyOnceWhereSucceeded,
  noMoreEffectsThanUndisturbed,
  wantedOnceHadOnce,
  oneFingerprintPerKey,
  keysFitTheirCalls,
  runsAsApproved,
  journaledResponsesKept,
  committedTurnsKept,
  turnsWithoutAHole,
  stepsDoneOnce,
  callsMatchTheLedger,
  nothingRunsAtRest,
  ledgerTransitions,
  receiptsImmutable,
  journalBeforeTools,
  usageExact,
  reservationsBalance,
  silenceIsNoProof,
  writesUnderTheEpoch,
  claimedByOne,
  perKeyHeld,
  enqueuedOnce,
  forksWaitForPeople,
  firesOnce,
  overlapHeld,
  skipsAreTold,
  referencesHaveBlobs,
  divergedIsSilent,
  neverEarly,
  dueComputedOnce,
  oneAnswerAWait,
  messagesTakenOnce,
  messagesInOrder,
  oneSenderAnExchange,
  exchangeEndsOnce,
  compactedOnce,
  acceptedOrReturned,
  resumedAsRequested,
  viewerConverges,
  withdrawnIsNeverFinal,
  oldEpochsAreSilent,
  noHalfAnswerJournaled,
  liveChangesNothing,
  sameEnd,
  endsOrWaits,
  wakesWhenDue,
  abandonedIsFound,
  deletedOrWhole,
  webhookNeverLost,
  resumingTwiceIsResumingOnce,
  eventsVerify,
  databaseIntact,
];

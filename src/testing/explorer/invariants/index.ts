import type { Invariant } from "../invariant.ts";
import { databaseIntact, eventsVerify, referencesHaveBlobs } from "./database.ts";
import { effectsAtMostOnce, effectsExactlyOnceWhereSucceeded, oneFingerprintPerKey } from "./effects.ts";
import { endsOrWaits, resumingTwiceIsResumingOnce } from "./end.ts";
import { divergedIsSilent, writesUnderTheEpoch } from "./fencing.ts";
import { callsMatchTheLedger, journalBeforeTools, receiptsImmutable } from "./ledger.ts";
import { ledgerTransitions } from "./ledger-transitions.ts";
import { sameEnd } from "./same-end.ts";
import { committedTurnsKept, turnsWithoutAHole } from "./turns.ts";
import { reservationsBalance, usageExact } from "./usage.ts";

/** Every promise that is judged, in the order in which they are told. */
export const INVARIANTS: readonly Invariant[] = [
  effectsAtMostOnce,
  effectsExactlyOnceWhereSucceeded,
  oneFingerprintPerKey,
  committedTurnsKept,
  turnsWithoutAHole,
  callsMatchTheLedger,
  ledgerTransitions,
  receiptsImmutable,
  journalBeforeTools,
  usageExact,
  reservationsBalance,
  writesUnderTheEpoch,
  referencesHaveBlobs,
  divergedIsSilent,
  sameEnd,
  endsOrWaits,
  resumingTwiceIsResumingOnce,
  eventsVerify,
  databaseIntact,
];

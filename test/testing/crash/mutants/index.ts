import { EXCHANGE_MUTANTS } from "./exchange-mutants.ts";
import { LEDGER_MUTANTS } from "./ledger-mutants.ts";
import { MARK_MUTANTS } from "./mark-mutants.ts";
import type { CheckedMutant, Mutant } from "./mutant.ts";
import { OWNERSHIP_MUTANTS } from "./ownership-mutants.ts";
import { QUEUE_MUTANTS } from "./queue-mutants.ts";
import { RESUME_MUTANTS } from "./resume-mutants.ts";
import { SCHEDULE_MUTANTS } from "./schedule-mutants.ts";
import { SESSION_MUTANTS } from "./session-mutants.ts";
import { STORE_MUTANTS } from "./store-mutants.ts";
import { TURN_MUTANTS } from "./turn-mutants.ts";
import { USAGE_MUTANTS } from "./usage-mutants.ts";
import { VIEWER_MUTANTS } from "./viewer-mutants.ts";
import { WAIT_MUTANTS } from "./wait-mutants.ts";
import { WEBHOOK_MUTANTS } from "./webhook-mutants.ts";
import { WRITE_MUTANTS } from "./write-mutants.ts";

/** Every bug that the explorer must find. */
export const MUTANTS: readonly Mutant[] = [
  ...OWNERSHIP_MUTANTS,
  ...LEDGER_MUTANTS,
  ...TURN_MUTANTS,
  ...USAGE_MUTANTS,
  ...SESSION_MUTANTS,
  ...STORE_MUTANTS,
  ...WAIT_MUTANTS,
  ...EXCHANGE_MUTANTS,
  ...SCHEDULE_MUTANTS,
  ...QUEUE_MUTANTS,
  ...RESUME_MUTANTS,
  ...VIEWER_MUTANTS,
  ...WEBHOOK_MUTANTS,
];

/** Every bug that is noticed by a check of its own. */
export const CHECKED_MUTANTS: readonly CheckedMutant[] = [...MARK_MUTANTS, ...WRITE_MUTANTS];

import type {
  FailedAttemptOutcome,
  ReceiptStatus,
  RecoveryClass,
  SideEffectClass,
  UnsettledStatus,
} from "../../core/call/tool-call-decision.ts";
import type { ChargeBasis } from "../../core/usage/usage.ts";
import type { PersonWaitKind, WaitKind } from "../../core/wait.ts";
import type {
  AttemptRecord,
  CheckpointType,
  EndedStatus,
  ExchangeOutcome,
  FiringOutcome,
  MessageMode,
  MessageStatus,
  ReceiptSource,
  RunStatus,
  ShownStatus,
  StepStatus,
  StoredSlice,
  WaitRecord,
} from "../store.ts";

// The words that columns hold, for `Row.oneOf`. Records, so that the compiler refuses a word that is missing.

function words<T extends string>(all: { readonly [W in T]: true }): readonly T[] {
  return Object.keys(all).filter((word): word is T => Object.hasOwn(all, word));
}

export const RUN_STATUSES = words<RunStatus>({
  queued: true,
  running: true,
  waiting: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  moved: true,
});

export const SHOWN_STATUSES = words<ShownStatus>({
  queued: true,
  running: true,
  interrupted: true,
  waiting: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  moved: true,
});

export const ENDED_STATUSES = words<EndedStatus>({
  succeeded: true,
  failed: true,
  cancelled: true,
  moved: true,
});

export const ATTEMPT_ENDS = words<NonNullable<AttemptRecord["endStatus"]>>({
  queued: true,
  running: true,
  waiting: true,
  succeeded: true,
  failed: true,
  cancelled: true,
  interrupted: true,
});

export const RESUMED_FROM = words<NonNullable<AttemptRecord["resumedFrom"]>>({ turn: true, milestone: true });

export const STEP_STATUSES = words<StepStatus>({
  ready: true,
  running: true,
  blocked: true,
  succeeded: true,
  failed: true,
  skipped: true,
});

export const CALL_STATES = words<UnsettledStatus>({ prepared: true, running: true, in_doubt: true });

export const RECEIPT_STATUSES = words<ReceiptStatus>({
  succeeded: true,
  failed: true,
  deduplicated: true,
  cancelled: true,
});

export const RECEIPT_SOURCES = words<ReceiptSource>({
  tool: true,
  reconciled: true,
  person: true,
  late: true,
  pawl: true,
});

export const SIDE_EFFECT_CLASSES = words<SideEffectClass>({
  external: true,
  memory: true,
  local: true,
  read_only: true,
});

export const RECOVERY_CLASSES = words<RecoveryClass>({
  repeat: true,
  keyed: true,
  reconcile: true,
  opaque: true,
});

export const ATTEMPT_OUTCOMES = words<FailedAttemptOutcome>({
  failed: true,
  not_applied: true,
  needs_human: true,
  needs_wait: true,
  timed_out: true,
  aborted: true,
  lost: true,
});

export const PERSON_WAIT_KINDS = words<PersonWaitKind>({
  approval: true,
  possible_duplicate: true,
  in_doubt: true,
  escalation: true,
  question: true,
  budget: true,
});

export const WAIT_KINDS: readonly WaitKind[] = [...PERSON_WAIT_KINDS, "time", "message"];

export const WAIT_STATUSES = words<WaitRecord["status"]>({ open: true, answered: true, withdrawn: true });

export const MESSAGE_STATUSES = words<MessageStatus>({
  waiting: true,
  taken: true,
  withdrawn: true,
  returned: true,
});

export const FIRING_OUTCOMES = words<FiringOutcome>({ started: true, skipped: true, missed: true });

export const CHARGE_BASES = words<ChargeBasis>({ provider: true, baseline: true, none: true });

export const CHECKPOINT_TYPES = words<CheckpointType>({
  milestone: true,
  step_boundary: true,
  phase_boundary: true,
  pre_side_effect: true,
});

export const SLICE_KINDS = words<StoredSlice["kind"]>({ state: true, log: true });

export const MESSAGE_MODES = words<MessageMode>({ queue: true, steer: true, interrupt: true });

export const EXCHANGE_OUTCOMES = words<ExchangeOutcome>({
  complete: true,
  stopped: true,
  failed: true,
  max_turns: true,
  budget: true,
  rolled_back: true,
});

-- The same tables as on SQLite, without foreign keys: they would double the work of the server in every turn, and
-- `pawl verify` checks the rows of a run. Texts in keys are compared byte by byte, as on SQLite.
--
-- Every key leads with the run. Steps, calls, waits, checkpoints and events are numbered inside their run, and the last
-- numbers given out are in its row.

CREATE TABLE runs (
  run_key UUID PRIMARY KEY,
  run_id TEXT COLLATE "C" NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'moved')),
  pipeline TEXT NOT NULL,
  entrypoint TEXT NOT NULL,
  input_hash BYTEA NOT NULL,
  current_step_no BIGINT,
  owner TEXT,
  epoch BIGINT NOT NULL,
  -- Renewed without an event.
  lease_until BIGINT NOT NULL,
  lease_ms BIGINT NOT NULL,
  -- Identifies the notes of what its owner sends.
  marks TEXT,
  limit_tokens BIGINT,
  limit_micro_dollars BIGINT,
  charged_tokens BIGINT NOT NULL,
  charged_micro_dollars BIGINT NOT NULL,
  reserved_tokens BIGINT NOT NULL CHECK (reserved_tokens >= 0),
  reserved_micro_dollars BIGINT NOT NULL CHECK (reserved_micro_dollars >= 0),
  steps BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  waits BIGINT NOT NULL,
  checkpoints BIGINT NOT NULL,
  -- How many events cover rows of the run as a whole.
  run_events BIGINT NOT NULL,
  event_seq BIGINT NOT NULL,
  event_hash BYTEA NOT NULL,
  -- The last event that covers this row.
  row_seq BIGINT NOT NULL,
  deadline_at BIGINT,
  budgets TEXT,
  waiting_since BIGINT,
  cancel_requested_at BIGINT,
  cancel_requested_by TEXT,
  forked_from TEXT,
  started_by TEXT,
  -- Where it waits for a worker, and which runs it must not run beside.
  queue TEXT NOT NULL,
  concurrency_key TEXT,
  priority BIGINT NOT NULL,
  -- What lists of runs are filtered by; `run_labels` has it in rows.
  metadata TEXT,
  -- When a queued run became ready, or will.
  ready_at BIGINT,
  -- When the clock has something to do: a queued run that begins later, a waiting run with a time limit.
  wake_at BIGINT,
  -- How many workers in a row died in it without a commit.
  stalls BIGINT NOT NULL,
  -- The version of the worker that held it last.
  worker_version TEXT,
  -- The store that the run was moved to, and the status that it had.
  moved TEXT,
  output TEXT,
  context TEXT,
  error TEXT,
  -- The name and hash of the artifact that is its result, if it succeeded and its contract says which one that is.
  final_artifact TEXT
) WITH (fillfactor = 50);

CREATE INDEX runs_by_input ON runs (pipeline, input_hash);
CREATE INDEX runs_by_status ON runs (status, created_at, run_id);
CREATE INDEX runs_by_age ON runs (created_at, run_id);
CREATE INDEX runs_of_pipeline ON runs (pipeline, created_at, run_id);
CREATE INDEX runs_of_queue ON runs (queue, created_at, run_id);
-- Runs that sleep are not in the index of those that are ready: a claim must not walk over them.
CREATE INDEX ready_runs ON runs (queue, pipeline, priority DESC, ready_at, concurrency_key)
  WHERE status = 'queued' AND wake_at IS NULL;
-- The queue is there to count by, without a look at the rows.
CREATE INDEX sleeping_runs ON runs (wake_at, queue) WHERE wake_at IS NOT NULL;
-- By when they ended, for those to delete. Runs that work are not in it, so their commits do not change it.
CREATE INDEX ended_runs ON runs (updated_at, run_id)
  WHERE status <> 'queued' AND status <> 'running' AND status <> 'waiting';
CREATE INDEX running_runs ON runs (queue, concurrency_key) WHERE status = 'running';
-- The unfinished runs of a schedule, whose ids begin with its name.
CREATE INDEX unfinished_runs ON runs (run_id) WHERE status NOT IN ('succeeded', 'failed', 'cancelled', 'moved');

CREATE TABLE run_inputs (
  run_key UUID PRIMARY KEY,
  input TEXT NOT NULL,
  spec TEXT,
  -- A summary of the spec, for checkpoints.
  contract TEXT,
  -- What its tools get to know about it, beside their arguments.
  call_context TEXT,
  shape TEXT NOT NULL
);

-- One row for each time that a worker claimed the run.
CREATE TABLE attempts (
  run_key UUID NOT NULL,
  epoch BIGINT NOT NULL,
  owner TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  resumed_from TEXT,
  reason TEXT,
  ended_at BIGINT,
  end_status TEXT,
  trace_parent TEXT,
  PRIMARY KEY (run_key, epoch)
);

CREATE TABLE run_steps (
  run_key UUID NOT NULL,
  -- From 1, in the order in which the steps were entered.
  step_no BIGINT NOT NULL,
  step_path TEXT COLLATE "C" NOT NULL,
  step_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  phase TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ready', 'running', 'blocked', 'succeeded', 'failed', 'skipped')),
  updated_at BIGINT NOT NULL,
  error_code TEXT,
  error_detail TEXT,
  input TEXT NOT NULL,
  output TEXT,
  context TEXT,
  PRIMARY KEY (run_key, step_no),
  UNIQUE (run_key, step_path)
);

CREATE TABLE loop_decisions (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  iteration BIGINT NOT NULL,
  done BIGINT NOT NULL,
  output TEXT NOT NULL,
  context TEXT,
  PRIMARY KEY (run_key, step_no, iteration)
);

-- The compare-and-set row of a granular step, with the reservation of its open attempt.
CREATE TABLE granular_states (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  turn_index BIGINT NOT NULL,
  is_complete BIGINT NOT NULL,
  messages BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  open_turn_index BIGINT,
  open_attempt BIGINT,
  opened_at BIGINT,
  reserved_tokens BIGINT,
  reserved_micro_dollars BIGINT,
  lineage BIGINT NOT NULL,
  first_turn BIGINT NOT NULL,
  fingerprint BYTEA NOT NULL,
  PRIMARY KEY (run_key, step_no)
) WITH (fillfactor = 50);

CREATE TABLE fingerprints (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  lineage BIGINT NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (run_key, step_no, lineage)
);

CREATE TABLE lineages (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  -- From 1: the lineage that a step begins with has no row.
  lineage BIGINT NOT NULL,
  begun_at BIGINT NOT NULL,
  first_turn BIGINT NOT NULL,
  -- The last turn whose work still counts, the one that the checkpoint was taken at; 0 if none does.
  base_turn BIGINT NOT NULL,
  -- The turn that was open then: journaled, and never committed.
  open_turn BIGINT,
  checkpoint_index BIGINT,
  PRIMARY KEY (run_key, step_no, lineage)
);

CREATE TABLE turns (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  turn_index BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  opened_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  reserved_tokens BIGINT NOT NULL,
  reserved_micro_dollars BIGINT NOT NULL,
  basis TEXT NOT NULL CHECK (basis IN ('provider', 'baseline', 'none')),
  charged_tokens BIGINT NOT NULL,
  charged_micro_dollars BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cached_input_tokens BIGINT NOT NULL,
  reasoning_tokens BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  -- Its calls have consecutive numbers.
  first_call_no BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  response TEXT NOT NULL,
  follow_up TEXT,
  PRIMARY KEY (run_key, step_no, turn_index)
);

-- Attempts of model calls that brought no response, or whose response was dropped.
CREATE TABLE failed_model_calls (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  turn_index BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  opened_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  reserved_tokens BIGINT NOT NULL,
  reserved_micro_dollars BIGINT NOT NULL,
  basis TEXT NOT NULL CHECK (basis IN ('provider', 'baseline', 'none')),
  charged_tokens BIGINT NOT NULL,
  charged_micro_dollars BIGINT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  cached_input_tokens BIGINT NOT NULL,
  reasoning_tokens BIGINT NOT NULL,
  PRIMARY KEY (run_key, step_no, turn_index, attempt)
);

-- The ledger. Calls of code steps have turn index 0.
CREATE TABLE tool_calls (
  run_key UUID NOT NULL,
  call_no BIGINT NOT NULL,
  step_no BIGINT NOT NULL,
  turn_index BIGINT NOT NULL,
  call_index BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  tool_namespace TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  side_effect_class TEXT NOT NULL CHECK (side_effect_class IN ('external', 'memory', 'local', 'read_only')),
  recovery TEXT NOT NULL CHECK (recovery IN ('repeat', 'keyed', 'reconcile', 'opaque')),
  identity_hash BYTEA NOT NULL,
  occurrence BIGINT NOT NULL,
  idempotency_key BYTEA NOT NULL,
  -- The arguments of a code step's call; those of a turn's call are in its response.
  request TEXT,
  -- The state of a call until it has a receipt.
  status TEXT NOT NULL CHECK (status IN ('prepared', 'running', 'in_doubt')),
  attempt BIGINT NOT NULL,
  started_at BIGINT,
  -- When the attempt that began at started_at has ended at the latest.
  ends_by BIGINT,
  -- 1 if its failure ended its code step: when the step is entered again, the same call gets a new row.
  superseded BIGINT,
  PRIMARY KEY (run_key, call_no),
  UNIQUE (run_key, idempotency_key)
);

CREATE UNIQUE INDEX tool_calls_of_code_steps ON tool_calls (run_key, step_no, call_index) WHERE turn_index = 0;

CREATE TABLE receipts (
  run_key UUID NOT NULL,
  call_no BIGINT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('succeeded', 'failed', 'deduplicated', 'cancelled')),
  created_at BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  error_code TEXT,
  -- It failed, and may have happened all the same.
  uncertain BIGINT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('tool', 'reconciled', 'person', 'late', 'pawl')),
  external_correlation_id TEXT,
  -- The id of the call whose receipt this one repeats.
  duplicate_of TEXT,
  blob_hash BYTEA,
  blob_size BIGINT,
  output TEXT NOT NULL,
  session_events TEXT,
  PRIMARY KEY (run_key, call_no)
);

-- Attempts of calls that brought no receipt.
CREATE TABLE tool_call_attempts (
  run_key UUID NOT NULL,
  call_no BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  outcome TEXT NOT NULL
    CHECK (outcome IN ('failed', 'not_applied', 'needs_human', 'needs_wait', 'timed_out', 'aborted', 'lost')),
  error_code TEXT,
  error_detail TEXT,
  external_correlation_id TEXT,
  -- Its outcome, if it arrived after the call was settled. Evidence.
  late_at BIGINT,
  late_status TEXT,
  late_output TEXT,
  PRIMARY KEY (run_key, call_no, attempt)
);

-- Calls that failed and may have happened all the same, until one of the same identity succeeds.
CREATE TABLE uncertain_calls (
  run_key UUID NOT NULL,
  identity_hash BYTEA NOT NULL,
  call_no BIGINT NOT NULL,
  PRIMARY KEY (run_key, identity_hash, call_no)
);

CREATE TABLE waits (
  run_key UUID NOT NULL,
  wait_index BIGINT NOT NULL,
  kind TEXT NOT NULL,
  -- The budget that it is about.
  budget TEXT,
  -- The attempt of the call that it is about.
  attempt BIGINT NOT NULL,
  question TEXT NOT NULL,
  subject TEXT NOT NULL,
  arguments_hash BYTEA,
  created_at BIGINT NOT NULL,
  -- The messages that answer it: the name of an event, or its beginning and a `*`.
  matches TEXT,
  -- What happens when nobody has answered in time.
  on_due TEXT,
  remind_every_ms BIGINT,
  -- When that is, computed once, and when people are reminded next.
  due_at BIGINT,
  remind_at BIGINT,
  reminders BIGINT,
  escalated_at BIGINT,
  -- None if it is about the run, or if the call was removed with its turn.
  call_no BIGINT,
  status TEXT NOT NULL CHECK (status IN ('open', 'answered', 'withdrawn')),
  answered_at BIGINT,
  answered_by TEXT,
  answer TEXT,
  PRIMARY KEY (run_key, wait_index)
);

-- The kind and the time are there to count by.
CREATE INDEX open_waits ON waits (run_key, kind, created_at) WHERE status = 'open';

CREATE TABLE blobs (
  run_key UUID NOT NULL,
  blob_hash BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  size BIGINT NOT NULL,
  bytes BYTEA NOT NULL,
  PRIMARY KEY (run_key, blob_hash)
);

CREATE TABLE artifacts (
  run_key UUID NOT NULL,
  artifact_name TEXT COLLATE "C" NOT NULL,
  step_no BIGINT,
  created_at BIGINT NOT NULL,
  size BIGINT NOT NULL,
  blob_hash BYTEA NOT NULL,
  PRIMARY KEY (run_key, artifact_name)
);

-- The log of a run: one event for each intent, each with the hash of the one before it.
CREATE TABLE events (
  run_key UUID NOT NULL,
  seq BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  hash BYTEA NOT NULL,
  -- 1 if it covers rows of the run as a whole.
  of_run BIGINT NOT NULL,
  PRIMARY KEY (run_key, seq)
);

CREATE INDEX events_of_runs ON events (run_key, seq) WHERE of_run = 1;

CREATE TABLE workers (
  worker_id TEXT COLLATE "C" PRIMARY KEY,
  run_id TEXT COLLATE "C" NOT NULL,
  request TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  deadline_at BIGINT,
  completed_at BIGINT
);

-- The name of this database for others, in one row.
CREATE TABLE identity (
  place BIGINT PRIMARY KEY CHECK (place = 1),
  store_id TEXT NOT NULL
);

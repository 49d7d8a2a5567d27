-- Every key leads with the run. Steps, calls, waits, checkpoints and events are numbered inside their run, and the last
-- numbers given out are in its row.

CREATE TABLE runs (
  run_key INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'moved')),
  pipeline TEXT NOT NULL,
  entrypoint TEXT NOT NULL,
  input_hash BLOB NOT NULL,
  current_step_no INTEGER,
  owner TEXT,
  epoch INTEGER NOT NULL,
  -- Renewed without an event.
  lease_until INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL,
  -- Identifies the notes of what its owner sends.
  marks TEXT,
  limit_tokens INTEGER,
  limit_micro_dollars INTEGER,
  charged_tokens INTEGER NOT NULL,
  charged_micro_dollars INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL CHECK (reserved_tokens >= 0),
  reserved_micro_dollars INTEGER NOT NULL CHECK (reserved_micro_dollars >= 0),
  steps INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  waits INTEGER NOT NULL,
  checkpoints INTEGER NOT NULL,
  -- How many events cover rows of the run as a whole.
  run_events INTEGER NOT NULL,
  event_seq INTEGER NOT NULL,
  event_hash BLOB NOT NULL,
  -- The last event that covers this row.
  row_seq INTEGER NOT NULL,
  deadline_at INTEGER,
  budgets TEXT,
  waiting_since INTEGER,
  cancel_requested_at INTEGER,
  cancel_requested_by TEXT,
  forked_from TEXT,
  started_by TEXT,
  -- Where it waits for a worker, and which runs it must not run beside.
  queue TEXT NOT NULL,
  concurrency_key TEXT,
  priority INTEGER NOT NULL,
  -- What lists of runs are filtered by; `run_labels` has it in rows.
  metadata TEXT,
  -- When a queued run became ready, or will.
  ready_at INTEGER,
  -- When the clock has something to do: a queued run that begins later, a waiting run with a time limit.
  wake_at INTEGER,
  -- How many workers in a row died in it without a commit.
  stalls INTEGER NOT NULL,
  -- The version of the worker that held it last.
  worker_version TEXT,
  -- The store that the run was moved to, and the status that it had.
  moved TEXT,
  output TEXT,
  context TEXT,
  error TEXT,
  -- The name and hash of the artifact that is its result, if it succeeded and its contract says which one that is.
  final_artifact TEXT
) STRICT;

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
  run_key INTEGER PRIMARY KEY REFERENCES runs (run_key),
  input TEXT NOT NULL,
  spec TEXT,
  -- A summary of the spec, for checkpoints.
  contract TEXT,
  -- What its tools get to know about it, beside their arguments.
  call_context TEXT,
  shape TEXT NOT NULL
) STRICT;

-- One row for each time that a worker claimed the run.
CREATE TABLE attempts (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  epoch INTEGER NOT NULL,
  owner TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  resumed_from TEXT,
  reason TEXT,
  ended_at INTEGER,
  end_status TEXT,
  trace_parent TEXT,
  PRIMARY KEY (run_key, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_steps (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  -- From 1, in the order in which the steps were entered.
  step_no INTEGER NOT NULL,
  step_path TEXT NOT NULL,
  step_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  phase TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ready', 'running', 'blocked', 'succeeded', 'failed', 'skipped')),
  updated_at INTEGER NOT NULL,
  error_code TEXT,
  error_detail TEXT,
  input TEXT NOT NULL,
  output TEXT,
  context TEXT,
  PRIMARY KEY (run_key, step_no),
  UNIQUE (run_key, step_path)
) STRICT;

CREATE TABLE loop_decisions (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  iteration INTEGER NOT NULL,
  done INTEGER NOT NULL,
  output TEXT NOT NULL,
  context TEXT,
  PRIMARY KEY (run_key, step_no, iteration),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT;

-- The compare-and-set row of a granular step, with the reservation of its open attempt.
CREATE TABLE granular_states (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  turn_index INTEGER NOT NULL,
  is_complete INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  open_turn_index INTEGER,
  open_attempt INTEGER,
  opened_at INTEGER,
  reserved_tokens INTEGER,
  reserved_micro_dollars INTEGER,
  lineage INTEGER NOT NULL,
  first_turn INTEGER NOT NULL,
  fingerprint BLOB NOT NULL,
  PRIMARY KEY (run_key, step_no),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE fingerprints (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  lineage INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (run_key, step_no, lineage),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT;

CREATE TABLE lineages (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  -- From 1: the lineage that a step begins with has no row.
  lineage INTEGER NOT NULL,
  begun_at INTEGER NOT NULL,
  first_turn INTEGER NOT NULL,
  -- The last turn whose work still counts, the one that the checkpoint was taken at; 0 if none does.
  base_turn INTEGER NOT NULL,
  -- The turn that was open then: journaled, and never committed.
  open_turn INTEGER,
  checkpoint_index INTEGER,
  PRIMARY KEY (run_key, step_no, lineage),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  turn_index INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_micro_dollars INTEGER NOT NULL,
  basis TEXT NOT NULL CHECK (basis IN ('provider', 'baseline', 'none')),
  charged_tokens INTEGER NOT NULL,
  charged_micro_dollars INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  -- Its calls have consecutive numbers.
  first_call_no INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  response TEXT NOT NULL,
  follow_up TEXT,
  PRIMARY KEY (run_key, step_no, turn_index),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT;

-- Attempts of model calls that brought no response, or whose response was dropped.
CREATE TABLE failed_model_calls (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  turn_index INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_micro_dollars INTEGER NOT NULL,
  basis TEXT NOT NULL CHECK (basis IN ('provider', 'baseline', 'none')),
  charged_tokens INTEGER NOT NULL,
  charged_micro_dollars INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  PRIMARY KEY (run_key, step_no, turn_index, attempt),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT, WITHOUT ROWID;

-- The ledger. Calls of code steps have turn index 0.
CREATE TABLE tool_calls (
  run_key INTEGER NOT NULL,
  call_no INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  turn_index INTEGER NOT NULL,
  call_index INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  tool_namespace TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  side_effect_class TEXT NOT NULL CHECK (side_effect_class IN ('external', 'memory', 'local', 'read_only')),
  recovery TEXT NOT NULL CHECK (recovery IN ('repeat', 'keyed', 'reconcile', 'opaque')),
  identity_hash BLOB NOT NULL,
  occurrence INTEGER NOT NULL,
  idempotency_key BLOB NOT NULL,
  -- The arguments of a code step's call; those of a turn's call are in its response.
  request TEXT,
  -- The state of a call until it has a receipt.
  status TEXT NOT NULL CHECK (status IN ('prepared', 'running', 'in_doubt')),
  attempt INTEGER NOT NULL,
  started_at INTEGER,
  -- When the attempt that began at started_at has ended at the latest.
  ends_by INTEGER,
  -- 1 if its failure ended its code step: when the step is entered again, the same call gets a new row.
  superseded INTEGER,
  PRIMARY KEY (run_key, call_no),
  UNIQUE (run_key, idempotency_key),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX tool_calls_of_code_steps ON tool_calls (run_key, step_no, call_index) WHERE turn_index = 0;

CREATE TABLE receipts (
  run_key INTEGER NOT NULL,
  call_no INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('succeeded', 'failed', 'deduplicated', 'cancelled')),
  created_at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  error_code TEXT,
  -- It failed, and may have happened all the same.
  uncertain INTEGER NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('tool', 'reconciled', 'person', 'late', 'pawl')),
  external_correlation_id TEXT,
  -- The id of the call whose receipt this one repeats.
  duplicate_of TEXT,
  blob_hash BLOB,
  blob_size INTEGER,
  output TEXT NOT NULL,
  session_events TEXT,
  PRIMARY KEY (run_key, call_no),
  FOREIGN KEY (run_key, call_no) REFERENCES tool_calls (run_key, call_no)
) STRICT;

-- Attempts of calls that brought no receipt.
CREATE TABLE tool_call_attempts (
  run_key INTEGER NOT NULL,
  call_no INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  outcome TEXT NOT NULL
    CHECK (outcome IN ('failed', 'not_applied', 'needs_human', 'needs_wait', 'timed_out', 'aborted', 'lost')),
  error_code TEXT,
  error_detail TEXT,
  external_correlation_id TEXT,
  -- Its outcome, if it arrived after the call was settled. Evidence.
  late_at INTEGER,
  late_status TEXT,
  late_output TEXT,
  PRIMARY KEY (run_key, call_no, attempt),
  FOREIGN KEY (run_key, call_no) REFERENCES tool_calls (run_key, call_no)
) STRICT, WITHOUT ROWID;

-- Calls that failed and may have happened all the same, until one of the same identity succeeds.
CREATE TABLE uncertain_calls (
  run_key INTEGER NOT NULL,
  identity_hash BLOB NOT NULL,
  call_no INTEGER NOT NULL,
  PRIMARY KEY (run_key, identity_hash, call_no),
  FOREIGN KEY (run_key, call_no) REFERENCES tool_calls (run_key, call_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE waits (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  wait_index INTEGER NOT NULL,
  kind TEXT NOT NULL,
  -- The budget that it is about.
  budget TEXT,
  -- The attempt of the call that it is about.
  attempt INTEGER NOT NULL,
  question TEXT NOT NULL,
  subject TEXT NOT NULL,
  arguments_hash BLOB,
  created_at INTEGER NOT NULL,
  -- The messages that answer it: the name of an event, or its beginning and a `*`.
  matches TEXT,
  -- What happens when nobody has answered in time.
  on_due TEXT,
  remind_every_ms INTEGER,
  -- When that is, computed once, and when people are reminded next.
  due_at INTEGER,
  remind_at INTEGER,
  reminders INTEGER,
  escalated_at INTEGER,
  -- None if it is about the run, or if the call was removed with its turn.
  call_no INTEGER,
  status TEXT NOT NULL CHECK (status IN ('open', 'answered', 'withdrawn')),
  answered_at INTEGER,
  answered_by TEXT,
  answer TEXT,
  PRIMARY KEY (run_key, wait_index)
) STRICT, WITHOUT ROWID;

-- The kind and the time are there to count by.
CREATE INDEX open_waits ON waits (run_key, kind, created_at) WHERE status = 'open';

CREATE TABLE blobs (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  blob_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (run_key, blob_hash)
) STRICT;

CREATE TABLE artifacts (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  artifact_name TEXT NOT NULL,
  step_no INTEGER,
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  blob_hash BLOB NOT NULL,
  PRIMARY KEY (run_key, artifact_name)
) STRICT, WITHOUT ROWID;

-- The log of a run: one event for each intent, each with the hash of the one before it.
-- It has a rowid: rows of this size are appended to the end of such a table, but split the pages of one without.
CREATE TABLE events (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  hash BLOB NOT NULL,
  -- 1 if it covers rows of the run as a whole.
  of_run INTEGER NOT NULL,
  PRIMARY KEY (run_key, seq)
) STRICT;

CREATE INDEX events_of_runs ON events (run_key, seq) WHERE of_run = 1;

CREATE TABLE workers (
  worker_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  request TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deadline_at INTEGER,
  completed_at INTEGER
) STRICT, WITHOUT ROWID;

-- The name of this database for others, in one row.
CREATE TABLE identity (
  place INTEGER PRIMARY KEY CHECK (place = 1),
  store_id TEXT NOT NULL
) STRICT;

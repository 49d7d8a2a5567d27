CREATE TABLE applied_calls (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  call_no INTEGER NOT NULL REFERENCES tool_calls (call_no),
  event_seq INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  PRIMARY KEY (run_no, call_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  artifact_name TEXT NOT NULL,
  step_no INTEGER REFERENCES run_steps (step_no),
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  blob_hash BLOB NOT NULL,
  PRIMARY KEY (run_no, artifact_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  epoch INTEGER NOT NULL,
  owner TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_status TEXT, resumed_from TEXT, reason TEXT, trace_parent TEXT,
  PRIMARY KEY (run_no, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob_references (
  blob_hash BLOB NOT NULL REFERENCES blobs (blob_hash) ON DELETE CASCADE,
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  PRIMARY KEY (blob_hash, run_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
  blob_no INTEGER PRIMARY KEY,
  blob_hash BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;

CREATE TABLE checkpoints (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  checkpoint_index INTEGER NOT NULL,
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  -- The turn that it was committed with; 0 at the end of a step.
  turn_index INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  checkpoint_type TEXT NOT NULL,
  -- The event of the run that tells of it.
  event_seq INTEGER NOT NULL,
  -- The session was rolled back to an earlier one since.
  superseded INTEGER NOT NULL,
  cursor TEXT NOT NULL,
  -- 'json', or 'deflate' where that is worth it.
  encoding TEXT NOT NULL,
  size INTEGER NOT NULL,
  snapshot BLOB NOT NULL,
  PRIMARY KEY (run_no, checkpoint_index)
) STRICT;

CREATE TABLE events (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  seq INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (run_no, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE failed_model_calls (
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
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
  PRIMARY KEY (step_no, turn_index, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE "fingerprints" (
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  lineage INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (step_no, lineage)
) STRICT, WITHOUT ROWID;

CREATE TABLE granular_states (
  step_no INTEGER PRIMARY KEY REFERENCES run_steps (step_no),
  turn_index INTEGER NOT NULL,
  is_complete INTEGER NOT NULL,
  messages INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  fingerprint BLOB NOT NULL,
  open_turn_index INTEGER,
  open_attempt INTEGER,
  opened_at INTEGER,
  reserved_tokens INTEGER,
  reserved_micro_dollars INTEGER
, lineage INTEGER NOT NULL DEFAULT 0, first_turn INTEGER NOT NULL DEFAULT 1) STRICT;

CREATE TABLE lineages (
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  -- From 1: the line that a step begins with has no row.
  lineage INTEGER NOT NULL,
  begun_at INTEGER NOT NULL,
  first_turn INTEGER NOT NULL,
  -- The last turn whose work still counts, the one that the checkpoint was taken at; 0 where none does.
  base_turn INTEGER NOT NULL,
  -- The turn that was open then: journaled, and never committed.
  open_turn INTEGER,
  checkpoint_index INTEGER,
  PRIMARY KEY (step_no, lineage)
) STRICT, WITHOUT ROWID;

CREATE TABLE loop_decisions (
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  iteration INTEGER NOT NULL,
  done INTEGER NOT NULL,
  output TEXT NOT NULL,
  context TEXT,
  PRIMARY KEY (step_no, iteration)
) STRICT;

CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

CREATE TABLE "receipts" (
  call_no INTEGER PRIMARY KEY REFERENCES "tool_calls" (call_no),
  status TEXT NOT NULL CHECK (status = 'succeeded' OR status = 'failed' OR status = 'deduplicated' OR status = 'cancelled'),
  created_at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  error_code TEXT,
  -- It failed, and may have happened all the same.
  uncertain INTEGER NOT NULL,
  source TEXT NOT NULL CHECK (source = 'tool' OR source = 'reconciled' OR source = 'person' OR source = 'late' OR source = 'pawl'),
  external_correlation_id TEXT,
  -- The id of the call whose receipt this one repeats.
  duplicate_of TEXT,
  blob_hash BLOB,
  blob_size INTEGER,
  output TEXT NOT NULL
, session_events TEXT) STRICT;

CREATE TABLE run_inputs (
  run_no INTEGER PRIMARY KEY REFERENCES runs (run_no),
  input TEXT NOT NULL,
  shape TEXT NOT NULL
, spec TEXT) STRICT;

CREATE TABLE run_steps (
  step_no INTEGER PRIMARY KEY,
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  step_path TEXT NOT NULL,
  step_index INTEGER NOT NULL,
  step_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  phase TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ready', 'running', 'blocked', 'succeeded', 'failed', 'skipped')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  input TEXT NOT NULL,
  output TEXT,
  context TEXT,
  error_code TEXT,
  error_detail TEXT,
  UNIQUE (run_no, step_path)
) STRICT;

CREATE TABLE runs (
  run_no INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled')),
  pipeline TEXT NOT NULL,
  entrypoint TEXT NOT NULL,
  input_hash BLOB NOT NULL,
  current_step_no INTEGER,
  owner TEXT,
  epoch INTEGER NOT NULL,
  lease_until INTEGER NOT NULL,
  limit_tokens INTEGER,
  limit_micro_dollars INTEGER,
  charged_tokens INTEGER NOT NULL DEFAULT 0,
  charged_micro_dollars INTEGER NOT NULL DEFAULT 0,
  reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
  reserved_micro_dollars INTEGER NOT NULL DEFAULT 0 CHECK (reserved_micro_dollars >= 0),
  event_seq INTEGER NOT NULL DEFAULT 0,
  event_hash BLOB NOT NULL,
  output TEXT,
  context TEXT,
  error TEXT
, deadline_at INTEGER, budgets TEXT, waiting_since INTEGER, cancel_requested_at INTEGER, cancel_requested_by TEXT, forked_from TEXT, lease_ms INTEGER, marks TEXT) STRICT;

CREATE TABLE slice_items (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  slice_name TEXT NOT NULL,
  item_index INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_no, slice_name, item_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE slices (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  slice_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'state' OR kind = 'log'),
  version INTEGER NOT NULL,
  PRIMARY KEY (run_no, slice_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_call_tries (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  call_no INTEGER NOT NULL REFERENCES tool_calls (call_no),
  attempt INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  outcome TEXT NOT NULL
    CHECK (outcome = 'failed' OR outcome = 'not_applied' OR outcome = 'needs_human' OR outcome = 'timed_out' OR outcome = 'aborted' OR outcome = 'lost'),
  error_code TEXT,
  error_detail TEXT,
  external_correlation_id TEXT,
  -- What it came to after all, told when the call was settled already. Evidence.
  late_at INTEGER,
  late_status TEXT,
  late_output TEXT,
  PRIMARY KEY (run_no, call_no, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE "tool_calls" (
  call_no INTEGER PRIMARY KEY,
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  turn_index INTEGER NOT NULL,
  call_index INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  -- When the try that began at started_at has ended at the latest.
  ends_by INTEGER,
  tool_namespace TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  side_effect_class TEXT NOT NULL CHECK (side_effect_class = 'external' OR side_effect_class = 'memory' OR side_effect_class = 'local' OR side_effect_class = 'read_only'),
  recovery TEXT NOT NULL CHECK (recovery = 'repeat' OR recovery = 'keyed' OR recovery = 'reconcile' OR recovery = 'opaque'),
  identity_hash BLOB NOT NULL,
  occurrence INTEGER NOT NULL,
  idempotency_key BLOB NOT NULL UNIQUE,
  -- Where a call stands until it has a receipt; from then on the receipt says it.
  status TEXT NOT NULL CHECK (status = 'prepared' OR status = 'running' OR status = 'in_doubt'),
  attempt INTEGER NOT NULL,
  -- Its failure ended its code step: when the step is entered again, the same is asked for anew.
  superseded INTEGER NOT NULL,
  -- The arguments of a code step's call, which has turn index 0; those of a turn's call are in its response.
  request TEXT
) STRICT;

CREATE TABLE "turns" (
  -- step_no * 2^24 + turn_index
  turn_no INTEGER PRIMARY KEY,
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  turn_index INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  reserved_micro_dollars INTEGER NOT NULL,
  basis TEXT NOT NULL CHECK (basis = 'provider' OR basis = 'baseline' OR basis = 'none'),
  charged_tokens INTEGER NOT NULL,
  charged_micro_dollars INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_input_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  first_call_no INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  response TEXT NOT NULL,
  follow_up TEXT
) STRICT;

CREATE TABLE uncertain_calls (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  identity_hash BLOB NOT NULL,
  call_no INTEGER NOT NULL REFERENCES tool_calls (call_no),
  PRIMARY KEY (run_no, identity_hash, call_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE "waits" (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  wait_index INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call_no INTEGER REFERENCES tool_calls (call_no),
  attempt INTEGER NOT NULL,
  question TEXT NOT NULL,
  subject TEXT NOT NULL,
  arguments_hash BLOB,
  status TEXT NOT NULL CHECK (status = 'open' OR status = 'answered' OR status = 'withdrawn'),
  created_at INTEGER NOT NULL,
  answered_at INTEGER,
  answered_by TEXT,
  answer TEXT,
  PRIMARY KEY (run_no, wait_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
  worker_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  request TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deadline_at INTEGER,
  completed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX open_waits ON waits (run_no) WHERE status = 'open';

CREATE INDEX runs_by_input ON runs (pipeline, input_hash);

CREATE INDEX runs_by_status ON runs (status, run_no);

CREATE UNIQUE INDEX tool_calls_of_code_steps ON tool_calls (step_no, call_index) WHERE turn_index = 0;

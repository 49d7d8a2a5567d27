-- The ledger gets its whole state machine. SQLite cannot change a CHECK, so the two tables are made anew. The CHECKs of
-- tables that every turn writes are chains of OR: for an IN of more than two SQLite builds a table at every INSERT, which
-- took a third of it.
CREATE TABLE new_tool_calls (
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
INSERT INTO new_tool_calls
  -- Nobody said how long a try may take; ten minutes is what is usual from here on.
  SELECT call_no, step_no, turn_index, call_index, created_at, started_at, started_at + 600000, tool_namespace, tool_name,
         side_effect_class, CASE side_effect_class WHEN 'read_only' THEN 'repeat' ELSE 'opaque' END, identity_hash,
         occurrence, idempotency_key, status, attempt, 0, request
    FROM tool_calls;

-- Written once, at the end of a call, and never changed.
CREATE TABLE new_receipts (
  call_no INTEGER PRIMARY KEY REFERENCES new_tool_calls (call_no),
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
) STRICT;
INSERT INTO new_receipts
  SELECT call_no, status, created_at, tokens, error_code, 0, 'tool', NULL, NULL, blob_hash, blob_size, output
    FROM receipts;

DROP TABLE receipts;
DROP TABLE tool_calls;
ALTER TABLE new_tool_calls RENAME TO tool_calls;
ALTER TABLE new_receipts RENAME TO receipts;
CREATE UNIQUE INDEX tool_calls_of_code_steps ON tool_calls (step_no, call_index) WHERE turn_index = 0;

-- A try that brought no receipt. The last one, if it did, is told by the receipt.
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

-- Calls that failed and may have happened all the same, by what they were for: the same again needs a person. Empty in
-- nearly every run, so finding none costs nothing.
CREATE TABLE uncertain_calls (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  identity_hash BLOB NOT NULL,
  call_no INTEGER NOT NULL REFERENCES tool_calls (call_no),
  PRIMARY KEY (run_no, identity_hash, call_no)
) STRICT, WITHOUT ROWID;

-- What a person is asked, and what they said.
CREATE TABLE waits (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  wait_index INTEGER NOT NULL,
  kind TEXT NOT NULL,
  call_no INTEGER NOT NULL REFERENCES tool_calls (call_no),
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

-- The journal as it was, with such a CHECK.
CREATE TABLE new_turns (
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
INSERT INTO new_turns SELECT * FROM turns;
DROP TABLE turns;
ALTER TABLE new_turns RENAME TO turns;

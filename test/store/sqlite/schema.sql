CREATE VIEW audit_checkpoints AS
SELECT run_id || '~' || checkpoint_index AS checkpoint_id,
       run_id,
       run_id || '/' || step_path AS step_id,
       strftime('%Y-%m-%dT%H:%M:%S', c.created_at / 1000, 'unixepoch') || printf('.%03dZ', c.created_at % 1000) AS created_at,
       checkpoint_type,
       '{"contract":' || coalesce(contract, 'null') || ',"slices":{' || coalesce((
         SELECT group_concat(slice, ',') FROM (
           SELECT json_quote(reference.key) || ':' || (
                    SELECT group_concat(content, '') FROM (
                      -- A cross join is made in this order: each piece is looked up.
                      SELECT content FROM json_each(reference.value) AS piece
                       CROSS JOIN slice_contents ON slice_contents.run_key = c.run_key AND content_hash = piece.value
                       ORDER BY piece.id)) AS slice
             FROM json_each(c.snapshot, '$.slices') AS reference
            WHERE json_type(c.snapshot, '$.slices') = 'object'
            ORDER BY reference.id)), '') || '}}' AS state_snapshot_json,
       cursor AS cursor_json
  FROM checkpoints AS c
  JOIN runs ON runs.run_key = c.run_key
  JOIN run_steps ON run_steps.run_key = c.run_key AND run_steps.step_no = c.step_no
  LEFT JOIN run_inputs ON run_inputs.run_key = c.run_key;

CREATE VIEW audit_large_results AS
SELECT run_id || '/' || step_path || '#' || turn_index || '.' || call_index AS tool_call_id,
       run_id,
       blob_size AS size,
       CAST(bytes AS TEXT) AS response_json
  FROM receipts
  JOIN blobs ON blobs.run_key = receipts.run_key AND blobs.blob_hash = receipts.blob_hash
  JOIN tool_calls ON tool_calls.run_key = receipts.run_key AND tool_calls.call_no = receipts.call_no
  JOIN run_steps ON run_steps.run_key = receipts.run_key AND run_steps.step_no = tool_calls.step_no
  JOIN runs ON runs.run_key = receipts.run_key;

CREATE VIEW audit_run_steps AS
SELECT run_id || '/' || step_path AS step_id,
       run_id,
       step_no AS step_index,
       strftime('%Y-%m-%dT%H:%M:%S', run_steps.created_at / 1000, 'unixepoch') || printf('.%03dZ', run_steps.created_at % 1000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', run_steps.updated_at / 1000, 'unixepoch') || printf('.%03dZ', run_steps.updated_at % 1000) AS updated_at,
       run_steps.status,
       phase,
       error_code,
       error_detail
  FROM run_steps JOIN runs ON runs.run_key = run_steps.run_key;

CREATE VIEW audit_runs AS
SELECT run_id,
       strftime('%Y-%m-%dT%H:%M:%S', runs.created_at / 1000, 'unixepoch') || printf('.%03dZ', runs.created_at % 1000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', runs.updated_at / 1000, 'unixepoch') || printf('.%03dZ', runs.updated_at % 1000) AS updated_at,
       runs.status,
       entrypoint,
       spec AS run_spec_json,
       run_id || '/' || step_path AS current_step_id,
       run_id || '~' || (SELECT max(checkpoint_index) FROM checkpoints
                          WHERE checkpoints.run_key = runs.run_key AND superseded = 0) AS last_checkpoint_id,
       final_artifact AS final_artifact_ref
  FROM runs
  LEFT JOIN run_inputs ON run_inputs.run_key = runs.run_key
  LEFT JOIN run_steps ON run_steps.run_key = runs.run_key AND step_no = current_step_no;

CREATE VIEW audit_tool_calls AS
SELECT run_id || '/' || step_path || '#' || c.turn_index || '.' || c.call_index AS tool_call_id,
       run_id,
       run_id || '/' || step_path AS step_id,
       strftime('%Y-%m-%dT%H:%M:%S', c.created_at / 1000, 'unixepoch') || printf('.%03dZ', c.created_at % 1000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', coalesce(receipts.created_at, c.started_at, c.created_at) / 1000, 'unixepoch')
         || printf('.%03dZ', coalesce(receipts.created_at, c.started_at, c.created_at) % 1000) AS updated_at,
       tool_name,
       tool_namespace,
       side_effect_class,
       lower(hex(identity_hash)) AS normalized_args_hash,
       lower(hex(idempotency_key)) AS idempotency_key,
       coalesce(receipts.status, c.status) AS status,
       c.attempt,
       -- The arguments of a turn's call are in its response: first the calls that Pawl runs, then the provider's own.
       coalesce(c.request, (
         SELECT input FROM (
           SELECT part.value -> '$.input' AS input,
                  row_number() OVER (ORDER BY part.value ->> '$.providerExecuted' IS 1, part.id) AS n
             FROM turns, json_each(turns.response, '$.content') AS part
            WHERE turns.run_key = c.run_key AND turns.step_no = c.step_no AND turns.turn_index = c.turn_index
              AND part.value ->> '$.type' = 'tool-call'
         ) WHERE n = c.call_index)) AS request_ref,
       CASE WHEN blob_hash IS NULL THEN receipts.output -> '$.value' ELSE receipts.output ->> '$.value' END AS response_ref,
       coalesce(receipts.external_correlation_id, (
         SELECT external_correlation_id FROM tool_call_attempts
          WHERE tool_call_attempts.run_key = c.run_key AND tool_call_attempts.call_no = c.call_no
            AND external_correlation_id IS NOT NULL
          ORDER BY attempt DESC LIMIT 1)) AS external_correlation_id,
       receipts.error_code,
       CASE receipts.status WHEN 'failed' THEN receipts.output -> '$.value' END AS error_detail
  FROM tool_calls AS c
  JOIN runs ON runs.run_key = c.run_key
  JOIN run_steps ON run_steps.run_key = c.run_key AND run_steps.step_no = c.step_no
  LEFT JOIN receipts ON receipts.run_key = c.run_key AND receipts.call_no = c.call_no;

CREATE TABLE access_tokens (
  access_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('token', 'code')),
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  -- Which runs it is for.
  scope TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  -- The access that it was made with, and that it ends with.
  made_from TEXT,
  expires_at INTEGER,
  -- When a code was exchanged for a session, and by which call: one whose answer was lost is repeated.
  redeemed_at INTEGER,
  redemption BLOB,
  -- To a minute.
  last_used_at INTEGER,
  revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE addresses (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  address TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_key, address)
) STRICT, WITHOUT ROWID;

CREATE TABLE applied_calls (
  run_key INTEGER NOT NULL,
  call_no INTEGER NOT NULL,
  event_seq INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  PRIMARY KEY (run_key, call_no),
  FOREIGN KEY (run_key, call_no) REFERENCES tool_calls (run_key, call_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE artifacts (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  artifact_name TEXT NOT NULL,
  step_no INTEGER,
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  blob_hash BLOB NOT NULL,
  PRIMARY KEY (run_key, artifact_name)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE audit_log (
  audit_no INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  who TEXT NOT NULL,
  access_id TEXT,
  role TEXT CHECK (role IN ('viewer', 'operator', 'admin')),
  -- The operation, and the run, wait or token that it was about.
  act TEXT NOT NULL,
  target TEXT,
  -- How it ended: a status of HTTP, and the code of the problem.
  status INTEGER NOT NULL,
  problem TEXT,
  request_id TEXT,
  previous_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  -- Of the first entry that was appended together with others: a commit whose answer was lost is not repeated.
  batch BLOB
) STRICT;

CREATE TABLE blobs (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  blob_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  bytes BLOB NOT NULL,
  PRIMARY KEY (run_key, blob_hash)
) STRICT;

CREATE TABLE checkpoints (
  run_key INTEGER NOT NULL,
  checkpoint_index INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  -- The turn that it was committed with; 0 at the end of a step.
  turn_index INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  checkpoint_type TEXT NOT NULL,
  -- The event of its commit.
  event_seq INTEGER NOT NULL,
  cursor TEXT NOT NULL,
  -- The bytes of the whole snapshot as JSON.
  size INTEGER NOT NULL,
  -- The session was rolled back to an earlier one since.
  superseded INTEGER NOT NULL,
  -- The snapshot, with a list of hashes in place of each slice.
  snapshot TEXT NOT NULL,
  PRIMARY KEY (run_key, checkpoint_index),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT;

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

CREATE TABLE exchanges (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  step_no INTEGER NOT NULL,
  -- From 1.
  exchange_no INTEGER NOT NULL,
  first_turn INTEGER NOT NULL,
  sent_by TEXT NOT NULL,
  began_at INTEGER NOT NULL,
  -- What the run had been charged before it began.
  charged_tokens INTEGER NOT NULL,
  charged_micro_dollars INTEGER NOT NULL,
  -- The last turn that was committed in it; none if none was.
  last_turn INTEGER,
  ended_at INTEGER,
  outcome TEXT CHECK (outcome IN ('complete', 'stopped', 'failed', 'max_turns', 'budget', 'rolled_back')),
  -- Why it ended without a complete answer.
  why TEXT,
  stop_requested_at INTEGER,
  stop_requested_by TEXT, refused_files INTEGER CHECK (refused_files = 1), refused_texts INTEGER CHECK (refused_texts = 1),
  PRIMARY KEY (run_key, step_no, exchange_no)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE fingerprints (
  run_key INTEGER NOT NULL,
  step_no INTEGER NOT NULL,
  lineage INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (run_key, step_no, lineage),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT;

CREATE TABLE firings (
  name TEXT NOT NULL,
  planned_at INTEGER NOT NULL,
  decided_at INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('started', 'skipped', 'missed')),
  run_id TEXT,
  -- How many planned times it stands for, and why no run was started.
  times INTEGER NOT NULL,
  why TEXT,
  PRIMARY KEY (name, planned_at)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE identity (
  place INTEGER PRIMARY KEY CHECK (place = 1),
  store_id TEXT NOT NULL
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
  checkpoint_index INTEGER, summary TEXT,
  PRIMARY KEY (run_key, step_no, lineage),
  FOREIGN KEY (run_key, step_no) REFERENCES run_steps (run_key, step_no)
) STRICT, WITHOUT ROWID;

CREATE TABLE live_workers (
  worker_id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  facts TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE messages (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  -- From 1, in the order in which they came.
  message_no INTEGER NOT NULL,
  -- The sender's own id: the same id again is the same message.
  message_id TEXT NOT NULL,
  -- The name of an event; none for a text.
  event TEXT,
  body TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  sent_by TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('waiting', 'taken', 'withdrawn', 'returned')),
  settled_at INTEGER,
  -- Why it was returned.
  reason TEXT,
  -- The call that received it.
  call_no INTEGER, mode TEXT CHECK (mode IN ('queue', 'steer', 'interrupt')), taken_step INTEGER, taken_turn INTEGER, exchange_no INTEGER,
  PRIMARY KEY (run_key, message_no),
  UNIQUE (run_key, message_id)
) STRICT;

CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

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

CREATE TABLE run_labels (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  -- Of the run, so that a list by label is in the order of an index.
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_key, name, value)
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
, takes_text INTEGER NOT NULL DEFAULT 0, resume_request TEXT, ended_at INTEGER
  GENERATED ALWAYS AS (CASE WHEN status IN ('succeeded', 'failed', 'cancelled', 'moved') THEN updated_at END) VIRTUAL) STRICT;

CREATE TABLE schedules (
  name TEXT PRIMARY KEY,
  -- As it was configured last, with the digest by which an edit is noticed; none once it was removed.
  spec TEXT NOT NULL,
  spec_hash TEXT,
  -- What its runs need beside it: the shape of the pipeline, and what configured it.
  start TEXT NOT NULL,
  -- Of the configuration: only a higher one changes the schedule.
  revision INTEGER NOT NULL,
  configured_at INTEGER NOT NULL,
  -- The last planned time that was decided about, and the next one.
  planned_at INTEGER NOT NULL,
  next_at INTEGER,
  paused_at INTEGER,
  paused_by TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE slice_contents (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  content_hash TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (run_key, content_hash)
) STRICT;

CREATE TABLE slice_items (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  slice_name TEXT NOT NULL,
  item_index INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_key, slice_name, item_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE slices (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  slice_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('state', 'log')),
  version INTEGER NOT NULL,
  PRIMARY KEY (run_key, slice_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (
  run_id TEXT PRIMARY KEY,
  pipeline TEXT NOT NULL,
  status TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL,
  deleted_by TEXT NOT NULL,
  why TEXT NOT NULL,
  charged_tokens INTEGER NOT NULL,
  charged_micro_dollars INTEGER NOT NULL,
  -- The number and the hash of its last event.
  event_seq INTEGER NOT NULL,
  event_hash BLOB NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE webhook_deliveries (
  webhook_id TEXT NOT NULL,
  -- The same whenever it is sent.
  delivery_id TEXT NOT NULL,
  event TEXT NOT NULL,
  run_id TEXT,
  facts TEXT NOT NULL,
  event_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts INTEGER NOT NULL,
  -- Those since it was recorded, or since a person had it sent again.
  tries INTEGER NOT NULL,
  next_at INTEGER,
  last_at INTEGER,
  last_status INTEGER,
  last_error TEXT,
  PRIMARY KEY (webhook_id, delivery_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_feed (
  id INTEGER PRIMARY KEY,
  -- The last places, the newest first: one is lost if the run of the event before it is deleted.
  places TEXT NOT NULL,
  -- Set while all runs are looked at again, since all places were lost: how far that is.
  again TEXT
) STRICT;

CREATE TABLE webhooks (
  webhook_id TEXT PRIMARY KEY,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  -- Which runs it is for.
  scope TEXT NOT NULL,
  -- 1 if questions and arguments are sent, too.
  content INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  -- Its secret is made from the key of the store and this number, and is not stored. By the check a process notices that
  -- it has another key.
  generation INTEGER NOT NULL,
  secret_check TEXT NOT NULL,
  rotated_at INTEGER,
  disabled_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE workers (
  worker_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  request TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deadline_at INTEGER,
  completed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX access_made_from ON access_tokens (made_from) WHERE made_from IS NOT NULL;

CREATE INDEX answers_of_people ON waits (answered_at, run_key)
  WHERE status = 'answered' AND kind <> 'time' AND kind <> 'message';

CREATE UNIQUE INDEX audit_batches ON audit_log (batch) WHERE batch IS NOT NULL;

CREATE INDEX audit_by_time ON audit_log (at);

CREATE INDEX audit_of_person ON audit_log (who, audit_no);

CREATE INDEX audit_of_target ON audit_log (target, audit_no) WHERE target IS NOT NULL;

CREATE INDEX calls_in_doubt ON tool_calls (run_key, call_no) WHERE status = 'in_doubt';

CREATE INDEX deliveries_by_age ON webhook_deliveries (webhook_id, created_at, delivery_id);

CREATE INDEX due_deliveries ON webhook_deliveries (next_at, webhook_id) WHERE next_at IS NOT NULL;

CREATE INDEX due_schedules ON schedules (next_at) WHERE paused_at IS NULL;

CREATE INDEX ended_runs ON runs (ended_at, run_id) WHERE ended_at IS NOT NULL;

CREATE INDEX events_of_runs ON events (run_key, seq) WHERE of_run = 1;

CREATE INDEX failed_model_calls_by_time
  ON failed_model_calls (settled_at, run_key, basis, charged_tokens, charged_micro_dollars);

CREATE INDEX failed_receipts ON receipts (run_key, call_no) WHERE status = 'failed';

CREATE INDEX failed_runs ON runs (status, ended_at, run_id) WHERE status = 'failed';

CREATE INDEX messages_of_turns ON messages (run_key, taken_step, taken_turn, message_no) WHERE taken_turn IS NOT NULL;

CREATE INDEX open_waits ON waits (run_key, kind, created_at) WHERE status = 'open';

CREATE INDEX ready_runs ON runs (queue, pipeline, priority DESC, ready_at, concurrency_key)
  WHERE status = 'queued' AND wake_at IS NULL;

CREATE INDEX running_runs ON runs (queue, concurrency_key) WHERE status = 'running';

CREATE INDEX runs_by_age ON runs (created_at, run_id);

CREATE INDEX runs_by_input ON runs (pipeline, input_hash);

CREATE INDEX runs_by_label ON run_labels (name, value, created_at, run_key);

CREATE INDEX runs_by_status ON runs (status, created_at, run_id);

CREATE INDEX runs_of_pipeline ON runs (pipeline, created_at, run_id);

CREATE INDEX runs_of_pipeline_by_status ON runs (pipeline, status, created_at, run_id);

CREATE INDEX runs_of_queue ON runs (queue, created_at, run_id);

CREATE INDEX sleeping_runs ON runs (wake_at, queue) WHERE wake_at IS NOT NULL;

CREATE INDEX tombstones_by_age ON tombstones (deleted_at, run_id);

CREATE UNIQUE INDEX tool_calls_of_code_steps ON tool_calls (run_key, step_no, call_index) WHERE turn_index = 0;

CREATE INDEX turns_by_time ON turns (settled_at, run_key, basis, charged_tokens, charged_micro_dollars);

CREATE INDEX unfinished_runs ON runs (run_id) WHERE status NOT IN ('succeeded', 'failed', 'cancelled', 'moved');

CREATE INDEX waiting_messages ON messages (run_key, message_no) WHERE status = 'waiting';

CREATE INDEX waits_for_people ON waits (created_at, run_key) WHERE status = 'open' AND kind <> 'time' AND kind <> 'message';

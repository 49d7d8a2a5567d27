-- What a call told the session, with its receipt: applied when the turn of the call is committed.
ALTER TABLE receipts ADD COLUMN session_events TEXT;

-- When the run's time is over.
ALTER TABLE runs ADD COLUMN deadline_at INTEGER;

-- Where a worker went on from ('turn' or 'milestone'; nothing for the first one), and why it was needed.
ALTER TABLE attempts ADD COLUMN resumed_from TEXT;
ALTER TABLE attempts ADD COLUMN reason TEXT;

-- A step may begin a new line of history: an empty one, from its turn `first_turn` on, with a fingerprint of its own.
ALTER TABLE granular_states ADD COLUMN lineage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE granular_states ADD COLUMN first_turn INTEGER NOT NULL DEFAULT 1;

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

CREATE TABLE new_fingerprints (
  step_no INTEGER NOT NULL REFERENCES run_steps (step_no),
  lineage INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (step_no, lineage)
) STRICT, WITHOUT ROWID;
INSERT INTO new_fingerprints SELECT step_no, 0, document FROM fingerprints;
DROP TABLE fingerprints;
ALTER TABLE new_fingerprints RENAME TO fingerprints;

-- The session: a slice is a list of values, and only those that changed are written.
CREATE TABLE slices (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  slice_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'state' OR kind = 'log'),
  version INTEGER NOT NULL,
  PRIMARY KEY (run_no, slice_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE slice_items (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  slice_name TEXT NOT NULL,
  item_index INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_no, slice_name, item_index)
) STRICT, WITHOUT ROWID;

-- Calls whose events the session has, and since which event of the run: a rollback makes it forget the later ones, but for
-- its logs, which are not rolled back.
CREATE TABLE applied_calls (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  call_no INTEGER NOT NULL REFERENCES tool_calls (call_no),
  event_seq INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  PRIMARY KEY (run_no, call_no)
) STRICT, WITHOUT ROWID;

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

-- What a worker with a lasting identity was asked to do, and in which run it does it.
CREATE TABLE workers (
  worker_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  request TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deadline_at INTEGER,
  completed_at INTEGER
) STRICT, WITHOUT ROWID;

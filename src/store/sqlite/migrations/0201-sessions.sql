-- What agents keep beside their messages: slices, the calls that changed them, and checkpoints.

CREATE TABLE slices (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  slice_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('state', 'log')),
  version INTEGER NOT NULL,
  PRIMARY KEY (run_key, slice_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE slice_items (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  slice_name TEXT NOT NULL,
  item_index INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_key, slice_name, item_index)
) STRICT, WITHOUT ROWID;

-- The calls whose events the session includes, or included before it was rolled back.
CREATE TABLE applied_calls (
  run_key INTEGER NOT NULL,
  call_no INTEGER NOT NULL,
  event_seq INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  PRIMARY KEY (run_key, call_no),
  FOREIGN KEY (run_key, call_no) REFERENCES tool_calls (run_key, call_no)
) STRICT, WITHOUT ROWID;

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

-- The slices of all checkpoints as JSON, in pieces, each piece once. As text, so that views can show it.
CREATE TABLE slice_contents (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  content_hash TEXT NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (run_key, content_hash)
) STRICT;

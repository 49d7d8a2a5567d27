-- What agents keep beside their messages: slices, the calls that changed them, and checkpoints.

CREATE TABLE slices (
  run_key UUID NOT NULL,
  slice_name TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('state', 'log')),
  version BIGINT NOT NULL,
  PRIMARY KEY (run_key, slice_name)
);

CREATE TABLE slice_items (
  run_key UUID NOT NULL,
  slice_name TEXT COLLATE "C" NOT NULL,
  item_index BIGINT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (run_key, slice_name, item_index)
);

-- The calls whose events the session includes, or included before it was rolled back.
CREATE TABLE applied_calls (
  run_key UUID NOT NULL,
  call_no BIGINT NOT NULL,
  event_seq BIGINT NOT NULL,
  forgotten BIGINT NOT NULL,
  PRIMARY KEY (run_key, call_no)
);

CREATE TABLE checkpoints (
  run_key UUID NOT NULL,
  checkpoint_index BIGINT NOT NULL,
  step_no BIGINT NOT NULL,
  -- The turn that it was committed with; 0 at the end of a step.
  turn_index BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  checkpoint_type TEXT NOT NULL,
  -- The event of its commit.
  event_seq BIGINT NOT NULL,
  cursor TEXT NOT NULL,
  -- The bytes of the whole snapshot as JSON.
  size BIGINT NOT NULL,
  -- The session was rolled back to an earlier one since.
  superseded BIGINT NOT NULL,
  -- The snapshot, with a list of hashes in place of each slice.
  snapshot TEXT NOT NULL,
  PRIMARY KEY (run_key, checkpoint_index)
);

-- The slices of all checkpoints as JSON, in pieces, each piece once. As text, so that views can show it.
CREATE TABLE slice_contents (
  run_key UUID NOT NULL,
  content_hash TEXT COLLATE "C" NOT NULL,
  content TEXT NOT NULL,
  PRIMARY KEY (run_key, content_hash)
);

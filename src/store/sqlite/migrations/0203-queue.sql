-- How runs are found and reached by others, and what the store knows beside its runs.

-- One row for each value of the metadata, to find runs by.
CREATE TABLE run_labels (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  -- Of the run, so that a list by label is in the order of an index.
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_key, name, value)
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_by_label ON run_labels (name, value, created_at, run_key);

-- The names by which others reach a run that do not know its id.
CREATE TABLE addresses (
  run_key INTEGER NOT NULL REFERENCES runs (run_key),
  address TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (run_key, address)
) STRICT, WITHOUT ROWID;

-- The mailbox of a run.
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
  call_no INTEGER,
  PRIMARY KEY (run_key, message_no),
  UNIQUE (run_key, message_id)
) STRICT;

CREATE INDEX waiting_messages ON messages (run_key, message_no) WHERE status = 'waiting';

-- What is left of a run that was deleted.
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

CREATE INDEX tombstones_by_age ON tombstones (deleted_at, run_id);

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

CREATE INDEX due_schedules ON schedules (next_at) WHERE paused_at IS NULL;

-- What became of each planned time.
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

-- The workers that live, for people to see. Nothing is decided by it.
CREATE TABLE live_workers (
  worker_id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  facts TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

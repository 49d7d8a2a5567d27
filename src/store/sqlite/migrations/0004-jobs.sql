-- The contract that the run was started with; nothing where it has none. It never changes.
ALTER TABLE run_inputs ADD COLUMN spec TEXT;

-- What the run may use: its contract's budgets, and what a person has allowed since.
ALTER TABLE runs ADD COLUMN budgets TEXT;
-- Since when it waits for a person: that time does not count, unless its budgets say so.
ALTER TABLE runs ADD COLUMN waiting_since INTEGER;
-- Somebody wants it to end: its worker sees to that. Apart from the status, which says what is.
ALTER TABLE runs ADD COLUMN cancel_requested_at INTEGER;
ALTER TABLE runs ADD COLUMN cancel_requested_by TEXT;
-- The run, step and turn that it was forked from.
ALTER TABLE runs ADD COLUMN forked_from TEXT;

-- What a run has made. The bytes are a blob; the file in its workspace is a copy.
CREATE TABLE artifacts (
  run_no INTEGER NOT NULL REFERENCES runs (run_no),
  artifact_name TEXT NOT NULL,
  step_no INTEGER REFERENCES run_steps (step_no),
  created_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  blob_hash BLOB NOT NULL,
  PRIMARY KEY (run_no, artifact_name)
) STRICT, WITHOUT ROWID;

-- A question need not be about a call: one about a budget is about the run.
CREATE TABLE new_waits (
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
INSERT INTO new_waits SELECT * FROM waits;
DROP TABLE waits;
ALTER TABLE new_waits RENAME TO waits;
CREATE INDEX open_waits ON waits (run_no) WHERE status = 'open';

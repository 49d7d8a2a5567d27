-- Requests to resume a run, the access of people to a server, and what they did through it.

-- What a person asks of the worker that resumes the run; none once that is done.
ALTER TABLE runs ADD COLUMN resume_request TEXT;

-- Access tokens and login codes. The secret itself is shown once, and only its hash is stored.
CREATE TABLE access_tokens (
  access_id TEXT COLLATE "C" PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('token', 'code')),
  name TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  -- Which runs it is for.
  scope TEXT NOT NULL,
  hash BYTEA NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  -- The access that it was made with, and that it ends with.
  made_from TEXT,
  expires_at BIGINT,
  -- When a code was exchanged for a session, and by which call: one whose answer was lost is repeated.
  redeemed_at BIGINT,
  redemption BYTEA,
  -- To a minute.
  last_used_at BIGINT,
  revoked_at BIGINT
);

CREATE INDEX access_made_from ON access_tokens (made_from) WHERE made_from IS NOT NULL;

-- What people did and read through a server. Rows are appended, each with the hash of the one before it.
CREATE TABLE audit_log (
  audit_no BIGINT PRIMARY KEY,
  at BIGINT NOT NULL,
  who TEXT NOT NULL,
  access_id TEXT,
  role TEXT CHECK (role IN ('viewer', 'operator', 'admin')),
  -- The operation, and the run, wait or token that it was about.
  act TEXT NOT NULL,
  target TEXT,
  -- How it ended: a status of HTTP, and the code of the problem.
  status BIGINT NOT NULL,
  problem TEXT,
  request_id TEXT,
  previous_hash BYTEA NOT NULL,
  hash BYTEA NOT NULL,
  -- Of the first entry that was appended together with others: a commit whose answer was lost is not repeated.
  batch BYTEA
);

CREATE INDEX audit_by_time ON audit_log (at);
CREATE UNIQUE INDEX audit_batches ON audit_log (batch) WHERE batch IS NOT NULL;
CREATE INDEX audit_of_person ON audit_log (who, audit_no);
CREATE INDEX audit_of_target ON audit_log (target, audit_no) WHERE target IS NOT NULL;

-- Addresses that events of runs are sent to. The log of runs is the outbox: no commit of a run writes any of this.

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

-- One row: up to where the log was read.
CREATE TABLE webhook_feed (
  id INTEGER PRIMARY KEY,
  -- The last places, the newest first: one is lost if the run of the event before it is deleted.
  places TEXT NOT NULL,
  -- Set while all runs are looked at again, since all places were lost: how far that is.
  again TEXT
) STRICT;

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

CREATE INDEX due_deliveries ON webhook_deliveries (next_at, webhook_id) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_by_age ON webhook_deliveries (webhook_id, created_at, delivery_id);

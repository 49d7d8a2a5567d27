-- Addresses that events of runs are sent to. The log of runs is the outbox: no commit of a run writes any of this.

CREATE TABLE webhooks (
  webhook_id TEXT COLLATE "C" PRIMARY KEY,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  -- Which runs it is for.
  scope TEXT NOT NULL,
  -- 1 if questions and arguments are sent, too.
  content BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  created_by TEXT NOT NULL,
  -- Its secret is made from the key of the store and this number, and is not stored. By the check a process notices that
  -- it has another key.
  generation BIGINT NOT NULL,
  secret_check TEXT NOT NULL,
  rotated_at BIGINT,
  disabled_at BIGINT
);

-- One row: up to where the log was read.
CREATE TABLE webhook_feed (
  id BIGINT PRIMARY KEY,
  -- The last places, the newest first: one is lost if the run of the event before it is deleted.
  places TEXT NOT NULL,
  -- Set while all runs are looked at again, since all places were lost: how far that is.
  again TEXT
);

CREATE TABLE webhook_deliveries (
  webhook_id TEXT COLLATE "C" NOT NULL,
  -- The same whenever it is sent.
  delivery_id TEXT COLLATE "C" NOT NULL,
  event TEXT NOT NULL,
  run_id TEXT,
  facts TEXT NOT NULL,
  event_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  attempts BIGINT NOT NULL,
  -- Those since it was recorded, or since a person had it sent again.
  tries BIGINT NOT NULL,
  next_at BIGINT,
  last_at BIGINT,
  last_status BIGINT,
  last_error TEXT,
  PRIMARY KEY (webhook_id, delivery_id)
);

CREATE INDEX due_deliveries ON webhook_deliveries (next_at, webhook_id) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_by_age ON webhook_deliveries (webhook_id, created_at, delivery_id);

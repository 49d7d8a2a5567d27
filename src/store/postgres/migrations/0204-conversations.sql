-- Conversations: texts that the turns of an agent take, and exchanges.

-- 1 if the run takes texts: it has a conversation.
ALTER TABLE runs ADD COLUMN takes_text BIGINT NOT NULL DEFAULT 0;

-- What is to happen while the agent answers; none for an event.
ALTER TABLE messages ADD COLUMN mode TEXT CHECK (mode IN ('queue', 'steer', 'interrupt'));
-- The turn that has taken it, and the exchange that it belongs to.
ALTER TABLE messages ADD COLUMN taken_step BIGINT;
ALTER TABLE messages ADD COLUMN taken_turn BIGINT;
ALTER TABLE messages ADD COLUMN exchange_no BIGINT;

CREATE INDEX messages_of_turns ON messages (run_key, taken_step, taken_turn, message_no) WHERE taken_turn IS NOT NULL;

-- What a user said, and the turns up to the complete answer.
CREATE TABLE exchanges (
  run_key UUID NOT NULL,
  step_no BIGINT NOT NULL,
  -- From 1.
  exchange_no BIGINT NOT NULL,
  first_turn BIGINT NOT NULL,
  sent_by TEXT NOT NULL,
  began_at BIGINT NOT NULL,
  -- What the run had been charged before it began.
  charged_tokens BIGINT NOT NULL,
  charged_micro_dollars BIGINT NOT NULL,
  -- The last turn that was committed in it; none if none was.
  last_turn BIGINT,
  ended_at BIGINT,
  outcome TEXT CHECK (outcome IN ('complete', 'stopped', 'failed', 'max_turns', 'budget', 'rolled_back')),
  -- Why it ended without a complete answer.
  why TEXT,
  stop_requested_at BIGINT,
  stop_requested_by TEXT,
  PRIMARY KEY (run_key, step_no, exchange_no)
);

-- What lists and sums for people read. None of these indexes but the two by time is written by the commit of a turn.

-- A page of a pipeline and a status, however few of its runs have it.
CREATE INDEX runs_of_pipeline_by_status ON runs (pipeline, status, created_at, run_id);
-- When the run ended; none while it has not. It does not change with the turns of a run, as updated_at does.
ALTER TABLE runs ADD COLUMN ended_at INTEGER
  GENERATED ALWAYS AS (CASE WHEN status IN ('succeeded', 'failed', 'cancelled', 'moved') THEN updated_at END) VIRTUAL;
DROP INDEX ended_runs;
CREATE INDEX ended_runs ON runs (ended_at, run_id) WHERE ended_at IS NOT NULL;
-- The status is there so that SQLite takes this index, and not the one of all runs by status.
CREATE INDEX failed_runs ON runs (status, ended_at, run_id) WHERE status = 'failed';
-- Without those that the clock and the mailbox answer: a store with many conversations has one of them for each.
CREATE INDEX waits_for_people ON waits (created_at, run_key) WHERE status = 'open' AND kind <> 'time' AND kind <> 'message';
CREATE INDEX answers_of_people ON waits (answered_at, run_key)
  WHERE status = 'answered' AND kind <> 'time' AND kind <> 'message';
-- Also those that have a receipt since, which are few.
CREATE INDEX calls_in_doubt ON tool_calls (run_key, call_no) WHERE status = 'in_doubt';

-- What was charged when, without a look at the rows, which have the answers.
CREATE INDEX turns_by_time ON turns (settled_at, run_key, basis, charged_tokens, charged_micro_dollars);
CREATE INDEX failed_model_calls_by_time
  ON failed_model_calls (settled_at, run_key, basis, charged_tokens, charged_micro_dollars);

-- For auditors: the runs, steps, calls and checkpoints with readable ids, statuses, times and contents. Nothing reads
-- them but people and their tools. Any sqlite3 from 3.38 on can.

CREATE VIEW audit_runs AS
SELECT run_id,
       strftime('%Y-%m-%dT%H:%M:%S', runs.created_at / 1000, 'unixepoch') || printf('.%03dZ', runs.created_at % 1000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', runs.updated_at / 1000, 'unixepoch') || printf('.%03dZ', runs.updated_at % 1000) AS updated_at,
       runs.status,
       entrypoint,
       spec AS run_spec_json,
       run_id || '/' || step_path AS current_step_id,
       run_id || '~' || (SELECT max(checkpoint_index) FROM checkpoints
                          WHERE checkpoints.run_key = runs.run_key AND superseded = 0) AS last_checkpoint_id,
       final_artifact AS final_artifact_ref
  FROM runs
  LEFT JOIN run_inputs ON run_inputs.run_key = runs.run_key
  LEFT JOIN run_steps ON run_steps.run_key = runs.run_key AND step_no = current_step_no;

CREATE VIEW audit_run_steps AS
SELECT run_id || '/' || step_path AS step_id,
       run_id,
       step_no AS step_index,
       strftime('%Y-%m-%dT%H:%M:%S', run_steps.created_at / 1000, 'unixepoch') || printf('.%03dZ', run_steps.created_at % 1000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', run_steps.updated_at / 1000, 'unixepoch') || printf('.%03dZ', run_steps.updated_at % 1000) AS updated_at,
       run_steps.status,
       phase,
       error_code,
       error_detail
  FROM run_steps JOIN runs ON runs.run_key = run_steps.run_key;

CREATE VIEW audit_tool_calls AS
SELECT run_id || '/' || step_path || '#' || c.turn_index || '.' || c.call_index AS tool_call_id,
       run_id,
       run_id || '/' || step_path AS step_id,
       strftime('%Y-%m-%dT%H:%M:%S', c.created_at / 1000, 'unixepoch') || printf('.%03dZ', c.created_at % 1000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', coalesce(receipts.created_at, c.started_at, c.created_at) / 1000, 'unixepoch')
         || printf('.%03dZ', coalesce(receipts.created_at, c.started_at, c.created_at) % 1000) AS updated_at,
       tool_name,
       tool_namespace,
       side_effect_class,
       lower(hex(identity_hash)) AS normalized_args_hash,
       lower(hex(idempotency_key)) AS idempotency_key,
       coalesce(receipts.status, c.status) AS status,
       c.attempt,
       -- The arguments of a turn's call are in its response: first the calls that Pawl runs, then the provider's own.
       coalesce(c.request, (
         SELECT input FROM (
           SELECT part.value -> '$.input' AS input,
                  row_number() OVER (ORDER BY part.value ->> '$.providerExecuted' IS 1, part.id) AS n
             FROM turns, json_each(turns.response, '$.content') AS part
            WHERE turns.run_key = c.run_key AND turns.step_no = c.step_no AND turns.turn_index = c.turn_index
              AND part.value ->> '$.type' = 'tool-call'
         ) WHERE n = c.call_index)) AS request_ref,
       CASE WHEN blob_hash IS NULL THEN receipts.output -> '$.value' ELSE receipts.output ->> '$.value' END AS response_ref,
       coalesce(receipts.external_correlation_id, (
         SELECT external_correlation_id FROM tool_call_attempts
          WHERE tool_call_attempts.run_key = c.run_key AND tool_call_attempts.call_no = c.call_no
            AND external_correlation_id IS NOT NULL
          ORDER BY attempt DESC LIMIT 1)) AS external_correlation_id,
       receipts.error_code,
       CASE receipts.status WHEN 'failed' THEN receipts.output -> '$.value' END AS error_detail
  FROM tool_calls AS c
  JOIN runs ON runs.run_key = c.run_key
  JOIN run_steps ON run_steps.run_key = c.run_key AND run_steps.step_no = c.step_no
  LEFT JOIN receipts ON receipts.run_key = c.run_key AND receipts.call_no = c.call_no;

-- The results that response_ref only refers to, unless they were collected.
CREATE VIEW audit_large_results AS
SELECT run_id || '/' || step_path || '#' || turn_index || '.' || call_index AS tool_call_id,
       run_id,
       blob_size AS size,
       CAST(bytes AS TEXT) AS response_json
  FROM receipts
  JOIN blobs ON blobs.run_key = receipts.run_key AND blobs.blob_hash = receipts.blob_hash
  JOIN tool_calls ON tool_calls.run_key = receipts.run_key AND tool_calls.call_no = receipts.call_no
  JOIN run_steps ON run_steps.run_key = receipts.run_key AND run_steps.step_no = tool_calls.step_no
  JOIN runs ON runs.run_key = receipts.run_key;

CREATE VIEW audit_checkpoints AS
SELECT run_id || '~' || checkpoint_index AS checkpoint_id,
       run_id,
       run_id || '/' || step_path AS step_id,
       strftime('%Y-%m-%dT%H:%M:%S', c.created_at / 1000, 'unixepoch') || printf('.%03dZ', c.created_at % 1000) AS created_at,
       checkpoint_type,
       '{"contract":' || coalesce(contract, 'null') || ',"slices":{' || coalesce((
         SELECT group_concat(slice, ',') FROM (
           SELECT json_quote(reference.key) || ':' || (
                    SELECT group_concat(content, '') FROM (
                      -- A cross join is made in this order: each piece is looked up.
                      SELECT content FROM json_each(reference.value) AS piece
                       CROSS JOIN slice_contents ON slice_contents.run_key = c.run_key AND content_hash = piece.value
                       ORDER BY piece.id)) AS slice
             FROM json_each(c.snapshot, '$.slices') AS reference
            WHERE json_type(c.snapshot, '$.slices') = 'object'
            ORDER BY reference.id)), '') || '}}' AS state_snapshot_json,
       cursor AS cursor_json
  FROM checkpoints AS c
  JOIN runs ON runs.run_key = c.run_key
  JOIN run_steps ON run_steps.run_key = c.run_key AND run_steps.step_no = c.step_no
  LEFT JOIN run_inputs ON run_inputs.run_key = c.run_key;

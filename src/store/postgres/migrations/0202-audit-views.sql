-- For auditors: the runs, steps, calls and checkpoints with readable ids, statuses, times and contents, the same as on
-- SQLite. Nothing reads them but people and their tools.

-- A text as it was given, but without the character 0, which PostgreSQL's texts cannot have. No JSON has it.
CREATE FUNCTION audit_text(stored TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE
RETURN replace(replace(stored, U&'\0001\0001', ''), U&'\0001\0002', U&'\0001');

CREATE FUNCTION audit_time(ms BIGINT) RETURNS TEXT LANGUAGE sql STABLE
RETURN to_char(to_timestamp(ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.') || lpad((ms % 1000)::text, 3, '0') || 'Z';

-- PostgreSQL cannot look into JSON that has \u0000 in it. So escapes are hidden from it: Pawl's JSON never has \/, which
-- stands for a backslash meanwhile.
CREATE FUNCTION audit_json(stored TEXT) RETURNS JSON LANGUAGE sql IMMUTABLE
RETURN replace(replace(stored, '\\', '\/'), '\u', '\\u')::json;

CREATE FUNCTION audit_json_text(part JSON) RETURNS TEXT LANGUAGE sql IMMUTABLE
RETURN replace(replace(part::text, '\\u', '\u'), '\/', '\\');

CREATE VIEW audit_runs AS
SELECT run_id,
       audit_time(runs.created_at) AS created_at,
       audit_time(runs.updated_at) AS updated_at,
       runs.status,
       audit_text(entrypoint) AS entrypoint,
       spec AS run_spec_json,
       run_id || '/' || audit_text(step_path) AS current_step_id,
       run_id || '~' || (SELECT max(checkpoint_index) FROM checkpoints
                          WHERE checkpoints.run_key = runs.run_key AND superseded = 0) AS last_checkpoint_id,
       final_artifact AS final_artifact_ref
  FROM runs
  LEFT JOIN run_inputs ON run_inputs.run_key = runs.run_key
  LEFT JOIN run_steps ON run_steps.run_key = runs.run_key AND step_no = current_step_no;

CREATE VIEW audit_run_steps AS
SELECT run_id || '/' || audit_text(step_path) AS step_id,
       run_id,
       step_no AS step_index,
       audit_time(run_steps.created_at) AS created_at,
       audit_time(run_steps.updated_at) AS updated_at,
       run_steps.status,
       audit_text(phase) AS phase,
       error_code,
       audit_text(error_detail) AS error_detail
  FROM run_steps JOIN runs ON runs.run_key = run_steps.run_key;

CREATE VIEW audit_tool_calls AS
SELECT run_id || '/' || audit_text(step_path) || '#' || c.turn_index || '.' || c.call_index AS tool_call_id,
       run_id,
       run_id || '/' || audit_text(step_path) AS step_id,
       audit_time(c.created_at) AS created_at,
       audit_time(coalesce(receipts.created_at, c.started_at, c.created_at)) AS updated_at,
       audit_text(tool_name) AS tool_name,
       audit_text(tool_namespace) AS tool_namespace,
       side_effect_class,
       encode(identity_hash, 'hex') AS normalized_args_hash,
       encode(idempotency_key, 'hex') AS idempotency_key,
       coalesce(receipts.status, c.status) AS status,
       c.attempt,
       -- The arguments of a turn's call are in its response: first the calls that Pawl runs, then the provider's own.
       coalesce(c.request, (
         SELECT audit_json_text(input) FROM (
           SELECT part -> 'input' AS input,
                  row_number() OVER (ORDER BY part ->> 'providerExecuted' IS NOT DISTINCT FROM 'true', id) AS n
             FROM turns, json_array_elements(audit_json(turns.response) -> 'content') WITH ORDINALITY AS parts (part, id)
            WHERE turns.run_key = c.run_key AND turns.step_no = c.step_no AND turns.turn_index = c.turn_index
              AND part ->> 'type' = 'tool-call'
         ) AS inputs WHERE n = c.call_index)) AS request_ref,
       CASE WHEN blob_hash IS NULL THEN audit_json_text(audit_json(receipts.output) -> 'value')
            ELSE audit_json(receipts.output) ->> 'value' END AS response_ref,
       audit_text(coalesce(receipts.external_correlation_id, (
         SELECT external_correlation_id FROM tool_call_attempts
          WHERE tool_call_attempts.run_key = c.run_key AND tool_call_attempts.call_no = c.call_no
            AND external_correlation_id IS NOT NULL
          ORDER BY attempt DESC LIMIT 1))) AS external_correlation_id,
       receipts.error_code,
       CASE receipts.status WHEN 'failed' THEN audit_json_text(audit_json(receipts.output) -> 'value') END AS error_detail
  FROM tool_calls AS c
  JOIN runs ON runs.run_key = c.run_key
  JOIN run_steps ON run_steps.run_key = c.run_key AND run_steps.step_no = c.step_no
  LEFT JOIN receipts ON receipts.run_key = c.run_key AND receipts.call_no = c.call_no;

-- The results that response_ref only refers to, unless they were collected.
CREATE VIEW audit_large_results AS
SELECT run_id || '/' || audit_text(step_path) || '#' || turn_index || '.' || call_index AS tool_call_id,
       run_id,
       blob_size AS size,
       convert_from(bytes, 'UTF8') AS response_json
  FROM receipts
  JOIN blobs ON blobs.run_key = receipts.run_key AND blobs.blob_hash = receipts.blob_hash
  JOIN tool_calls ON tool_calls.run_key = receipts.run_key AND tool_calls.call_no = receipts.call_no
  JOIN run_steps ON run_steps.run_key = receipts.run_key AND run_steps.step_no = tool_calls.step_no
  JOIN runs ON runs.run_key = receipts.run_key;

CREATE VIEW audit_checkpoints AS
SELECT run_id || '~' || checkpoint_index AS checkpoint_id,
       run_id,
       run_id || '/' || audit_text(step_path) AS step_id,
       audit_time(c.created_at) AS created_at,
       checkpoint_type,
       '{"contract":' || coalesce(contract, 'null') || ',"slices":{' || coalesce((
         SELECT string_agg(to_json(key)::text || ':' || (
                  SELECT string_agg(content, '' ORDER BY n)
                    FROM json_array_elements_text(hashes) WITH ORDINALITY AS piece (hash, n)
                    JOIN slice_contents ON slice_contents.run_key = c.run_key AND content_hash = piece.hash),
                  ',' ORDER BY id)
           FROM json_each(CASE json_typeof(audit_json(c.snapshot) -> 'slices')
                  WHEN 'object' THEN audit_json(c.snapshot) -> 'slices' ELSE '{}' END)
                WITH ORDINALITY AS reference (key, hashes, id)), '') || '}}' AS state_snapshot_json,
       cursor AS cursor_json
  FROM checkpoints AS c
  JOIN runs ON runs.run_key = c.run_key
  JOIN run_steps ON run_steps.run_key = c.run_key AND run_steps.step_no = c.step_no
  LEFT JOIN run_inputs ON run_inputs.run_key = c.run_key;

// Every table whose rows intents write, with its key and its columns. Both databases have these tables: their schemas are
// written by hand, and a test compares them with this list.

import { type Columns, STORE_TABLES, type TableShape } from "./store-tables.ts";

export type { ColumnType, TableShape } from "./store-tables.ts";

/** The number of a run inside its database: an integer on SQLite, a hash of the run's id on PostgreSQL. */
export type RunKey = number | string;

const RUN = { run_key: "run" } as const;
const STEP = { ...RUN, step_no: "int" } as const;
const CALL = { ...RUN, call_no: "int" } as const;

const SETTLED_CALL = {
  opened_at: "int",
  settled_at: "int",
  reserved_tokens: "int",
  reserved_micro_dollars: "int",
  basis: "text",
  charged_tokens: "int",
  charged_micro_dollars: "int",
  input_tokens: "int",
  output_tokens: "int",
  cached_input_tokens: "int",
  reasoning_tokens: "int",
} as const;

/** The tables whose rows belong to a run and are covered by its events. */
export const TABLES = {
  run_inputs: {
    key: RUN,
    groups: {
      row: { input: "text", spec: "text?", contract: "text?", call_context: "text?" },
      shape: { shape: "text" },
    },
  },
  run_labels: { key: { ...RUN, name: "text", value: "text" }, groups: { row: { created_at: "int" } } },
  addresses: { key: { ...RUN, address: "text" }, groups: { row: { created_at: "int" } } },
  messages: {
    key: { ...RUN, message_no: "int" },
    groups: {
      row: { message_id: "text", event: "text?", body: "text", sent_at: "int", sent_by: "text" },
      state: { status: "text", settled_at: "int?", reason: "text?", call_no: "int?" },
      // Groups of their own: the events of a run without conversations cover neither.
      mode: { mode: "text?" },
      turn: { taken_step: "int?", taken_turn: "int?", exchange_no: "int?" },
    },
  },
  attempts: {
    key: { ...RUN, epoch: "int" },
    groups: {
      row: { owner: "text", started_at: "int", resumed_from: "text?", reason: "text?" },
      end: { ended_at: "int?", end_status: "text?" },
      trace: { trace_parent: "text?" },
    },
  },
  run_steps: {
    key: STEP,
    groups: {
      row: { step_path: "text", step_name: "text", kind: "text", phase: "text", created_at: "int" },
      state: { status: "text", updated_at: "int", error_code: "text?", error_detail: "text?" },
      input: { input: "text" },
      output: { output: "text?", context: "text?" },
    },
  },
  loop_decisions: {
    key: { ...STEP, iteration: "int" },
    groups: { row: { done: "int", output: "text", context: "text?" } },
  },
  granular_states: {
    key: STEP,
    groups: {
      // Written by every commit of a turn.
      turns: {
        turn_index: "int",
        is_complete: "int",
        messages: "int",
        tokens: "int",
        open_turn_index: "int?",
        open_attempt: "int?",
        opened_at: "int?",
        reserved_tokens: "int?",
        reserved_micro_dollars: "int?",
      },
      lineage: { lineage: "int", first_turn: "int", fingerprint: "bytes" },
    },
  },
  fingerprints: { key: { ...STEP, lineage: "int" }, groups: { document: { document: "text" } } },
  lineages: {
    key: { ...STEP, lineage: "int" },
    groups: {
      row: {
        begun_at: "int",
        first_turn: "int",
        base_turn: "int",
        open_turn: "int?",
        checkpoint_index: "int?",
      },
      // A group of its own: the events of lineages that go back to a milestone do not cover it.
      summary: { summary: "text?" },
    },
  },
  exchanges: {
    key: { ...STEP, exchange_no: "int" },
    groups: {
      row: {
        first_turn: "int",
        sent_by: "text",
        began_at: "int",
        charged_tokens: "int",
        charged_micro_dollars: "int",
      },
      end: { last_turn: "int?", ended_at: "int?", outcome: "text?", why: "text?" },
      stop: { stop_requested_at: "int?", stop_requested_by: "text?" },
      // Groups of their own: the events of other ends do not cover them.
      files: { refused_files: "int?" },
      texts: { refused_texts: "int?" },
    },
  },
  turns: {
    key: { ...STEP, turn_index: "int" },
    groups: {
      row: {
        attempt: "int",
        ...SETTLED_CALL,
        tokens: "int",
        first_call_no: "int",
        calls: "int",
        response: "text",
      },
      follow_up: { follow_up: "text?" },
    },
  },
  failed_model_calls: {
    key: { ...STEP, turn_index: "int", attempt: "int" },
    groups: { row: SETTLED_CALL },
  },
  tool_calls: {
    key: CALL,
    groups: {
      row: {
        step_no: "int",
        turn_index: "int",
        call_index: "int",
        created_at: "int",
        tool_namespace: "text",
        tool_name: "text",
        side_effect_class: "text",
        recovery: "text",
        identity_hash: "bytes",
        occurrence: "int",
        idempotency_key: "bytes",
        request: "text?",
      },
      state: { status: "text", attempt: "int", started_at: "int?", ends_by: "int?" },
      superseded: { superseded: "int?" },
    },
  },
  receipts: {
    key: CALL,
    groups: {
      row: {
        status: "text",
        created_at: "int",
        tokens: "int",
        error_code: "text?",
        uncertain: "int",
        source: "text",
        external_correlation_id: "text?",
        duplicate_of: "text?",
        blob_hash: "bytes?",
        blob_size: "int?",
        output: "text",
        session_events: "text?",
      },
    },
  },
  tool_call_attempts: {
    key: { ...CALL, attempt: "int" },
    groups: {
      row: {
        started_at: "int",
        ended_at: "int",
        outcome: "text",
        error_code: "text?",
        error_detail: "text?",
      },
      correlation: { external_correlation_id: "text?" },
      late: { late_at: "int?", late_status: "text?", late_output: "text?" },
    },
  },
  uncertain_calls: { key: { ...RUN, identity_hash: "bytes", call_no: "int" }, groups: { row: {} } },
  waits: {
    key: { ...RUN, wait_index: "int" },
    groups: {
      row: {
        kind: "text",
        budget: "text?",
        attempt: "int",
        question: "text",
        subject: "text",
        arguments_hash: "bytes?",
        created_at: "int",
        matches: "text?",
        on_due: "text?",
        remind_every_ms: "int?",
      },
      clock: { due_at: "int?", remind_at: "int?", reminders: "int?", escalated_at: "int?" },
      call: { call_no: "int?" },
      answer: { status: "text", answered_at: "int?", answered_by: "text?", answer: "text?" },
    },
  },
  slices: { key: { ...RUN, slice_name: "text" }, groups: { row: { kind: "text", version: "int" } } },
  slice_items: {
    key: { ...RUN, slice_name: "text", item_index: "int" },
    groups: { row: { value: "text" } },
  },
  applied_calls: { key: CALL, groups: { row: { event_seq: "int", forgotten: "int" } } },
  checkpoints: {
    key: { ...RUN, checkpoint_index: "int" },
    groups: {
      row: {
        step_no: "int",
        turn_index: "int",
        created_at: "int",
        checkpoint_type: "text",
        event_seq: "int",
        cursor: "text",
        size: "int",
        snapshot: "text",
      },
      superseded: { superseded: "int" },
    },
  },
  slice_contents: {
    key: { ...RUN, content_hash: "text" },
    groups: { row: { content: "text" } },
  },
  artifacts: {
    key: { ...RUN, artifact_name: "text" },
    groups: { row: { step_no: "int?", created_at: "int", size: "int", blob_hash: "bytes" } },
  },
} as const satisfies { readonly [table: string]: TableShape };

export type CoveredTable = keyof typeof TABLES;

/**
 * Tables without digests of this kind: the row of a run is covered as a whole, events are the log, blobs carry their own
 * hash.
 */
const UNCOVERED_TABLES = {
  runs: {
    key: RUN,
    groups: {
      row: {
        run_id: "text",
        created_at: "int",
        updated_at: "int",
        status: "text",
        pipeline: "text",
        entrypoint: "text",
        input_hash: "bytes",
        current_step_no: "int?",
        owner: "text?",
        epoch: "int",
        lease_until: "int",
        lease_ms: "int",
        marks: "text?",
        limit_tokens: "int?",
        limit_micro_dollars: "int?",
        charged_tokens: "int",
        charged_micro_dollars: "int",
        reserved_tokens: "int",
        reserved_micro_dollars: "int",
        steps: "int",
        calls: "int",
        waits: "int",
        checkpoints: "int",
        run_events: "int",
        event_seq: "int",
        event_hash: "bytes",
        row_seq: "int",
        deadline_at: "int?",
        budgets: "text?",
        waiting_since: "int?",
        cancel_requested_at: "int?",
        cancel_requested_by: "text?",
        forked_from: "text?",
        started_by: "text?",
        queue: "text",
        concurrency_key: "text?",
        priority: "int",
        metadata: "text?",
        ready_at: "int?",
        wake_at: "int?",
        stalls: "int",
        worker_version: "text?",
        moved: "text?",
        output: "text?",
        context: "text?",
        error: "text?",
        final_artifact: "text?",
        takes_text: "int",
        resume_request: "text?",
      },
    },
  },
  events: {
    key: { ...RUN, seq: "int" },
    groups: { row: { created_at: "int", type: "text", data: "text", hash: "bytes", of_run: "int" } },
  },
  blobs: {
    key: { ...RUN, blob_hash: "bytes" },
    groups: { row: { created_at: "int", size: "int", bytes: "bytes" } },
  },
} as const satisfies { readonly [table: string]: TableShape };

export const ALL_TABLES = { ...TABLES, ...UNCOVERED_TABLES, ...STORE_TABLES };
export type TableName = keyof typeof ALL_TABLES;

/** The columns that identify a row of the table, in order. */
export function keyColumns(table: TableName): readonly string[] {
  return Object.keys(ALL_TABLES[table].key);
}

/** All columns of the table with their types, the key first. */
export function columnTypes(table: TableName): Columns {
  const { key, groups }: TableShape = ALL_TABLES[table];
  return Object.assign({}, key, ...Object.values(groups)) as Columns;
}

type ValueOf<C> = C extends "run"
  ? RunKey
  : C extends "int"
    ? number
    : C extends "int?"
      ? number | null
      : C extends "text"
        ? string
        : C extends "text?"
          ? string | null
          : C extends "bytes"
            ? Uint8Array
            : Uint8Array | null;

type Values<C> = { readonly [Name in keyof C]: ValueOf<C[Name]> };

type UnionToIntersection<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

type Groups<T extends TableName> = (typeof ALL_TABLES)[T]["groups"];
type AnyColumns<T extends TableName> = UnionToIntersection<Groups<T>[keyof Groups<T>]>;

/** The key of a row, without the run. */
export type KeyOf<T extends TableName> = Omit<Values<(typeof ALL_TABLES)[T]["key"]>, "run_key">;

/** A whole row, without the run. */
export type RowOf<T extends TableName> = KeyOf<T> & Values<AnyColumns<T>>;

/** Any columns of a row but its key. */
export type ColumnsOf<T extends TableName> = Values<AnyColumns<T>>;

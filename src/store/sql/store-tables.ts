// The tables whose rows belong to no run: what the store knows beside its runs.

/** The type of a column; "?" if it may be null. */
export type ColumnType = "run" | "int" | "int?" | "text" | "text?" | "bytes" | "bytes?";

export type Columns = { readonly [column: string]: ColumnType };

export type TableShape = {
  /** The columns that identify a row, in order; the first is the run. */
  readonly key: Columns;
  /**
   * The other columns, in groups. An event covers each group by a digest of its own, so an update writes whole groups
   * and need not know the rest of the row. The group `row` is written once, with the row.
   */
  readonly groups: { readonly [group: string]: Columns };
};

export const STORE_TABLES = {
  identity: { key: { place: "int" }, groups: { row: { store_id: "text" } } },
  workers: {
    key: { worker_id: "text" },
    groups: {
      row: {
        run_id: "text",
        request: "text",
        created_at: "int",
        deadline_at: "int?",
        completed_at: "int?",
      },
    },
  },
  tombstones: {
    key: { run_id: "text" },
    groups: {
      row: {
        pipeline: "text",
        status: "text",
        created_at: "int",
        ended_at: "int",
        deleted_at: "int",
        deleted_by: "text",
        why: "text",
        charged_tokens: "int",
        charged_micro_dollars: "int",
        event_seq: "int",
        event_hash: "bytes",
      },
    },
  },
  schedules: {
    key: { name: "text" },
    groups: {
      row: {
        spec: "text",
        spec_hash: "text?",
        start: "text",
        revision: "int",
        configured_at: "int",
        planned_at: "int",
        next_at: "int?",
        paused_at: "int?",
        paused_by: "text?",
      },
    },
  },
  firings: {
    key: { name: "text", planned_at: "int" },
    groups: {
      row: { decided_at: "int", outcome: "text", run_id: "text?", times: "int", why: "text?" },
    },
  },
  live_workers: {
    key: { worker_id: "text" },
    groups: { row: { host: "text", facts: "text", started_at: "int", seen_at: "int" } },
  },
  access_tokens: {
    key: { access_id: "text" },
    groups: {
      row: {
        kind: "text",
        name: "text",
        role: "text",
        scope: "text",
        hash: "bytes",
        created_at: "int",
        created_by: "text",
        made_from: "text?",
        expires_at: "int?",
        redeemed_at: "int?",
        redemption: "bytes?",
        last_used_at: "int?",
        revoked_at: "int?",
      },
    },
  },
  audit_log: {
    key: { audit_no: "int" },
    groups: {
      row: {
        at: "int",
        who: "text",
        access_id: "text?",
        role: "text?",
        act: "text",
        target: "text?",
        status: "int",
        problem: "text?",
        request_id: "text?",
        previous_hash: "bytes",
        hash: "bytes",
        batch: "bytes?",
      },
    },
  },
  webhooks: {
    key: { webhook_id: "text" },
    groups: {
      row: {
        url: "text",
        events: "text",
        scope: "text",
        content: "int",
        created_at: "int",
        created_by: "text",
        generation: "int",
        secret_check: "text",
        rotated_at: "int?",
        disabled_at: "int?",
      },
    },
  },
  webhook_feed: { key: { id: "int" }, groups: { row: { places: "text", again: "text?" } } },
  webhook_deliveries: {
    key: { webhook_id: "text", delivery_id: "text" },
    groups: {
      row: {
        event: "text",
        run_id: "text?",
        facts: "text",
        event_at: "int",
        created_at: "int",
        state: "text",
        attempts: "int",
        tries: "int",
        next_at: "int?",
        last_at: "int?",
        last_status: "int?",
        last_error: "text?",
      },
    },
  },
} as const satisfies { readonly [table: string]: TableShape };

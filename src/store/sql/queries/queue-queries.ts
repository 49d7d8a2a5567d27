import { toolCallId } from "../../../core/step-path.ts";
import type {
  MessageRange,
  MessageRecord,
  QueueDepth,
  ReadyQuery,
  ReadyRun,
  RunScope,
  SleepingRun,
} from "../../store.ts";
import type { Row } from "../row.ts";
import { all, type SqlScript } from "../script.ts";
import { MESSAGE_MODES, MESSAGE_STATUSES } from "../stored-words.ts";
import { senderOf } from "../tables/message-rows.ts";
import { parseJson, requireRunKey } from "../tables/run-row.ts";
import { inScope } from "./run-scope.ts";
import { allOf } from "./sql-condition.ts";

const READY = `SELECT run_id, priority, ready_at, concurrency_key, worker_version FROM runs
   WHERE status = 'queued' AND wake_at IS NULL AND ready_at IS NOT NULL AND queue = ? AND pipeline = ?
   ORDER BY priority DESC, ready_at LIMIT ? OFFSET ?`;

/** The most runs of one queue and pipeline that are looked at, if most of them are left out. */
const MOST_LOOKED_AT = 2_000;
const PAGE = 200;

/** The ready runs with the highest priority, and of those the ones that have waited longest. */
export function* listReady(
  now: number,
  { pipelines, queues, limit, exceptKeys = [] }: ReadyQuery,
): SqlScript<ReadyRun[]> {
  const left = new Set(exceptKeys.map(({ queue, key }) => JSON.stringify([queue, key])));
  const ready: ReadyRun[] = [];
  for (const queue of queues)
    for (const pipeline of pipelines) ready.push(...(yield* readyOf(now, { queue, pipeline }, limit, left)));
  return ready.sort((a, b) => b.priority - a.priority || a.readyAt - b.readyAt).slice(0, limit);
}

function* readyOf(
  now: number,
  { queue, pipeline }: { readonly queue: string; readonly pipeline: string },
  limit: number,
  left: ReadonlySet<string>,
): SqlScript<ReadyRun[]> {
  const ready: ReadyRun[] = [];
  const size = left.size === 0 ? limit : Math.max(limit, PAGE);
  for (let offset = 0; offset < MOST_LOOKED_AT; offset += size) {
    const rows = yield* all(READY, queue, pipeline, size, offset);
    for (const row of rows) {
      const concurrencyKey = row.optionalText("concurrency_key");
      if (concurrencyKey !== null && left.has(JSON.stringify([queue, concurrencyKey]))) continue;
      const [priority, readyAt] = [row.int("priority"), row.int("ready_at")];
      ready.push({
        runId: row.text("run_id"),
        pipeline,
        queue,
        concurrencyKey,
        priority,
        readyAt,
        workerVersion: row.optionalText("worker_version"),
        idleMs: Math.max(0, now - readyAt),
      });
      if (ready.length === limit) return ready;
    }
    if (rows.length < size) break;
  }
  return ready;
}

export function* countReady(now: number, given: RunScope = {}): SqlScript<QueueDepth[]> {
  const scope = allOf(inScope(given));
  const rows = yield* all(
    `SELECT queue, pipeline, count(*) AS ready, min(ready_at) AS oldest FROM runs
      WHERE status = 'queued' AND wake_at IS NULL AND ready_at IS NOT NULL AND ${scope.text} GROUP BY queue, pipeline ORDER BY queue, pipeline`,
    ...scope.values,
  );
  return rows.map((row) => ({
    queue: row.text("queue"),
    pipeline: row.text("pipeline"),
    ready: row.int("ready"),
    oldestMs: Math.max(0, now - row.int("oldest")),
  }));
}

const SLEEPING = "SELECT run_id, wake_at FROM runs WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT ?";

export function* listSleeping(now: number, limit: number): SqlScript<SleepingRun[]> {
  const rows = yield* all(SLEEPING, limit);
  return rows.map((row) => ({
    runId: row.text("run_id"),
    inMs: Math.max(0, row.int("wake_at") - now),
  }));
}

/** A run that a worker holds, or has left without releasing it. */
export type RunningRun = {
  readonly runId: string;
  readonly pipeline: string;
  readonly queue: string;
  readonly owner: string | null;
  readonly epoch: number;
  readonly leaseUntil: number;
  readonly leaseMs: number;
  readonly workerVersion: string | null;
  /** When its worker was last heard of. */
  readonly heardAt: number;
};

/** When the worker of a run was last heard of: it renewed its lease then, or gave the run up in good order. */
export const HEARD_AT = "CASE WHEN runs.owner IS NULL THEN runs.updated_at ELSE lease_until - lease_ms END";

const RUNNING = `SELECT run_id, pipeline, queue, owner, epoch, lease_until, lease_ms, worker_version,
    ${HEARD_AT} AS heard_at FROM runs WHERE status = 'running' ORDER BY created_at`;

export function* listRunning(): SqlScript<RunningRun[]> {
  const rows = yield* all(RUNNING);
  return rows.map((row) => ({
    runId: row.text("run_id"),
    pipeline: row.text("pipeline"),
    queue: row.text("queue"),
    owner: row.optionalText("owner"),
    epoch: row.int("epoch"),
    leaseUntil: row.int("lease_until"),
    leaseMs: row.int("lease_ms"),
    workerVersion: row.optionalText("worker_version"),
    heardAt: row.int("heard_at"),
  }));
}

const MESSAGES = `SELECT messages.*, run_steps.step_path, tool_calls.turn_index, tool_calls.call_index,
      (SELECT taker.step_path FROM run_steps AS taker
        WHERE taker.run_key = messages.run_key AND taker.step_no = messages.taken_step) AS taken_path
    FROM messages
    LEFT JOIN tool_calls ON tool_calls.run_key = messages.run_key AND tool_calls.call_no = messages.call_no
    LEFT JOIN run_steps ON run_steps.run_key = messages.run_key AND run_steps.step_no = tool_calls.step_no
   WHERE messages.run_key = ? AND message_no > ?`;
const MESSAGES_IN_ORDER = `${MESSAGES} ORDER BY message_no LIMIT ?`;
const MESSAGES_IN_STATUS = `${MESSAGES} AND messages.status = ? ORDER BY message_no LIMIT ?`;

export function* listMessages(
  runId: string,
  { status, after = 0, limit = Number.MAX_SAFE_INTEGER }: MessageRange = {},
): SqlScript<MessageRecord[]> {
  const key = yield* requireRunKey(runId);
  const rows =
    status === undefined
      ? yield* all(MESSAGES_IN_ORDER, key, after, limit)
      : yield* all(MESSAGES_IN_STATUS, key, after, status, limit);
  return rows.map((row) => messageRecord(runId, row));
}

function messageRecord(runId: string, row: Row): MessageRecord {
  return {
    runId,
    messageNo: row.int("message_no"),
    id: row.text("message_id"),
    event: row.optionalText("event"),
    body: parseJson(row.text("body")),
    sentAt: row.int("sent_at"),
    sentBy: senderOf(row).name,
    status: row.oneOf("status", MESSAGE_STATUSES),
    settledAt: row.optionalInt("settled_at"),
    reason: row.optionalText("reason"),
    toolCallId:
      row.optionalText("step_path") === null
        ? null
        : toolCallId(runId, row.text("step_path"), row.int("turn_index"), row.int("call_index")),
    mode: row.optionalText("mode") === null ? null : row.oneOf("mode", MESSAGE_MODES),
    takenBy:
      row.optionalText("taken_path") === null
        ? null
        : {
            stepPath: row.text("taken_path"),
            turn: row.int("taken_turn"),
            exchange: row.int("exchange_no"),
          },
  };
}

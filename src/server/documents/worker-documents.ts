import type { Json } from "../../core/json.ts";
import { isoTime } from "../../export/figures.ts";
import type { FiringRecord, LiveWorker, ScheduleRecord } from "../../store/store.ts";

/** A worker reports each few seconds: one that has not for this long has died, or cannot. */
const SILENT_MS = 15_000;

export function workerDocument({ workerId, host, facts, startedAt, seenMs }: LiveWorker) {
  const { pid, version, pipelines, queues, concurrency, runIds, counts, claimLatency, blockedAt } = facts;
  return {
    workerId,
    host,
    pid,
    version,
    pipelines,
    queues,
    concurrency,
    runIds,
    counts: { ...counts },
    claimLatency,
    startedAt: isoTime(startedAt),
    seenMs: Math.round(seenMs),
    isSilent: seenMs > SILENT_MS,
    blockedAt: isoTime(blockedAt),
  };
}

export function firingDocument({ plannedAt, decidedAt, outcome, runId, times, why }: FiringRecord) {
  return { plannedAt: isoTime(plannedAt), decidedAt: isoTime(decidedAt), outcome, runId, times, why };
}

export function scheduleDocument(record: ScheduleRecord) {
  const { name, schedule, isRemoved, nextAt, pausedAt, pausedBy, lastFiring } = record;
  const { pipeline, cron, timeZone, overlap, catchUp, queue, priority, metadata, input } = schedule;
  const spec: Json = {
    catchUp,
    queue: queue ?? null,
    priority: priority ?? null,
    metadata: metadata ?? null,
    input: input ?? null,
  };
  return {
    name,
    pipeline,
    cron,
    timeZone,
    overlap,
    isRemoved,
    nextAt: isoTime(nextAt),
    pausedAt: isoTime(pausedAt),
    pausedBy,
    lastFiring: lastFiring === null ? null : firingDocument(lastFiring),
    spec,
  };
}

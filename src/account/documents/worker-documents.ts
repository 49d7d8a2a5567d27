import type { CheckedSchedule } from "../../core/schedule/schedule-spec.ts";
import { isoTime } from "../../export/figures.ts";
import type { FiringRecord, LiveWorker, ScheduleRecord, WorkerFacts } from "../../store/store.ts";
import type { WithIsoTimes } from "../iso-times.ts";

/** A worker that has reported. */
export type WorkerDocument = WithIsoTimes<Omit<LiveWorker, "facts">, "startedAt"> & {
  readonly facts: WithIsoTimes<WorkerFacts, "blockedAt">;
};

/** Fields that the caller has added, such as rates, are kept. */
export function workerDocument<T extends LiveWorker>(worker: T): Omit<T, keyof LiveWorker> & WorkerDocument {
  return {
    ...worker,
    startedAt: isoTime(worker.startedAt),
    facts: { ...worker.facts, blockedAt: isoTime(worker.facts.blockedAt) },
  };
}

/** A planned time of a schedule that was decided about. Its times are milliseconds since 1970. */
export type FiringDocument = Omit<FiringRecord, "name">;

export function firingDocument({ name: _, ...firing }: FiringRecord): FiringDocument {
  return firing;
}

/** A schedule: its settings beside its state. Its times are milliseconds since 1970. */
export type ScheduleDocument = Omit<ScheduleRecord, "schedule" | "lastFiring"> &
  Omit<CheckedSchedule, "name"> & {
    readonly lastFiring: FiringDocument | null;
  };

export function scheduleDocument({ schedule, lastFiring, ...record }: ScheduleRecord): ScheduleDocument {
  const { name: _, ...spec } = schedule;
  return { ...record, ...spec, lastFiring: lastFiring === null ? null : firingDocument(lastFiring) };
}

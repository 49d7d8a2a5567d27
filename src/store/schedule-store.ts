import type { Person } from "../core/person.ts";
import type {
  FiredSchedule,
  FiringRecord,
  ScheduleConfiguration,
  ScheduleRecord,
  ScheduleReport,
} from "./schedule-records.ts";

/** The intents of a store around schedules. Each is atomic; what concerns a run is in its log as well. */
export interface ScheduleStore {
  /**
   * Takes the schedules of a configuration, if it is newer than the stored one. A new schedule is planned from now on, and
   * so is one with another cron line or time zone: what was due under the old one and not decided is recorded as missed.
   */
  configureSchedules(configuration: ScheduleConfiguration): Promise<readonly ScheduleReport[]>;

  /**
   * Decides about every planned time of the schedule that is due by the store's clock: creates its run, or records why
   * not. A planned time is decided once, however often this is called: the run, the record and the next planned time
   * are one transaction. A run that exists under that id, or was deleted, counts as started.
   */
  fireSchedule(name: string): Promise<FiredSchedule>;

  /**
   * Fires the schedule for this minute as well, also while it is paused. Its overlap policy holds, and its planned times
   * stay as they are. `ConfigurationError` if there is no such schedule.
   */
  fireNow(name: string, person?: Person): Promise<FiringRecord>;

  /** Keeps the schedule from firing until it is resumed, whatever configurations say. */
  pauseSchedule(name: string, person?: Person): Promise<ScheduleRecord>;

  /** Plans the schedule from now on. The planned times of the pause are recorded as missed. */
  resumeSchedule(name: string, person?: Person): Promise<ScheduleRecord>;
}

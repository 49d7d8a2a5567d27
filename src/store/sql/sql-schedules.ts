import type * as contract from "../store.ts";
import * as configuration from "./intents/schedule-configuration.ts";
import * as firings from "./intents/schedule-intents.ts";
import { leasesOfFirings } from "./queries/schedule-queries.ts";
import type { SqlScript } from "./script.ts";
import { SqlReader } from "./sql-reader.ts";
import type { Transaction } from "./transaction.ts";

/** The intents around schedules. */
export abstract class SqlSchedules extends SqlReader implements contract.ScheduleStore {
  /** For an intent of a caller that is not a worker. */
  protected abstract act<T>(intent: string, script: (tx: Transaction) => SqlScript<T>): Promise<T>;

  configureSchedules(given: contract.ScheduleConfiguration): Promise<readonly contract.ScheduleReport[]> {
    return this.act("configureSchedules", (tx) => configuration.configureSchedules(tx, given));
  }

  async fireSchedule(name: string): Promise<contract.FiredSchedule> {
    await this.#lookAtOwners(name);
    return this.act("fireSchedule", (tx) => firings.fireSchedule(tx, name));
  }

  async fireNow(name: string, person: contract.Person = {}): Promise<contract.FiringRecord> {
    await this.#lookAtOwners(name);
    return this.act("fireNow", (tx) => firings.fireNow(tx, name, person));
  }

  pauseSchedule(name: string, person: contract.Person = {}): Promise<contract.ScheduleRecord> {
    return this.act("pauseSchedule", (tx) => configuration.pauseSchedule(tx, name, person));
  }

  resumeSchedule(name: string, person: contract.Person = {}): Promise<contract.ScheduleRecord> {
    return this.act("resumeSchedule", (tx) => configuration.resumeSchedule(tx, name, person));
  }

  /** The workers of earlier runs may have died: a firing cancels those runs, or names them in its reason. */
  async #lookAtOwners(name: string): Promise<void> {
    const leases = await this.read(() => leasesOfFirings(name));
    await Promise.all(leases.map(({ owner, renewedAt }) => this.owners.look(owner, renewedAt)));
  }
}

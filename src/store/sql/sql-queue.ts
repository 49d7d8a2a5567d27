import type * as contract from "../store.ts";
import { wakeRun } from "./intents/clock-intents.ts";
import * as exchanges from "./intents/exchange-intents.ts";
import * as messages from "./intents/message-intents.ts";
import { requestResume } from "./intents/resume-intents.ts";
import * as creation from "./intents/run-creation.ts";
import * as configuration from "./intents/schedule-configuration.ts";
import * as firings from "./intents/schedule-intents.ts";
import { leasesOfFirings } from "./queries/schedule-queries.ts";
import type { SqlScript } from "./script.ts";
import { SqlReader } from "./sql-reader.ts";
import * as live from "./tables/live-worker-rows.ts";
import type { Transaction } from "./transaction.ts";

/** The intents around runs that nobody works on: the queue, the clock, messages, schedules, and the list of workers. */
export abstract class SqlQueue extends SqlReader implements contract.QueueStore, contract.ScheduleStore {
  /** For an intent of a caller that is not a worker. */
  protected abstract act<T>(
    intent: string,
    runId: string | null,
    script: (tx: Transaction) => SqlScript<T>,
  ): Promise<T>;

  enqueueRun(run: contract.QueuedRun): ReturnType<contract.Store["enqueueRun"]> {
    return this.act("enqueueRun", run.runId, (tx) => creation.enqueueRun(tx, run));
  }

  wakeRun(runId: string): Promise<number | null> {
    return this.act("wakeRun", runId, (tx) => wakeRun(tx, runId));
  }

  sendMessage(
    runId: string,
    message: contract.NewMessage,
    orStart?: contract.QueuedRun,
  ): Promise<contract.SentMessage> {
    return this.act("sendMessage", runId, (tx) => messages.sendMessage(tx, runId, message, orStart));
  }

  withdrawMessage(runId: string, messageId: string): Promise<contract.MessageStatus> {
    return this.act("withdrawMessage", runId, (tx) => messages.withdrawMessage(tx, runId, messageId));
  }

  requestStop(runId: string, person: contract.Person = {}): Promise<contract.StopOutcome> {
    return this.act("requestStop", runId, (tx) => exchanges.requestStop(tx, runId, person));
  }

  async requestResume(
    runId: string,
    request: contract.ResumeRequest,
    person: contract.Person = {},
  ): Promise<contract.ResumeOutcome> {
    await this.lookAtOwner(runId);
    return this.act("requestResume", runId, (tx) => requestResume(tx, runId, request, person));
  }

  reportWorker(report: contract.WorkerReport): Promise<void> {
    return this.act("reportWorker", null, (tx) => live.reportWorker(tx, report));
  }

  forgetWorker(workerId: string): Promise<void> {
    return this.act("forgetWorker", null, (tx) => live.forgetWorker(tx, workerId));
  }

  configureSchedules(given: contract.ScheduleConfiguration): Promise<readonly contract.ScheduleReport[]> {
    return this.act("configureSchedules", null, (tx) => configuration.configureSchedules(tx, given));
  }

  async fireSchedule(name: string): Promise<contract.FiredSchedule> {
    await this.#lookAtOwners(name);
    return this.act("fireSchedule", null, (tx) => firings.fireSchedule(tx, name));
  }

  async fireNow(name: string, person: contract.Person = {}): Promise<contract.FiringRecord> {
    await this.#lookAtOwners(name);
    return this.act("fireNow", null, (tx) => firings.fireNow(tx, name, person));
  }

  pauseSchedule(name: string, person: contract.Person = {}): Promise<contract.ScheduleRecord> {
    return this.act("pauseSchedule", null, (tx) => configuration.pauseSchedule(tx, name, person));
  }

  resumeSchedule(name: string, person: contract.Person = {}): Promise<contract.ScheduleRecord> {
    return this.act("resumeSchedule", null, (tx) => configuration.resumeSchedule(tx, name, person));
  }

  /** The workers of earlier runs may have died: a firing cancels those runs, or names them in its reason. */
  async #lookAtOwners(name: string): Promise<void> {
    const leases = await this.read(() => leasesOfFirings(name));
    await Promise.all(leases.map(({ owner, renewedAt }) => this.owners.look(owner, renewedAt)));
  }
}

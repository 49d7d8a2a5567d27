import { ConfigurationError } from "../../core/errors.ts";
import { kindOf } from "../../core/naming/option-names.ts";
import { assertScheduleSpec, type ScheduleSpec } from "../../core/schedule/schedule-spec.ts";
import type { DueSchedule, ScheduleConfiguration, Store } from "../../store/store.ts";
import { shapeOf } from "../definition/pipeline/pipeline-shape.ts";
import type { Clock } from "../ports/clock.ts";
import { newContract } from "../runner/new-contract.ts";
import type { RunnerSetup } from "../runner/runner-options.ts";
import { assertNoSecrets } from "../runner/secret-input.ts";
import type { WorkerNotice } from "./worker-options.ts";

/** The schedules of a worker, with what their runs need of its pipelines, which have a name and a key. */
export function scheduleConfiguration(
  schedules: { readonly [name: string]: ScheduleSpec },
  revision: number,
  pipelines: ReadonlyMap<string, RunnerSetup>,
): ScheduleConfiguration {
  const given: unknown = schedules;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new ConfigurationError(
      `The worker's schedules are ${kindOf(given)}: give an object, { nightly: { pipeline: "report", cron: "0 2 * * *" } }.`,
    );
  return {
    revision,
    schedules: Object.entries(schedules).map(([name, spec]) => {
      const checked = assertScheduleSpec(name, spec);
      const setup = pipelines.get(checked.pipeline);
      if (setup === undefined)
        throw new ConfigurationError(
          `Schedule ${name} starts the pipeline ${JSON.stringify(checked.pipeline)}, which the worker does not have: give one of ${[...pipelines.keys()].join(", ")}.`,
        );
      const { root, rules, options } = setup;
      const { input = null } = checked;
      assertNoSecrets(input, rules);
      return {
        schedule: { ...checked, pipeline: root.name },
        entrypoint: options.entrypoint ?? "library",
        shape: shapeOf(root),
        spec: newContract(setup, undefined, input),
      };
    }),
  };
}

/** The most schedules that are fired in a look. */
const MOST_FIRED = 100;

/** What has failed is not tried again before this. */
const FAILED_MS = 30_000;

/** Stores the schedules of a worker, and fires those that are due: its own and those of others, since a firing only enqueues. */
export class WorkerSchedules {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #onNotice: (notice: WorkerNotice) => void;
  /** Null once it is stored. */
  #configuration: ScheduleConfiguration | null;
  /** By name; the configuration has none. */
  readonly #failedUntil = new Map<string, number>();

  constructor(
    store: Store,
    configuration: ScheduleConfiguration | null,
    clock: Clock,
    onNotice: (notice: WorkerNotice) => void,
  ) {
    this.#store = store;
    this.#configuration = configuration;
    this.#clock = clock;
    this.#onNotice = onNotice;
  }

  /** Resolves to how long it is until the next planned time; null if there is none. */
  async fireDue(): Promise<number | null> {
    await this.#configure();
    const schedules = await this.#store.listDueSchedules({ limit: MOST_FIRED });
    const due = schedules.filter(({ inMs }) => inMs === 0);
    let hasMore = due.length === MOST_FIRED;
    // One that cannot be fired must not keep the others from it.
    for (const { name } of due) if (!(await this.#attempt(name, () => this.#fire(name)))) hasMore = false;
    if (hasMore) return 0;
    return this.#untilNext(
      due.length === 0 ? schedules : await this.#store.listDueSchedules({ limit: MOST_FIRED }),
    );
  }

  /** One that has failed, or is due in this very moment, is looked at again with the next look. */
  #untilNext(schedules: readonly DueSchedule[]): number | null {
    const next = schedules.find(({ name }) => !this.#hasFailed(name));
    return next?.inMs ?? null;
  }

  async #configure(): Promise<void> {
    const configuration = this.#configuration;
    if (configuration === null) return;
    await this.#attempt("", async () => {
      for (const report of await this.#store.configureSchedules(configuration)) {
        const { name: schedule, kind } = report;
        if (kind === "ignored") this.#onNotice({ type: "schedule_ignored", schedule, why: report.why });
        else this.#onNotice({ type: "schedule_changed", schedule, change: kind });
      }
      this.#configuration = null;
    });
  }

  async #fire(name: string): Promise<void> {
    const { firings } = await this.#store.fireSchedule(name);
    for (const firing of firings) this.#onNotice({ type: "fired", firing });
  }

  /** False if it failed. */
  async #attempt(name: string, act: () => Promise<void>): Promise<boolean> {
    if (this.#hasFailed(name)) return false;
    try {
      await act();
      return true;
    } catch (error) {
      this.#failedUntil.set(name, this.#clock.monotonic() + FAILED_MS);
      this.#onNotice({ type: "schedule_failed", schedule: name === "" ? null : name, error });
      return false;
    }
  }

  #hasFailed(name: string): boolean {
    const until = this.#failedUntil.get(name);
    if (until === undefined) return false;
    if (this.#clock.monotonic() < until) return true;
    this.#failedUntil.delete(name);
    return false;
  }
}

import { ConfigurationError } from "../../core/errors.ts";
import type { Connection } from "../postgres-wire/connection.ts";
import type { Network } from "../postgres-wire/pg-driver.ts";
import type { ReadyChannel } from "../postgres-wire/ready-channel.ts";
import type { JobsState } from "../report/database-report.ts";
import type { Readers } from "../sql/planned/readers.ts";
import type { Statement } from "../sql/planned/server-session.ts";
import { ReadyListeners } from "../sql/ready-listeners.ts";
import { all } from "../sql/script.ts";
import type { Write } from "../sql/write.ts";
import { loadGraphile } from "./graphile.ts";
import { JobRunner } from "./job-runner.ts";
import { jobsSchema, lookForJobs } from "./jobs-schema.ts";
import { WakeJobs } from "./wake-jobs.ts";

export type WakingOptions = {
  /**
   * Tells the workers of other processes at once that a run may be ready (LISTEN and NOTIFY, over a session of its own);
   * true by default. Without it they look every second.
   */
  readonly readySignals?: boolean;
  /**
   * What else wakes workers. `graphile`, the default: also jobs of graphile-worker, if that package is installed; they are
   * written with the commit that makes a run ready, and come at its time. `signals`: nothing else.
   */
  readonly dispatch?: "graphile" | "signals";
};

/** Where the jobs are, and what was found there when the store was opened. */
export type JobsPlace = {
  readonly schema: string;
  readonly state: JobsState;
  /** A pooler is in between: nobody would hear of a job. */
  readonly isPooled: boolean;
};

/** Looks for the jobs of a store; null if it is to have none. */
export async function placeOfJobs(
  connection: Connection,
  storeSchema: string,
  { dispatch = "graphile" }: WakingOptions,
): Promise<JobsPlace | null> {
  const given: string = dispatch;
  if (given !== "graphile" && given !== "signals")
    throw new ConfigurationError(
      `The option dispatch of openStore is ${JSON.stringify(given)}: use "graphile" or "signals".`,
    );
  if (dispatch === "signals") return null;
  const schema = jobsSchema(storeSchema);
  const state = await lookForJobs((text, values) => connection.rows(text, values), schema);
  return { schema, state, isPooled: connection.isPooled };
}

export type DispatchParts = {
  readonly url: string;
  readonly network: Network;
  readonly readers: Readers;
  /** Null if workers of other processes are not told. */
  readonly channel: ReadyChannel | null;
  /** Null if there are to be no jobs. */
  readonly jobs: JobsPlace | null;
};

/** What wakes workers: signals, and jobs. None of it is trusted: they also look by themselves. */
export class Dispatch {
  readonly #channel: ReadyChannel | null;
  readonly #jobs: WakeJobs | null;
  readonly #runner: JobRunner | null;
  readonly #listeners = new ReadyListeners();

  constructor({ url, network, readers, channel, jobs: place }: DispatchParts) {
    this.#channel = channel;
    const jobs = place === null ? null : wakeJobs(place, readers);
    this.#jobs = jobs;
    this.#runner =
      place === null || place.isPooled
        ? null
        : new JobRunner({
            url,
            network,
            load: loadGraphile,
            schema: place.schema,
            onJob: () => this.#listeners.call(),
            onInstalled: () => jobs?.start(),
          });
  }

  announce(): void {
    this.#channel?.announce();
  }

  /** The runner is there only while somebody listens: it would take jobs away from those who do. */
  async watch(listener: () => void, onNotice: (reason: string) => void): Promise<() => void> {
    const removers = [this.#listeners.add(listener), await this.#channel?.watch(listener)];
    this.#runner?.start(onNotice);
    if (this.#jobs !== null && this.#runner === null)
      onNotice("a pooler is in between, and jobs of graphile-worker would not be heard of");
    return () => {
      for (const remove of removers) remove?.();
      if (this.#listeners.isEmpty) void this.#runner?.stop();
    };
  }

  hintsOf(writes: readonly Write[]): readonly Statement[] {
    return this.#jobs?.statementsOf(writes) ?? [];
  }

  stopHints(): void {
    this.#jobs?.stop();
  }

  async close(): Promise<void> {
    await Promise.all([this.#channel?.close(), this.#runner?.stop()]);
  }
}

function wakeJobs({ schema, state }: JobsPlace, readers: Readers): WakeJobs {
  const ask = (text: string, values: Parameters<typeof all>[1][]) => readers.run(() => all(text, ...values));
  const look = async () => (await lookForJobs((text, values) => ask(text, [...values]), schema)) === "usable";
  return new WakeJobs(schema, state === "usable", look);
}

import { quoted } from "../postgres-wire/connection.ts";
import type { Statement } from "../sql/planned/server-session.ts";
import type { Write } from "../sql/write.ts";

/** The name of the one task: a worker looks for runs that are ready. */
export const WAKE_TASK = "pawl_wake";

/** After this long, jobs that are off are looked for again. */
const LOOK_AGAIN_MS = 30_000;

/** A session that holds the rows of jobs must not hold up commits. */
const SHORT_LOCK_TIMEOUT: Statement = {
  text: "SELECT set_config('lock_timeout', ?, true)",
  values: ["500ms"],
};

/**
 * Adds jobs that wake workers to commits that make runs ready. They are hints: while they are off, or if they are lost,
 * workers find the runs by themselves, later.
 */
export class WakeJobs {
  readonly #text: string;
  readonly #look: () => Promise<boolean>;
  #isOn: boolean;
  #lookedAt = performance.now();

  /** `look` finds out whether jobs can be added. */
  constructor(schema: string, isOn: boolean, look: () => Promise<boolean>) {
    this.#isOn = isOn;
    this.#look = look;
    // A job replaces the one of the same run. The arguments are named, since their order has changed between versions.
    this.#text = `SELECT count(${quoted(schema)}.add_job('${WAKE_TASK}', json_build_object('runId', new.run_id),
        run_at := to_timestamp(new.at / 1000.0), job_key := new.run_id)) AS added
      FROM unnest(?::text[], ?::bigint[]) AS new (run_id, at)`;
  }

  /** One statement for all of them; none while jobs are off. */
  statementsOf(writes: readonly Write[]): readonly Statement[] {
    const times = new Map<string, number | null>();
    for (const write of writes) if (write.kind === "wake") times.set(write.runId, write.at);
    if (times.size === 0) return [];
    if (!this.#isOn) {
      void this.#lookAgain();
      return [];
    }
    // In one order, so that two processes lock jobs in the same.
    const runIds = [...times.keys()].sort();
    const values = [runIds, runIds.map((runId) => times.get(runId) ?? null)];
    return [SHORT_LOCK_TIMEOUT, { text: this.#text, values }];
  }

  start(): void {
    this.#isOn = true;
  }

  stop(): void {
    this.#isOn = false;
    this.#lookedAt = performance.now();
  }

  /** Beside the commit, which does not wait for it. */
  async #lookAgain(): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_AGAIN_MS) return;
    this.#lookedAt = performance.now();
    this.#isOn = await this.#look().catch(() => false);
  }
}

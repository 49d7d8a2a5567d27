/** A schedule as the store has it. */
export type StoredSchedule = {
  /** `scheduleHash` of it; null if it was removed. */
  readonly hash: string | null;
  /** The revision of the newest configuration that has it so. */
  readonly revision: number;
  /** When it became so. */
  readonly configuredAt: number;
};

/** A schedule as the configuration of one worker has it. */
export type ConfiguredSchedule = {
  /** `scheduleHash` of it; null if the configuration does not have it. */
  readonly hash: string | null;
  /**
   * A number that grows with each version of the configuration, such as the time at which its file was written. It belongs
   * to the version and not to the process: a worker that starts again with an old version has the old number.
   */
  readonly revision: number;
};

export type ScheduleDecision =
  /** The store has it so already. */
  | { readonly kind: "keep" }
  /** The store has it so from an older configuration: only its revision is raised. */
  | { readonly kind: "confirm" }
  /** The store takes it from this configuration, and plans from now on. */
  | { readonly kind: "adopt"; readonly change: "added" | "edited" | "removed" }
  /** This worker's configuration is not the newest one: the store keeps what it has. */
  | { readonly kind: "ignore"; readonly why: string };

/**
 * Decides what a worker's configuration does to a stored schedule. While a new version is rolled out, workers with the old
 * one and with the new one report in any order, and again after each restart. Only a newer revision changes a schedule, and
 * the stored revision never falls, so two versions change it at most once.
 */
export function decideSchedule(
  name: string,
  stored: StoredSchedule | null,
  configured: ConfiguredSchedule,
): ScheduleDecision {
  if (stored === null)
    return configured.hash === null ? { kind: "keep" } : { kind: "adopt", change: "added" };
  const isNewer = configured.revision > stored.revision;
  if (configured.hash === stored.hash) return { kind: isNewer ? "confirm" : "keep" };
  if (!isNewer) return { kind: "ignore", why: reasonToIgnore(name, stored, configured) };
  if (configured.hash === null) return { kind: "adopt", change: "removed" };
  return { kind: "adopt", change: stored.hash === null ? "added" : "edited" };
}

function reasonToIgnore(name: string, stored: StoredSchedule, configured: ConfiguredSchedule): string {
  const since = new Date(stored.configuredAt).toISOString();
  const kept = stored.hash === null ? `was removed at ${since}` : `is as it was configured at ${since}`;
  return configured.revision < stored.revision
    ? `Schedule ${name} ${kept}, by a newer configuration than this worker's: restart this worker with that one.`
    : `Schedule ${name} ${kept}, by another configuration with the same revision ${stored.revision} as this worker's: give the newer of the two a higher revision.`;
}

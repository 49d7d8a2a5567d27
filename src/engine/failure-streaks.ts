/** Counts how often a tool has failed in the same way, one time after the other: tries and calls alike. */
export class FailureStreaks {
  readonly #limit: number | null;
  readonly #streaks = new Map<string, { error: string; times: number }>();

  /** Null: no streak is long enough. */
  constructor(limit: number | null) {
    this.#limit = limit;
  }

  /** Whether this error has come as often as a person should hear of. The streak then begins anew. */
  isSameAgain(tool: string, error: string): boolean {
    if (this.#limit === null) return false;
    const streak = this.#streaks.get(tool);
    const times = streak?.error === error ? streak.times + 1 : 1;
    this.#streaks.set(tool, { error, times });
    if (times < this.#limit) return false;
    this.#streaks.delete(tool);
    return true;
  }

  hasWorked(tool: string): void {
    this.#streaks.delete(tool);
  }
}

import { ModelCallError } from "../../core/errors.ts";
import { rejectsHistory } from "../../core/turn/model-retry.ts";

/**
 * Limits how often a worker returns to a milestone because its provider rejected the history: once for each milestone. The
 * turns after it are paid for again, and if they end in the same rejection, they do so every time.
 */
export class HistoryRestarts {
  #milestones = 0;
  #restartedAt: number | null = null;

  addMilestone(): void {
    this.#milestones += 1;
  }

  /** False if the same milestone was returned to already. Counts the return. */
  take(error: unknown): boolean {
    if (!ModelCallError.isInstance(error) || !rejectsHistory(error.details)) return true;
    if (this.#restartedAt === this.#milestones) return false;
    this.#restartedAt = this.#milestones;
    return true;
  }
}

import type { Json } from "../../core/json.ts";
import type { ToolCallAttempt, ToolCallRecord } from "../../store/store.ts";

/** One call attempt that has ended; `error` is null if it succeeded. */
export type EndedAttempt = { readonly tool: string; readonly error: string | null };

/** Counts how often in a row a tool has failed with the same error, over attempts and calls. */
export class FailureStreaks {
  /** The length of a streak that is reported; null: none is. */
  readonly limit: number | null;
  readonly #streaks = new Map<string, { error: string; times: number }>();

  constructor(limit: number | null) {
    this.limit = limit;
  }

  /** Continues the count of earlier workers. */
  static after(attempts: readonly EndedAttempt[], limit: number | null): FailureStreaks {
    const streaks = new FailureStreaks(limit);
    for (const { tool, error } of attempts)
      if (error === null) streaks.recordSuccess(tool);
      else streaks.recordFailure(tool, error);
    return streaks;
  }

  /** Returns true if the streak has reached the limit. The count then starts again. */
  recordFailure(tool: string, error: string): boolean {
    if (this.limit === null) return false;
    const streak = this.#streaks.get(tool);
    const times = streak?.error === error ? streak.times + 1 : 1;
    this.#streaks.set(tool, { error, times });
    if (times < this.limit) return false;
    this.#streaks.delete(tool);
    return true;
  }

  recordSuccess(tool: string): void {
    this.#streaks.delete(tool);
  }
}

/** The same text as that of the failed attempt. */
function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The attempts of a run that ended with a result or an error of their tool, in the order in which they ended. */
export function endedAttempts(
  calls: readonly ToolCallRecord[],
  failedAttempts: readonly ToolCallAttempt[],
): readonly EndedAttempt[] {
  const toolOf = new Map(calls.map(({ toolCallId, tool }) => [toolCallId, tool]));
  const failed = failedAttempts
    .filter(({ outcome }) => outcome !== "lost" && outcome !== "aborted" && outcome !== "needs_wait")
    .map(({ toolCallId, endedAt, errorCode, errorDetail }) => ({
      at: endedAt,
      tool: toolOf.get(toolCallId) ?? "",
      error: `${errorCode}: ${errorDetail}`,
    }));
  const settled = calls.flatMap(({ tool, receipt }): readonly (EndedAttempt & { readonly at: number })[] => {
    if (receipt === null || receipt.source !== "tool") return [];
    const { status, errorCode, output, at } = receipt;
    if (status === "succeeded") return [{ at, tool, error: null }];
    return status === "failed" ? [{ at, tool, error: `${errorCode}: ${textOf(output.value)}` }] : [];
  });
  return [...failed, ...settled].sort((a, b) => a.at - b.at);
}

import type { Json } from "../../core/json.ts";
import type { ToolCallAttempt, ToolCallRecord } from "../../store/store.ts";

/** How one try of a tool ended; null: well. */
export type EndedAttempt = { readonly tool: string; readonly error: string | null };

/** Counts how often a tool has failed in the same way, one time after the other: tries and calls alike. */
export class FailureStreaks {
  /** Null: no streak is long enough. */
  readonly limit: number | null;
  readonly #streaks = new Map<string, { error: string; times: number }>();

  constructor(limit: number | null) {
    this.limit = limit;
  }

  /** Counts on from what workers before this one have seen. */
  static after(attempts: readonly EndedAttempt[], limit: number | null): FailureStreaks {
    const streaks = new FailureStreaks(limit);
    for (const { tool, error } of attempts)
      if (error === null) streaks.recordSuccess(tool);
      else streaks.recordFailure(tool, error);
    return streaks;
  }

  /** Whether this error has come as often as a person should hear of. The streak then begins anew. */
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

/** As the try that it comes from has told it. */
function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** How the tries of a run ended, in the order in which they did, as far as their tools said so. */
export function endedAttempts(
  calls: readonly ToolCallRecord[],
  tries: readonly ToolCallAttempt[],
): readonly EndedAttempt[] {
  const toolOf = new Map(calls.map(({ toolCallId, tool }) => [toolCallId, tool]));
  const ended = tries
    .filter(({ outcome }) => outcome !== "lost" && outcome !== "aborted")
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
  return [...ended, ...settled].sort((a, b) => a.at - b.at);
}

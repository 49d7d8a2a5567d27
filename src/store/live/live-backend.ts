import type { LivePart } from "../../core/turn/live-part.ts";
import type { LiveAttempt, LivePosition, LiveRow } from "../live-parts.ts";

/** A row to be written. */
export type NewLiveRow = LiveAttempt & { readonly index: number; readonly parts: readonly LivePart[] };

/** What one flush writes. */
export type LiveBatch = {
  readonly rows: readonly NewLiveRow[];
  /** Rows older than this are removed, by the clock of the backend; null for now and then. */
  readonly sweepOlderThanMs: number | null;
};

/** Where live rows are kept. */
export interface LiveBackend {
  /**
   * Writes the rows. Before the first row of an attempt (index 0) the run's rows of other attempts are removed, unless they
   * are of a later epoch: a process that wakes after it has lost the run must not remove what its successor writes. `busy`:
   * nothing was written, and the same batch may be tried again. Throws if that is no use.
   */
  write(batch: LiveBatch): Promise<"written" | "busy">;
  read(runs: readonly LivePosition[]): Promise<readonly LiveRow[]>;
  version(): number | null;
  /** The run is watched for so long from now. */
  announce(runId: string, forMs: number): Promise<void>;
  isWatched(runId: string): Promise<boolean>;
  forget(runId: string): Promise<void>;
  close(): Promise<void>;
}

const KINDS: readonly unknown[] = ["text", "reasoning", "tool_input"];

/** The parts of a row; null if another program wrote them. */
export function readParts(text: string): readonly LivePart[] | null {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) && parts.every(isLivePart) ? parts : null;
  } catch {
    return null;
  }
}

function isLivePart(value: unknown): value is LivePart {
  if (typeof value !== "object" || value === null) return false;
  const { part, kind, delta, tool, toolCallId } = value as Record<string, unknown>;
  const isTextOrNone = (given: unknown) => given === undefined || typeof given === "string";
  return (
    typeof part === "number" &&
    KINDS.includes(kind) &&
    typeof delta === "string" &&
    isTextOrNone(tool) &&
    isTextOrNone(toolCallId)
  );
}

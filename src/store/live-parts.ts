import type { LivePart } from "../core/turn/live-part.ts";

/** One attempt of a model call, under the claim that made it. */
export type LiveAttempt = {
  readonly runId: string;
  /** The path of the step. */
  readonly step: string;
  readonly turn: number;
  readonly attempt: number;
  readonly epoch: number;
};

/** Takes the pieces of one answer. Never throws, and never makes its caller wait. */
export interface LiveSink {
  part(part: LivePart): void;
  /** The attempt is over: what was not written yet is dropped, because the journal follows. */
  end(): void;
}

/** Pieces of an answer that were written together. */
export type LiveRow = LiveAttempt & {
  /** Rises with every row, over the whole store. */
  readonly no: number;
  /** From 0 inside the attempt: a reader notices a row that was lost. */
  readonly index: number;
  readonly parts: readonly LivePart[];
};

/** A run, and the number of the last row that its reader has seen; 0 for none. */
export type LivePosition = { readonly runId: string; readonly after: number };

/**
 * The answers that are being written now. Hearsay: no intent reads them, `verify` and bundles leave them out, and they may
 * be lost at any time. A reader shows only those of the open attempt of the present epoch.
 */
export interface LiveParts {
  /** Begins the answer of an attempt. `onTrouble` gets, at most once, the reason why it is not shown. */
  begin(attempt: LiveAttempt, onTrouble: (reason: string) => void): LiveSink;
  /** The rows of these runs after each position, in order. Empty if they cannot be read. */
  read(runs: readonly LivePosition[]): Promise<readonly LiveRow[]>;
  /** Changes when there may be new rows; null if that is not known without reading. */
  version(): number | null;
  /** Says that somebody watches the run now: for a while, its answers are worth streaming. A store that only reads cannot say it. */
  announce(runId: string): void;
  /** True if somebody, in any process, has said so lately. */
  isWatched(runId: string): Promise<boolean>;
  /** Drops the rows of a deleted run, if that is possible. */
  forget(runId: string): void;
  close(): Promise<void>;
}

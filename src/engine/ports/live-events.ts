import type { LivePart } from "../../core/turn/live-part.ts";

/** Where an attempt of a model call belongs. */
export type AttemptPlace = {
  readonly runId: string;
  readonly step: string;
  readonly turn: number;
  /** 1 for the first attempt of the turn. */
  readonly attempt: number;
};

/** A piece of an answer while the model writes it. It counts for nothing: the whole answer is journaled later, or never. */
export type LivePartEvent = AttemptPlace & LivePart & { readonly type: "part" };

/**
 * What was shown of an attempt is no answer: the attempt failed, its process died (`lost`), or it was stopped
 * (`interrupted`). Take back everything that was shown of it; another attempt may follow.
 */
export type AttemptWithdrawn = AttemptPlace & {
  readonly type: "attempt.withdrawn";
  readonly why: "failed" | "lost" | "interrupted";
};

/** What is known of an answer before it is durable. `stream` yields these with `live: true`. */
export type LiveEvent = LivePartEvent | AttemptWithdrawn;

/** Called with the pieces of answers, and with withdrawn attempts. Its errors are ignored. */
export type LiveEventListener = (event: LiveEvent) => void;

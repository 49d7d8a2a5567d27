import { visibleLine } from "../../../../../src/core/visible-text.ts";
import { ownerWords } from "../timeline/slice-words.ts";
import type { TranscriptContent } from "./transcript-content.ts";

type Kind = TranscriptContent["kind"];
type Divider = Exclude<
  TranscriptContent,
  {
    readonly kind:
      | "user"
      | "follow_up"
      | "assistant"
      | "calls"
      | "wait"
      | "answer"
      | "fork"
      | "compaction"
      | "artifact";
  }
>;

const DIVIDERS = new Set<Kind>([
  "dropped",
  "life",
  "step",
  "exchange_begun",
  "exchange_ended",
  "lineage",
  "request",
  "run",
]);

/** True for a line between parts of a conversation that has only words. */
export function isDivider(content: TranscriptContent): content is Divider {
  return DIVIDERS.has(content.kind);
}

const STEPS = {
  begun: "begins",
  entered_again: "is entered again",
  skipped: "is skipped",
  finished: "is finished",
} as const;

const RUN: { readonly [what: string]: string } = {
  succeeded: "has succeeded",
  failed: "has failed",
  cancelled: "was cancelled",
  queued: "is queued again",
  interrupted: "was let go, for another worker",
  moved: "was moved to another store",
  arrived: "arrived from another store",
};

/** The words of a line, with the place of its item. */
export function dividerWords(
  content: Divider,
  { step, turn }: { readonly step: string | null; readonly turn: number | null },
): string {
  switch (content.kind) {
    case "life": {
      const after = content.afterDeath ? ", after the one before it died" : "";
      const from = content.resumedFrom === "milestone" ? " from its milestone" : "";
      // That it was interrupted is said already.
      const isKnown = content.reason === null || content.reason === "interrupted";
      const why = isKnown ? "" : `: ${visibleLine(content.reason ?? "")}`;
      return `life ${content.number} · ${ownerWords(content.owner)} takes the run${from}${after}${why}`;
    }
    case "step":
      return `step ${visibleLine(step ?? "")} ${STEPS[content.what]}`;
    case "exchange_begun":
      return `exchange ${content.exchange}`;
    case "exchange_ended": {
      const why = content.why === null ? "" : `: ${visibleLine(content.why)}`;
      return content.outcome === "complete"
        ? `exchange ${content.exchange} is complete`
        : `exchange ${content.exchange} ended, ${visibleLine(content.outcome ?? "without an answer")}${why}`;
    }
    case "lineage":
      return `history begins again here, after turn ${content.baseTurn ?? 0}`;
    case "dropped":
      return `the answer of turn ${turn ?? ""} was dropped, and the model asked again`;
    case "request":
      return `${content.by === null ? "a person" : visibleLine(content.by)} asked to ${content.what === "stop" ? "stop the answer" : "cancel the run"}`;
    case "run": {
      const code = content.code === null ? "" : ` · ${visibleLine(content.code)}`;
      const by = content.by === null ? "" : ` · ${visibleLine(content.by)}`;
      return `the run ${RUN[content.what] ?? content.what}${code}${by}`;
    }
  }
}

/** Colours of lines that a reader should notice. */
export function dividerLook(content: Divider): string {
  if (content.kind === "life" && content.afterDeath) return "text-interrupted";
  if (content.kind === "lineage" || content.kind === "dropped") return "text-interrupted";
  if (content.kind === "run" && content.what === "failed") return "text-failed";
  if (content.kind === "run" && content.what === "succeeded") return "text-succeeded";
  return "text-ink-3";
}

import type { Answer } from "../../../api/client.ts";

// What the items of a transcript are about. The server makes them in src/account/transcript; a page can only read their
// types, since those modules are for Node.

export type TranscriptDocument = Answer<"getTranscript">;
export type TranscriptItem = TranscriptDocument["items"][number];

/** A text, or its beginning if it has more characters than that. */
export type ShownText = { readonly text: string; readonly characters: number };

/** A value; the beginning of its JSON if that is long; or where its bytes are. */
export type ShownValue =
  | { readonly kind: "whole"; readonly value: unknown }
  | { readonly kind: "beginning"; readonly json: ShownText }
  | { readonly kind: "blob"; readonly blobId: string; readonly size: number };

export type ShownCall = {
  readonly toolCallId: string;
  readonly tool: string;
  readonly effect: string;
  readonly recovery: string;
  readonly status: string;
  readonly attempt: number;
  readonly request: ShownValue;
  readonly result: {
    readonly source: string;
    readonly errorCode: string | null;
    readonly uncertain: boolean;
    readonly duplicateOf: string | null;
    readonly type: string;
    readonly value: ShownValue;
  } | null;
};

export type ShownPart =
  | { readonly kind: "text" | "reasoning"; readonly text: ShownText }
  | { readonly kind: "call"; readonly call: ShownCall }
  | { readonly kind: "other"; readonly type: string; readonly value: ShownValue };

type ShownFile = {
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  /** Of its bytes, which is also the id of their blob. */
  readonly hash: string;
};

/** Fields beside `step`, `turn` and `isAbandoned`, which every item has. */
export type TranscriptContent =
  | {
      readonly kind: "user";
      readonly messageNo: number;
      readonly sentBy: string;
      readonly mode: string | null;
      readonly text: ShownText;
      readonly files: readonly ShownFile[];
    }
  | { readonly kind: "follow_up"; readonly text: ShownText }
  | { readonly kind: "assistant"; readonly parts: readonly ShownPart[] }
  | { readonly kind: "dropped" }
  | { readonly kind: "calls"; readonly calls: readonly ShownCall[] }
  | {
      readonly kind: "wait";
      readonly waitId: string;
      readonly toolCallId: string | null;
      readonly question: string;
      readonly status: string;
      readonly matches: string | null;
      readonly waitKind: string;
      readonly dueAt: string | null;
    }
  | {
      readonly kind: "answer";
      readonly waitId: string;
      readonly toolCallId: string | null;
      readonly by: readonly string[];
      readonly answer: unknown;
    }
  | {
      readonly kind: "life";
      readonly number: number;
      readonly owner: string;
      readonly resumedFrom: string | null;
      readonly reason: string | null;
      readonly afterDeath: boolean;
    }
  | { readonly kind: "fork"; readonly runId: string }
  | {
      readonly kind: "step";
      readonly what: "begun" | "entered_again" | "skipped" | "finished";
      readonly stepKind: string;
      readonly phase: string;
      readonly value: ShownValue | null;
    }
  | { readonly kind: "exchange_begun"; readonly exchange: number }
  | {
      readonly kind: "exchange_ended";
      readonly exchange: number;
      readonly outcome: string | null;
      readonly why: string | null;
    }
  | { readonly kind: "lineage"; readonly firstTurn: number | null; readonly baseTurn: number | null }
  | { readonly kind: "compaction"; readonly summary: ShownText }
  | { readonly kind: "request"; readonly what: string; readonly by: string | null }
  | { readonly kind: "artifact"; readonly name: string; readonly size: number | null }
  | { readonly kind: "run"; readonly what: string; readonly code: string | null; readonly by: string | null };

/** The object or list that a text is as a whole; null if it is none, or if only its beginning is known. */
export function jsonDocument({ text, characters }: ShownText): object | null {
  if (characters > text.length || !/^\s*[[{]/.test(text)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

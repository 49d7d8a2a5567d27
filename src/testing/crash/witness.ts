import { appendFileSync, readFileSync } from "node:fs";
import type { RecoveryClass, SideEffectClass } from "../../core/call/tool-call-decision.ts";
import { canonicalHash } from "../../core/canonical-json.ts";
import type { Json } from "../../core/json.ts";
import type { FileReference } from "../../core/message.ts";
import type { Usage } from "../../core/usage/usage.ts";

/** One call of a tool, as the outside system sees it. */
export type SeenCall = {
  /** The number of the process that made it, from 1. */
  readonly life: number;
  /** The number of this process's calls of the tool, from 1: as its points are numbered. */
  readonly nth: number;
  readonly runId: string;
  readonly toolCallId: string;
  readonly tool: string;
  readonly attempt: number;
  readonly epoch: number;
  readonly key: string;
  /** A hash of the arguments, without the key. */
  readonly fingerprint: string;
  readonly effect: SideEffectClass;
  readonly recovery: RecoveryClass;
};

/** A short hash of a tool's arguments. */
export function fingerprintOf(tool: string, payload: Json): string {
  return canonicalHash([tool, payload]).toString("hex").slice(0, 16);
}

/** How a file of a user is recorded: by its type and its bytes. */
export function heardFile({ mediaType, blobId, size }: Omit<FileReference, "type" | "filename">): string {
  return `file ${mediaType} ${blobId} of ${size} bytes`;
}

/** One line of the witness: what a model, a tool or a receiver recorded about itself. */
export type WitnessLine =
  | {
      readonly kind: "asked";
      readonly life: number;
      readonly runId: string;
      readonly stepPath: string;
      readonly turnIndex: number;
      readonly attempt: number;
      /** What users have said in the request, and the files that they sent. */
      readonly heard: readonly string[];
    }
  | {
      readonly kind: "answered";
      readonly life: number;
      readonly runId: string;
      readonly stepPath: string;
      readonly turnIndex: number;
      readonly attempt: number;
      /** Null if the provider gave no figures. */
      readonly usage: Usage | null;
      /** The text of the answer, by the provider itself; null if it broke off or could not be used. */
      readonly finished: string | null;
    }
  /** The provider refused, or was never reached: nothing must be charged. */
  | {
      readonly kind: "refused";
      readonly life: number;
      readonly runId: string;
      readonly stepPath: string;
      readonly turnIndex: number;
      readonly attempt: number;
    }
  /** A tool was entered. `journaled`: the store already had its call as running. */
  | (SeenCall & { readonly kind: "entered"; readonly journaled: boolean })
  /** An effect outside. A system that deduplicates by key accepts each key once: `isDropped` marks the repeats. */
  | (SeenCall & {
      readonly kind: "effect";
      readonly isDropped: boolean;
      /** True if the tool read its key. */
      readonly keySeen: boolean;
      readonly result: Json;
    })
  | (SeenCall & { readonly kind: "looked"; readonly found: boolean | null })
  /** A message of a webhook arrived, and was answered with this status. */
  | (PostedMessage & {
      readonly kind: "received";
      readonly life: number;
      readonly runId: string;
      readonly status: number;
    });

/** A message to a receiver outside. */
export type PostedMessage = { readonly url: string; readonly id: string; readonly body: string };

/** A message that arrived, as its receiver recorded it. */
export type ReceivedPost = Extract<WitnessLine, { kind: "received" }>;

/** An effect that happened outside, as the witness recorded it. */
export type Effect = Extract<WitnessLine, { kind: "effect" }>;

export type ModelLine = Extract<WitnessLine, { kind: "asked" | "answered" | "refused" }>;

/**
 * The log of what really happened outside. Only the models, tools and receivers write to it, in a file of their own, so
 * every promise can be checked against it.
 */
export class Witness {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  record(line: WitnessLine): void {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`);
  }

  lines(): readonly WitnessLine[] {
    return readIfPresent(this.file)
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as WitnessLine);
  }

  /** The effects recorded under a key. */
  effectsOf(key: string): readonly Effect[] {
    return this.lines().filter((line): line is Effect => line.kind === "effect" && line.key === key);
  }

  /** The messages that have arrived. */
  received(): readonly ReceivedPost[] {
    return this.lines().filter((line) => line.kind === "received");
  }
}

function readIfPresent(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}

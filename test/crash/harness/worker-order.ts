// The order of a worker process, and its report. Both are one JSON text.

import type { Budget, Json, Pricing, RecoveryClass, Settlement, WaitRecord } from "../../../src/index.ts";
import type { CrashPoint } from "../../../src/testing/index.ts";
import type { ScenarioName } from "../scenarios/scenarios.ts";
import type { CheckpointDeath } from "./dying-checkpoints.ts";

export type WorkerOrder = {
  /** Holds the database, the witness file and the outside log. */
  readonly folder: string;
  readonly scenario: ScenarioName;
  /** The differences from the default scenario. */
  readonly variant: Variant;
  readonly act: Act;
  /** Dies here by SIGKILL. */
  readonly crash?: CrashSite;
  /** Dies here by SIGKILL: for a worker with a lasting identity. */
  readonly death?: CheckpointDeath;
  /** Stops here by SIGSTOP, until the parent continues or kills it. */
  readonly stop?: CrashSite;
  /** Waits here until the parent releases or kills it. */
  readonly wait?: WaitSite;
  /** Waits for a file, before or after it opens the store, so that two workers start at the same time. */
  readonly barrier?: "before-open" | "after-open";
  readonly leaseMs?: number;
  /** Refuses calls that name no run. */
  readonly identity?: "required";
  /** On SIGTERM it closes its store, with this many milliseconds of grace, and ends, instead of cancelling the run. */
  readonly closesWithin?: number;
  /** Writes every crash point it passes to the witness file. */
  readonly trace?: boolean;
};

export type Act =
  | ({
      readonly do: "run";
      readonly input: Json;
      readonly runId?: string;
      readonly key?: string;
      readonly fresh?: boolean;
    } & ActOptions)
  | ({
      readonly do: "resume";
      readonly runId: string;
      readonly from?: "milestone" | "beginning";
      readonly reason?: string;
    } & ActOptions)
  | ({ readonly do: "answer"; readonly runId: string; readonly answers: PersonAnswers } & ActOptions)
  /** Works under a lasting identity, the same in every process, with its checkpoints in files or in the store. */
  | {
      readonly do: "execute";
      readonly request: Json;
      readonly checkpoints: "file" | "database";
      /** A person's answers to the open waits, given first. */
      readonly answers?: PersonAnswers;
    };

/** A person's answer to every open wait of a kind, given before the run is resumed. */
export type PersonAnswers = {
  readonly approval?: "approve" | { readonly deny: string };
  readonly inDoubt?: Settlement;
};

type ActOptions = { readonly wait?: boolean; readonly budget?: Budget };

export type CrashSite = {
  readonly point: CrashPoint;
  readonly turn?: number;
  readonly step?: string;
  /** The n-th time that the point is reached there, from 1. */
  readonly occurrence?: number;
};

export type WaitSite = {
  readonly at: "model" | "before-effect" | "after-effect";
  readonly turn: number;
  /** One tool, or every one. */
  readonly tool?: string;
  readonly orders?: readonly string[];
  /** Keeps working when its signal is aborted. */
  readonly ignoresAbort?: boolean;
  /** Blocks the event loop of its process meanwhile. */
  readonly blocks?: boolean;
};

/** Everything that a test can change between two processes. */
export type Variant = {
  readonly modelId?: string;
  readonly provider?: string;
  readonly instructions?: string;
  readonly settings?: {
    readonly temperature?: number;
    readonly maxOutputTokens?: number;
    readonly seed?: number;
  };
  readonly payDescription?: string;
  readonly payTakesCurrency?: boolean;
  readonly payNamespace?: string;
  readonly payRecovery?: RecoveryClass;
  readonly lookRecovery?: RecoveryClass;
  readonly tools?: "one more" | "one less" | "other order";
  readonly outputSchema?: boolean;
  readonly completion?: "answer" | "signal";
  readonly pricing?: Pricing;
  readonly step?: {
    readonly input?: Json;
    readonly maxTurns?: number;
    readonly historyMaxTokens?: number;
    readonly blobThresholdBytes?: number;
    readonly enforceIdempotency?: boolean;
    readonly degradedReplay?: boolean;
  };
  /** The reported usage of each model answer. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly shape?: readonly (readonly ["code" | "agent" | "loop", string])[];
  readonly reversed?: boolean;
  /** In this turn its tools read every file in the folder of the database. */
  readonly readsBesideIn?: number;
  /** Models and tools take a random time up to this, at each call. */
  readonly longestPauseMs?: number;
  readonly draftName?: string;
  readonly noteName?: string;
  readonly maxParallelToolCalls?: number;
  readonly booking?: BookingVariant;
  readonly mailing?: MailingVariant;
  readonly plan?: PlanVariant;
};

export type BookingVariant = {
  /** The address of the booking server. */
  readonly server: string;
  readonly recovery: RecoveryClass;
  readonly approval?: boolean;
  /** The calls of the agent's first turn, in this order; by default `book` alone. */
  readonly calls?: readonly ("book" | "look")[];
  /** The tables that the code step books; by default the input of the run. */
  readonly tables?: readonly string[];
  /** By default ten minutes: a process that is known to be dead is not waited for. */
  readonly timeoutMs?: number;
  readonly landsWithinMs?: number;
};

export type PlanVariant = {
  /** By default 1. */
  readonly promptVersion?: number;
  /** A booking is marked in a turn of its own, in the one that makes it, or together with the next; by default `apart`. */
  readonly marks?: "apart" | "at once" | "in pairs";
  /** All steps but the first two are added to the plan in a turn of their own, each by a call. */
  readonly adds?: boolean;
  /** One table for each step of the plan. */
  readonly tables?: readonly string[];
};

export type MailingVariant = {
  readonly port: number;
  readonly recovery: RecoveryClass;
  /** The model asks for the same mail again, in other words. */
  readonly insists?: boolean;
};

export type WorkerReport =
  /** It got SIGTERM, and has closed its store. */
  | { readonly kind: "closed" }
  | { readonly kind: "result"; readonly result: ReportedResult }
  | { readonly kind: "error"; readonly error: ReportedError };

export type ReportedResult = {
  readonly runId: string;
  readonly status: string;
  readonly output: Json;
  readonly context: { readonly [key: string]: Json };
  readonly usage: { readonly modelCalls: number; readonly charged: { readonly tokens: number } };
  readonly waits: readonly WaitRecord[];
  readonly resumed: boolean;
  /** The request that a worker with a lasting identity has executed. */
  readonly request?: Json;
};

export type ReportedError = {
  readonly name: string;
  readonly message: string;
  readonly details: { readonly [key: string]: Json };
  readonly irrecoverable: boolean | null;
};

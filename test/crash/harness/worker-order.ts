// What the parent tells a worker process, and what the worker tells back. Both are one JSON text.

import type { Budget, Json, Pricing, RecoveryClass, Settlement, WaitRecord } from "../../../src/index.ts";
import type { CrashPoint } from "../../../src/testing/index.ts";
import type { ScenarioName } from "../scenarios/scenarios.ts";
import type { CheckpointDeath } from "./dying-checkpoints.ts";

export type WorkerOrder = {
  /** Holds the database, the witness file and the outside log. */
  readonly folder: string;
  readonly scenario: ScenarioName;
  /** What differs from the scenario as it is. */
  readonly variant: Variant;
  readonly act: Act;
  /** Dies here by SIGKILL. */
  readonly crash?: CrashSite;
  /** Dies here by SIGKILL: for a worker with a lasting identity. */
  readonly death?: CheckpointDeath;
  /** Stops here by SIGSTOP, until the parent continues or kills it. */
  readonly stop?: CrashSite;
  /** Waits here until the parent releases or kills it. */
  readonly wait?: WaitingPlace;
  /** Both of two racing workers wait for the same file, before or after they open the store. */
  readonly barrier?: "before-open" | "after-open";
  readonly leaseMs?: number;
  /** Refuses calls that name no run. */
  readonly identity?: "required";
  /** SIGTERM has it close its store, with this much grace, and end, instead of cancelling the run. */
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
    } & Options)
  | ({
      readonly do: "resume";
      readonly runId: string;
      readonly from?: "milestone" | "beginning";
      readonly reason?: string;
    } & Options)
  | ({ readonly do: "answer"; readonly runId: string; readonly said: Said } & Options)
  /** Works under a lasting identity, the same in every process, with its checkpoints in files or in the store. */
  | {
      readonly do: "execute";
      readonly request: Json;
      readonly checkpoints: "file" | "database";
      /** What a person says to the open questions before. */
      readonly said?: Said;
    };

/** What a person says to every open question of its kind, before the run goes on. */
export type Said = {
  readonly approval?: "approve" | { readonly deny: string };
  readonly inDoubt?: Settlement;
};

type Options = { readonly wait?: boolean; readonly budget?: Budget };

export type CrashSite = {
  readonly point: CrashPoint;
  readonly turn?: number;
  readonly step?: string;
  /** The n-th time that the point is reached there, from 1. */
  readonly occurrence?: number;
};

export type WaitingPlace = {
  readonly at: "model" | "before-effect" | "after-effect";
  readonly turn: number;
  /** One tool, or every one. */
  readonly tool?: string;
  readonly orders?: readonly string[];
  /** Goes on working when it is told to stop. */
  readonly deaf?: boolean;
  /** Nothing else of its process gets its turn meanwhile. */
  readonly blocks?: boolean;
};

/** Everything that a test changes between two processes. */
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
  /** Tokens that each answer of the model is said to have cost. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly shape?: readonly (readonly ["code" | "agent" | "loop", string])[];
  readonly reversed?: boolean;
  /** In this turn its tools read every file beside the database. */
  readonly readsBesideIn?: number;
  /** Models and tools take up to this long, each time. */
  readonly longestPauseMs?: number;
  readonly draftName?: string;
  readonly noteName?: string;
  readonly maxParallelToolCalls?: number;
  readonly booking?: BookingVariant;
  readonly mailing?: MailingVariant;
  readonly plan?: PlanVariant;
};

export type BookingVariant = {
  /** Where the server is that takes bookings. */
  readonly server: string;
  readonly recovery: RecoveryClass;
  readonly approval?: boolean;
  /** What the agent asks for in its first turn, in this order; `book` alone unless said otherwise. */
  readonly calls?: readonly ("book" | "look")[];
  /** What the code asks for; what the run was started with unless said otherwise. */
  readonly tables?: readonly string[];
  /** Ten minutes unless said otherwise: a process that is known to be dead is not waited for. */
  readonly timeoutMs?: number;
  readonly landsWithinMs?: number;
};

export type PlanVariant = {
  /** 1 unless said otherwise. */
  readonly promptVersion?: number;
  /** Whether a booking is marked in a turn of its own, in the one that makes it, or together with the next; apart unless said. */
  readonly marks?: "apart" | "at once" | "in pairs";
  /** Whether all steps but the first two are added to the plan in a turn of their own, each by a call. */
  readonly adds?: boolean;
  /** What is booked, one table for each step of the plan. */
  readonly tables?: readonly string[];
};

export type MailingVariant = {
  readonly port: number;
  readonly recovery: RecoveryClass;
  /** Whether the model asks for the same mail again, in other words. */
  readonly insists?: boolean;
};

export type WorkerReport =
  /** It was told to end, and has closed its store. */
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
  /** What a worker with a lasting identity has executed. */
  readonly request?: Json;
};

export type ReportedError = {
  readonly name: string;
  readonly message: string;
  readonly details: { readonly [key: string]: Json };
  readonly irrecoverable: boolean | null;
};

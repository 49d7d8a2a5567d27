// What the parent tells a worker process, and what the worker tells back. Both are one JSON text.

import type { Budget, Json, Pricing, RecoveryClass } from "../../src/index.ts";
import type { CrashPoint } from "../../src/testing/index.ts";
import type { ScenarioName } from "./scenarios.ts";

export type WorkerOrder = {
  /** Holds the database, the witness file and the outside log. */
  readonly folder: string;
  readonly scenario: ScenarioName;
  /** What differs from the scenario as it is. */
  readonly variant: Variant;
  readonly act: Act;
  /** Dies here by SIGKILL. */
  readonly crash?: CrashSite;
  /** Waits here until the parent releases or kills it. */
  readonly wait?: WaitingPlace;
  /** Both of two racing workers wait for the same file, before or after they open the store. */
  readonly barrier?: "before-open" | "after-open";
  readonly leaseMs?: number;
  /** Writes every crash point it passes to the witness file. */
  readonly trace?: boolean;
};

export type Act =
  | ({
      readonly do: "run";
      readonly input: Json;
      readonly runId?: string;
      readonly fresh?: boolean;
    } & Options)
  | ({ readonly do: "resume"; readonly runId: string } & Options);

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
  /** Models and tools take up to this long, each time. */
  readonly longestPauseMs?: number;
  readonly draftName?: string;
  readonly noteName?: string;
};

export type WorkerReport =
  | { readonly kind: "result"; readonly result: ReportedResult }
  | { readonly kind: "error"; readonly error: ReportedError };

export type ReportedResult = {
  readonly runId: string;
  readonly status: string;
  readonly output: Json;
  readonly context: { readonly [key: string]: Json };
  readonly usage: { readonly modelCalls: number; readonly charged: { readonly tokens: number } };
  readonly resumed: boolean;
};

export type ReportedError = {
  readonly name: string;
  readonly message: string;
  readonly details: { readonly [key: string]: Json };
  readonly irrecoverable: boolean | null;
};

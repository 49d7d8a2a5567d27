import type { RecoveryClass } from "../../../../src/index.ts";

/** What a worker's process is asked to do. */
export type WorkerOrder = {
  readonly url: string;
  readonly schema: string;
  /** It works on these runs until all of them have ended: those that others hold it tries again. */
  readonly runIds: readonly string[];
  /** How many runs it works on side by side. */
  readonly atOnce: number;
  /** Each turn makes one call, which has one effect at this server. */
  readonly turns: number;
  readonly effects: string;
  readonly recovery: RecoveryClass;
  /** How long a call takes before it has its effect, or that it ends when it is told to; and how long it may take. */
  readonly toolMs: number | "told";
  readonly timeoutMs: number;
  readonly leaseMs: number;
  /** How far the clock of the process is off. */
  readonly clockMs: number;
};

/** What it says about it, one line each. */
export type WorkerLine =
  | { readonly is: "ready" }
  | { readonly is: "begun" | "ended"; readonly runId: string; readonly pid: number }
  | { readonly is: "left"; readonly runId: string; readonly status: string; readonly pid: number };

import type { FingerprintDocument } from "../../core/turn/turn-fingerprint.ts";
import type { PreparedAgent } from "../definition/agent.ts";
import type { GranularOptions } from "../definition/step.ts";
import type { ActiveRun } from "../run/active-run.ts";
import type { CheckpointStep } from "../run/checkpoint-cursor.ts";
import type { Conversation } from "./conversation.ts";

/** What the turns of one granular step share. */
export type TurnScope = {
  readonly run: ActiveRun;
  readonly path: string;
  readonly name: string;
  readonly stepKey: number;
  /** What a checkpoint says of where it was taken. */
  readonly instance: CheckpointStep;
  readonly prepared: PreparedAgent;
  readonly options: GranularOptions;
  /** Everything that must not change between turns, and its hash: made anew by every worker that opens the step. */
  readonly document: FingerprintDocument;
  readonly fingerprint: string;
  readonly conversation: Conversation;
  /** No turn after this one is opened. */
  readonly lastTurn: number;
};

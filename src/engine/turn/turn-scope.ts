import type { FingerprintDocument } from "../../core/turn/turn-fingerprint.ts";
import type { Limit } from "../../core/usage/quota.ts";
import type { PreparedAgent } from "../definition/agent.ts";
import type { GranularOptions } from "../definition/step.ts";
import type { ActiveRun } from "../run/active-run.ts";
import type { CheckpointStep } from "../run/checkpoint-cursor.ts";
import type { LoadedConversation } from "./loaded-conversation.ts";

/** Everything that the turns of one granular step share. */
export type TurnScope = {
  readonly run: ActiveRun;
  readonly path: string;
  readonly name: string;
  readonly stepKey: number;
  /** The step, as its checkpoints record it. */
  readonly instance: CheckpointStep;
  readonly prepared: PreparedAgent;
  readonly options: GranularOptions;
  /** Everything that must not change between turns, and its hash. Each worker that opens the step computes both. */
  readonly document: FingerprintDocument;
  readonly fingerprint: string;
  readonly conversation: LoadedConversation;
  /** The last turn that may be opened: of the step, or of the present exchange. */
  readonly lastTurn: number;
  /** For a conversation: the most that one exchange may cost; else null. */
  readonly exchange: { readonly limit: Limit } | null;
};

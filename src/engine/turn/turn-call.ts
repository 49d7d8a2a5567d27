import type { ToolCallPart } from "../../core/message.ts";
import type { CallPlan, UndecidedCall } from "../call/call-decision.ts";
import type { QueuedCall } from "./turn-call-queue.ts";

/** A call of a turn, and the plan for it. */
export type TurnCall = QueuedCall & {
  readonly part: ToolCallPart;
  readonly undecided: UndecidedCall;
  readonly plan:
    | CallPlan
    | { readonly kind: "misconfigured"; readonly error: Error }
    /** It follows a call that still has work to do: the outcome of that call decides. */
    | { readonly kind: "pending" }
    /** It follows a call that waits for a person. */
    | { readonly kind: "held" };
};

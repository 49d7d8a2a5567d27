import type { ToolCallPart } from "../../core/message.ts";
import type { CallPlan, UndecidedCall } from "../call/call-decision.ts";
import type { Queued } from "./turn-call-queue.ts";

/** A call of a turn, and what is to be done about it. */
export type TurnCall = Queued & {
  readonly part: ToolCallPart;
  readonly undecided: UndecidedCall;
  readonly plan:
    | CallPlan
    | { readonly kind: "misconfigured"; readonly error: Error }
    /** It follows a call that has something to do: what that comes to decides. */
    | { readonly kind: "pending" }
    /** It follows a call that waits for a person. */
    | { readonly kind: "held" };
};

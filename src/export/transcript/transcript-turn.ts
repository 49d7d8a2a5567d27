import { type AssistantPart, isTextPart, ledgerCallsOf } from "../../core/message.ts";
import type { ModelCallRecord, ToolCallRecord, TurnRecord } from "../../store/store.ts";
import { amountText, duration, timeOfDay, usageText } from "../figures.ts";
import { code, jsonFence, shortFence } from "../markdown.ts";
import { askedCall } from "./transcript-call.ts";

// The texts about model calls: the request, the answer, and its cost.

const WHOLE = "all of it is in the store";

/** One attempt of a turn's model call that has ended. */
export function answeredModel(call: ModelCallRecord): string {
  const { attempt, openedAt, settledAt, charge } = call;
  const which = attempt > 1 ? `, attempt ${attempt},` : "";
  const asked = `The model was asked at ${timeOfDay(openedAt)}${which} and`;
  const took = settledAt === null ? "" : ` after ${duration(settledAt - openedAt)}`;
  switch (charge?.basis) {
    case "provider":
      return `${asked} answered${took}: ${usageText(charge.usage)}; charged ${amountText(charge.amount)}.`;
    case "baseline":
      return `${asked} reported no usage${took}, so that the whole reservation is charged: ${amountText(charge.amount)}.`;
    case "none":
      return `${asked} did not answer${took}; nothing is charged.`;
    case undefined:
      return `${asked} has not answered yet; ${amountText(call.reserved)} are reserved.`;
  }
}

/** The parts of a model's answer, each call with its row of the ledger. */
export function answerParts({ response, calls }: Pick<TurnRecord, "response" | "calls">): readonly {
  readonly part: AssistantPart;
  readonly call: ToolCallRecord | null;
}[] {
  const { content } = response;
  const rows = new Map<AssistantPart, ToolCallRecord | undefined>(
    ledgerCallsOf(content).map((part, index) => [part, calls[index]]),
  );
  return (
    content
      // Results of calls that the provider ran are in their receipts.
      .filter((part) => part.type !== "tool-result" || calls.length === 0)
      .map((part) => ({ part, call: rows.get(part) ?? null }))
  );
}

/** The model's answer, part by part. */
export function responseText(turn: TurnRecord): readonly string[] {
  const parts = answerParts(turn).map(({ part, call }) => (call === null ? partText(part) : askedCall(call)));
  return parts.length === 0 ? ["The answer is empty."] : parts;
}

function partText(part: AssistantPart): string {
  if (isTextPart(part)) return `**Assistant:**\n\n${shortFence(part.text, WHOLE)}`;
  if (part.type === "reasoning" && typeof part.text === "string")
    return `**Reasoning:**\n\n${shortFence(part.text, WHOLE)}`;
  const { type, ...rest } = part;
  return `**Assistant**, ${code(type)}:\n\n${jsonFence(rest, WHOLE)}`;
}

import type { BudgetName } from "../job/budgets.ts";
import { isJsonObject, type Json, type JsonObject } from "../json.ts";
import { toolCallId } from "../step-path.ts";
import { type BudgetUse, budgetShares } from "../usage/budget-share.ts";
import { asksPeople, type WaitKind, waitId } from "../wait.ts";

/** What a webhook can ask for. */
export const WEBHOOK_EVENTS = [
  "wait.opened",
  "wait.answered",
  "run.succeeded",
  "run.failed",
  "run.cancelled",
  "run.interrupted",
  "call.in_doubt",
  "budget.threshold",
] as const;

/** What a webhook can ask for. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

export const DELIVERED_EVENTS = [...WEBHOOK_EVENTS, "webhook.test"] as const;

/** What is sent: an event, or a test. */
export type DeliveredEvent = (typeof DELIVERED_EVENTS)[number];

/** An event of a run's log. */
export type LoggedEvent = {
  readonly runId: string;
  readonly seq: number;
  readonly type: string;
  readonly data: Json;
};

/** What is to be sent about a run. The same fact always has the same id, so a receiver recognises a repeat. */
export type AskedDelivery = {
  readonly deliveryId: string;
  readonly event: WebhookEvent;
  /** Ids and statuses, and nothing that a model, a tool or a person has written. */
  readonly facts: JsonObject;
};

const ENDS = { "run.succeeded": "succeeded", "run.failed": "failed", "run.cancelled": "cancelled" } as const;

/** The waits that an event has opened and those that it has answered, by their numbers. */
export function waitsIn({ type, data }: Pick<LoggedEvent, "type" | "data">): {
  readonly opened: readonly number[];
  readonly answered: readonly number[];
} {
  const { wait, waits } = isJsonObject(data) ? data : {};
  const list: readonly Json[] = Array.isArray(waits) ? (waits as readonly Json[]) : [];
  switch (type) {
    case "run.waiting":
    case "run.stalled":
      return { opened: list.filter(isNumber), answered: [] };
    case "wait.answered":
      return { opened: [], answered: [wait ?? null].filter(isNumber) };
    // The clock has answered some of them, and reminded people of others.
    case "run.woken":
    case "exchange.stop_requested":
      return { opened: [], answered: list.filter(isAnswered).map(({ wait: no }) => no) };
    default:
      return { opened: [], answered: [] };
  }
}

function isNumber(value: Json): value is number {
  return typeof value === "number";
}

function isAnswered(value: Json): value is { readonly wait: number } {
  return (
    isJsonObject(value) &&
    typeof value.wait === "number" &&
    value.did !== "reminded" &&
    value.did !== "escalated"
  );
}

/** What an event asks for; `kindOf` knows the waits that it names. */
export function deliveriesAsked(
  { runId, seq, type, data }: LoggedEvent,
  kindOf: (wait: number) => WaitKind | null,
): readonly AskedDelivery[] {
  const { opened, answered } = waitsIn({ type, data });
  const ofPeople = (wait: number) => {
    const kind = kindOf(wait);
    return kind !== null && asksPeople(kind) ? [{ waitId: waitId(runId, wait), kind }] : [];
  };
  const asked: Omit<AskedDelivery, "deliveryId">[] = [
    ...endOf(type, data),
    ...opened.flatMap(ofPeople).map((facts) => ({
      event: "wait.opened" as const,
      facts: { ...facts, status: "open" },
    })),
    ...answered.flatMap(ofPeople).map((facts) => ({
      event: "wait.answered" as const,
      facts: { ...facts, status: "answered" },
    })),
    ...callsInDoubt(type, data).map(({ step, turn, call }) => ({
      event: "call.in_doubt" as const,
      facts: { callId: toolCallId(runId, step, turn, call), status: "in_doubt" },
    })),
  ];
  // One event may ask for several: the first has the number of the event, and the others a number of their own.
  return asked.map((each, i) => ({ deliveryId: `${runId}:${seq}${i === 0 ? "" : `:${i + 1}`}`, ...each }));
}

function endOf(type: string, data: Json): readonly Omit<AskedDelivery, "deliveryId">[] {
  if (type !== "run.succeeded" && type !== "run.failed" && type !== "run.cancelled") return [];
  const code = isJsonObject(data) && typeof data.code === "string" ? { code: data.code } : {};
  return [{ event: type, facts: { status: ENDS[type], ...code } }];
}

type PlaceOfCall = { readonly step: string; readonly turn: number; readonly call: number };

/** Calls that their worker gave up on, and those that a worker left when it stopped or died. */
function callsInDoubt(type: string, data: Json): readonly PlaceOfCall[] {
  if (!isJsonObject(data)) return [];
  const left = Array.isArray(data.inDoubt) ? (data.inDoubt as readonly Json[]) : [];
  return [...(type === "call.in_doubt" ? [data] : []), ...left].filter(isPlaceOfCall);
}

function isPlaceOfCall(value: Json): value is JsonObject & PlaceOfCall {
  return (
    isJsonObject(value) &&
    typeof value.step === "string" &&
    typeof value.turn === "number" &&
    typeof value.call === "number"
  );
}

/** That nobody works on a run is in no event: it is sent once for the last event that the run has. */
export function interruptionOf(runId: string, eventSeq: number): AskedDelivery {
  return {
    deliveryId: `${runId}:${eventSeq}:interrupted`,
    event: "run.interrupted",
    facts: { status: "interrupted" },
  };
}

const THRESHOLDS = [50, 80, 95] as const;

/** The thresholds of its budgets that the run has reached. A budget that was raised has thresholds of its own. */
export function thresholdsReached(runId: string, use: BudgetUse): readonly AskedDelivery[] {
  return budgetShares(use).flatMap(({ budget, used, limit, share }) =>
    THRESHOLDS.filter((percent) => share * 100 >= percent).map((percent) =>
      thresholdOf(runId, { budget, used, limit, percent }),
    ),
  );
}

type Threshold = {
  readonly budget: BudgetName;
  readonly used: number;
  readonly limit: number;
  readonly percent: number;
};

function thresholdOf(runId: string, reached: Threshold): AskedDelivery {
  const { budget, limit, percent } = reached;
  return {
    deliveryId: `${runId}:${budget}:${limit}:${percent}`,
    event: "budget.threshold",
    facts: { ...reached },
  };
}

import { expect, it } from "vitest";
import {
  deliveriesAsked,
  interruptionOf,
  thresholdsReached,
} from "../../../src/core/webhook/webhook-events.ts";

const asked = (type: string, data: Parameters<typeof deliveriesAsked>[0]["data"]) =>
  deliveriesAsked({ runId: "r", seq: 7, type, data }, (wait) => (wait < 5 ? "approval" : "message")).map(
    ({ deliveryId, event }) => `${deliveryId} ${event}`,
  );

it("the first thing that an event asks for has its number, and others have one of their own", () => {
  expect(asked("run.waiting", { waits: [1, 2], inDoubt: [{ step: "a", turn: 1, call: 1 }] })).toEqual([
    "r:7 wait.opened",
    "r:7:2 wait.opened",
    "r:7:3 call.in_doubt",
  ]);
});

it("what a conversation or a clock waits for is for nobody", () => {
  expect(asked("run.waiting", { waits: [5, 1, 9] })).toEqual(["r:7 wait.opened"]);
  expect(asked("run.woken", { waits: [{ wait: 5, did: "answer" }] })).toEqual([]);
});

it("an answer of the clock is sent, a reminder is not", () => {
  const waits = [
    { wait: 1, did: "reminded" },
    { wait: 2, did: "escalated" },
    { wait: 3, did: "deny" },
  ];
  expect(asked("run.woken", { waits })).toEqual(["r:7 wait.answered"]);
  expect(asked("exchange.stop_requested", { waits: [{ wait: 4 }] })).toEqual(["r:7 wait.answered"]);
});

it("turns, and waits that are withdrawn with their run, ask for nothing of their own", () => {
  expect(asked("turn.committed", { turn: 1 })).toEqual([]);
  expect(asked("run.cancelled", { waits: [1] })).toEqual(["r:7 run.cancelled"]);
  expect(asked("run.failed", "nonsense")).toEqual(["r:7 run.failed"]);
  expect(asked("run.waiting", { waits: "nonsense", inDoubt: [{ step: 1 }] })).toEqual([]);
});

it("an interruption is sent once for what the run has last done", () => {
  expect(interruptionOf("r", 7).deliveryId).toBe("r:7:interrupted");
  expect(interruptionOf("r", 8).deliveryId).toBe("r:8:interrupted");
});

it("each threshold of each budget is reached by itself", () => {
  const use = {
    limit: { tokens: 100, microDollars: 2_000_000 },
    budgets: null,
    charged: { tokens: 95, microDollars: 1_000_000 },
    reserved: { tokens: 0, microDollars: 0 },
    toolCalls: 0,
    steps: 0,
  };
  expect(thresholdsReached("r", use).map(({ deliveryId }) => deliveryId)).toEqual([
    "r:maxTokens:100:50",
    "r:maxTokens:100:80",
    "r:maxTokens:100:95",
    "r:maxCostUsd:2:50",
  ]);
});

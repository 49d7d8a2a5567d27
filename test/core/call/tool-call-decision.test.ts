import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decideFailedAttempt,
  decideReconciled,
  decideToolCall,
  defaultRecovery,
  type FailedAttemptFacts,
  type RecoveryClass,
  type ToolCallDecision,
  type ToolCallFacts,
  type ToolCallStatus,
} from "../../../src/core/call/tool-call-decision.ts";

const RECOVERIES: readonly RecoveryClass[] = ["repeat", "keyed", "reconcile", "opaque"];
const SETTLED: readonly ToolCallStatus[] = ["succeeded", "failed", "deduplicated", "cancelled"];

const PREPARED: ToolCallFacts = {
  status: "prepared",
  recovery: "opaque",
  inDoubt: "ask",
  canReconcile: false,
  keyIsValid: true,
  wasNotApplied: false,
  isRetryRequested: false,
  approval: "not_needed",
  earlier: "none",
};
const IN_DOUBT: ToolCallFacts = { ...PREPARED, status: "in_doubt" };

const facts: fc.Arbitrary<ToolCallFacts> = fc.record({
  status: fc.constantFrom<ToolCallStatus>("prepared", "running", "in_doubt", ...SETTLED),
  recovery: fc.constantFrom(...RECOVERIES),
  inDoubt: fc.constantFrom("ask", "tell"),
  canReconcile: fc.boolean(),
  keyIsValid: fc.boolean(),
  wasNotApplied: fc.boolean(),
  isRetryRequested: fc.boolean(),
  approval: fc.constantFrom("not_needed", "needed", "given", "outdated", "denied"),
  earlier: fc.constantFrom("none", "succeeded", "uncertain", "left_over"),
});

describe("decideToolCall", () => {
  it.each(SETTLED)("uses the receipt of a call that has %s, whatever else is known", (status) => {
    fc.assert(
      fc.property(facts, (call) => {
        expect(decideToolCall({ ...call, status })).toEqual({ kind: "replay" });
      }),
    );
  });

  const prepared: [string, Partial<ToolCallFacts>, ToolCallDecision][] = [
    ["runs a call without objections", {}, { kind: "execute" }],
    ["runs an approved call", { approval: "given" }, { kind: "execute" }],
    ["asks for a needed approval", { approval: "needed" }, { kind: "ask", why: "approval" }],
    [
      "asks again if the arguments differ from the approved ones",
      { approval: "outdated" },
      { kind: "ask", why: "outdated_approval" },
    ],
    ["refuses a denied call", { approval: "denied" }, { kind: "refuse", why: "denied" }],
    [
      "mentions the earlier uncertain call when it asks",
      { approval: "needed", earlier: "uncertain" },
      { kind: "ask", why: "uncertain_before" },
    ],
    [
      "mentions the call left over by a restarted step when it asks",
      { approval: "needed", earlier: "left_over" },
      { kind: "ask", why: "left_over" },
    ],
    ["uses the receipt of the same effect", { earlier: "succeeded" }, { kind: "deduplicate" }],
    [
      "does not ask about an effect that already succeeded",
      { earlier: "succeeded", approval: "needed" },
      { kind: "deduplicate" },
    ],
  ];

  it.each(prepared)("%s", (_, over, expected) => {
    for (const recovery of RECOVERIES)
      expect(decideToolCall({ ...PREPARED, recovery, ...over })).toEqual(expected);
  });

  const doubts: [string, Partial<ToolCallFacts>, ToolCallDecision][] = [
    ["repeats a repeatable call", { recovery: "repeat" }, { kind: "retry" }],
    ["repeats with the same key while the key is valid", { recovery: "keyed" }, { kind: "retry" }],
    [
      "asks a person if the key has expired",
      { recovery: "keyed", keyIsValid: false },
      { kind: "ask", why: "in_doubt" },
    ],
    [
      "looks the call up if the key has expired and that is possible",
      { recovery: "keyed", keyIsValid: false, canReconcile: true },
      { kind: "reconcile" },
    ],
    [
      "looks up a call that can be looked up",
      { recovery: "reconcile", canReconcile: true },
      { kind: "reconcile" },
    ],
    ["never repeats an opaque call", { recovery: "opaque" }, { kind: "ask", why: "in_doubt" }],
    [
      "reports the unknown outcome to the model if the tool is declared so",
      { recovery: "opaque", inDoubt: "tell" },
      { kind: "refuse", why: "unknown_outcome" },
    ],
    ["repeats a call that a person wants repeated", { isRetryRequested: true }, { kind: "retry" }],
    ["repeats a call that reported that nothing happened", { wasNotApplied: true }, { kind: "retry" }],
    ["repeats an approved call", { recovery: "keyed", approval: "given" }, { kind: "retry" }],
    [
      "asks before it repeats with arguments other than the approved ones",
      { recovery: "keyed", approval: "outdated" },
      { kind: "ask", why: "outdated_approval" },
    ],
    [
      "does not repeat a call that was denied since",
      { recovery: "keyed", approval: "denied" },
      { kind: "ask", why: "in_doubt" },
    ],
  ];

  it.each(doubts)("%s", (_, over, expected) => {
    for (const status of ["running", "in_doubt"] as const)
      expect(decideToolCall({ ...IN_DOUBT, status, ...over })).toEqual(expected);
  });

  it("never repeats an opaque call in doubt without a person", () => {
    fc.assert(
      fc.property(facts, (call) => {
        const doubt = { ...call, isRetryRequested: false, wasNotApplied: false, recovery: "opaque" } as const;
        for (const status of ["running", "in_doubt"] as const)
          expect(["ask", "refuse"]).toContain(decideToolCall({ ...doubt, status }).kind);
      }),
    );
  });

  it("never runs a call without the approval that it needs for these arguments", () => {
    fc.assert(
      fc.property(facts, (call) => {
        if (call.approval === "given" || call.approval === "not_needed") return;
        expect(decideToolCall({ ...call, status: "prepared" }).kind).not.toBe("execute");
      }),
    );
  });
});

describe("decideReconciled", () => {
  const inDoubt = "ask";

  it("adopts what was found, whether or not the old attempt could still land", () => {
    for (const canStillLand of [true, false])
      expect(decideReconciled({ found: "done", canStillLand, inDoubt })).toEqual({ kind: "adopt" });
  });

  it("runs an absent call only once the old attempt can no longer land", () => {
    expect(decideReconciled({ found: "absent", canStillLand: false, inDoubt })).toEqual({ kind: "retry" });
    expect(decideReconciled({ found: "absent", canStillLand: true, inDoubt })).toEqual({ kind: "wait" });
  });

  it("leaves an unknown outcome to a person, or reports it to the model", () => {
    for (const canStillLand of [true, false]) {
      expect(decideReconciled({ found: "unknown", canStillLand, inDoubt: "ask" })).toEqual({
        kind: "ask",
        why: "in_doubt",
      });
      expect(decideReconciled({ found: "unknown", canStillLand, inDoubt: "tell" })).toEqual({
        kind: "refuse",
        why: "unknown_outcome",
      });
    }
  });
});

describe("decideFailedAttempt", () => {
  const SAME_AGAIN = { retriesLeft: 5, isSameAgain: true, mayHaveHappened: false };
  type Row = [FailedAttemptFacts["outcome"], RecoveryClass, number, ReturnType<typeof decideFailedAttempt>];
  const retry = { kind: "retry" } as const;
  const doubt = { kind: "doubt" } as const;
  const certain = { kind: "fail", uncertain: false } as const;
  const uncertain = { kind: "fail", uncertain: true } as const;
  const rows: Row[] = [
    ...RECOVERIES.flatMap((recovery): Row[] => [
      ["not_applied", recovery, 1, retry],
      ["not_applied", recovery, 0, certain],
      ["needs_human", recovery, 1, { kind: "escalate" }],
      ["aborted", recovery, 1, doubt],
    ]),
    ["failed", "repeat", 1, retry],
    ["failed", "repeat", 0, certain],
    ["timed_out", "repeat", 1, retry],
    ["timed_out", "repeat", 0, certain],
    ["failed", "keyed", 1, retry],
    ["failed", "keyed", 0, uncertain],
    ["timed_out", "keyed", 1, retry],
    ["timed_out", "keyed", 0, uncertain],
    ["failed", "reconcile", 1, doubt],
    ["failed", "reconcile", 0, doubt],
    ["timed_out", "reconcile", 1, doubt],
    ["failed", "opaque", 1, uncertain],
    ["failed", "opaque", 0, uncertain],
    ["timed_out", "opaque", 1, doubt],
    ["timed_out", "opaque", 0, doubt],
  ];

  it.each(rows)("%s of a %s tool with %i retries left: %j", (outcome, recovery, retriesLeft, expected) => {
    const attempt = { outcome, recovery, retriesLeft, isSameAgain: false, mayHaveHappened: false };
    expect(decideFailedAttempt(attempt)).toEqual(expected);
  });

  it("escalates to a person after enough repeats of the same error", () => {
    for (const recovery of RECOVERIES)
      for (const outcome of ["failed", "not_applied", "timed_out"] as const)
        expect(decideFailedAttempt({ outcome, recovery, ...SAME_AGAIN })).toEqual({ kind: "escalate" });
  });

  it("is uncertain if an earlier attempt may have happened, whatever the last one reports", () => {
    for (const recovery of RECOVERIES) {
      const expected = { kind: "fail", uncertain: recovery !== "repeat" };
      const attempt = {
        outcome: "not_applied",
        recovery,
        isSameAgain: false,
        mayHaveHappened: true,
      } as const;
      expect(decideFailedAttempt({ ...attempt, retriesLeft: 0 })).toEqual(expected);
      expect(decideFailedAttempt({ ...attempt, retriesLeft: 1 })).toEqual({ kind: "retry" });
    }
  });

  it("leaves an aborted attempt to the next worker of the run, however often it failed before", () => {
    const attempt = { outcome: "aborted", recovery: "repeat", ...SAME_AGAIN } as const;
    expect(decideFailedAttempt(attempt)).toEqual({ kind: "doubt" });
  });
});

describe("defaultRecovery", () => {
  it("repeats reads and nothing else", () => {
    expect(defaultRecovery("read_only")).toBe("repeat");
    for (const effect of ["external", "memory", "local"] as const)
      expect(defaultRecovery(effect)).toBe("opaque");
  });
});

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
  isToRetry: false,
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
  isToRetry: fc.boolean(),
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
    ["runs what nothing speaks against", {}, { kind: "execute" }],
    ["runs what a person approved", { approval: "given" }, { kind: "execute" }],
    ["asks for an approval that is needed", { approval: "needed" }, { kind: "ask", why: "approval" }],
    [
      "asks again when the arguments are not those that were approved",
      { approval: "outdated" },
      { kind: "ask", why: "outdated_approval" },
    ],
    ["refuses what a person denied", { approval: "denied" }, { kind: "refuse", why: "denied" }],
    [
      "says what was uncertain before when it asks",
      { approval: "needed", earlier: "uncertain" },
      { kind: "ask", why: "uncertain_before" },
    ],
    [
      "says what a restarted step left over when it asks",
      { approval: "needed", earlier: "left_over" },
      { kind: "ask", why: "left_over" },
    ],
    ["uses the receipt of the same effect", { earlier: "succeeded" }, { kind: "deduplicate" }],
    [
      "asks nobody about an effect that was had already",
      { earlier: "succeeded", approval: "needed" },
      { kind: "deduplicate" },
    ],
  ];

  it.each(prepared)("%s", (_, over, expected) => {
    for (const recovery of RECOVERIES)
      expect(decideToolCall({ ...PREPARED, recovery, ...over })).toEqual(expected);
  });

  const doubts: [string, Partial<ToolCallFacts>, ToolCallDecision][] = [
    ["repeats what may be repeated", { recovery: "repeat" }, { kind: "retry" }],
    ["repeats with the same key while that is valid", { recovery: "keyed" }, { kind: "retry" }],
    [
      "asks a person when the key has run out",
      { recovery: "keyed", keyIsValid: false },
      { kind: "ask", why: "in_doubt" },
    ],
    [
      "looks it up when the key has run out and that is possible",
      { recovery: "keyed", keyIsValid: false, canReconcile: true },
      { kind: "reconcile" },
    ],
    ["looks up what can be looked up", { recovery: "reconcile", canReconcile: true }, { kind: "reconcile" }],
    ["never repeats what is opaque", { recovery: "opaque" }, { kind: "ask", why: "in_doubt" }],
    [
      "tells the model where the tool says so",
      { recovery: "opaque", inDoubt: "tell" },
      { kind: "refuse", why: "unknown_outcome" },
    ],
    ["repeats what a person says is to be repeated", { isToRetry: true }, { kind: "retry" }],
    ["repeats what said that nothing happened", { wasNotApplied: true }, { kind: "retry" }],
    ["repeats what was approved", { recovery: "keyed", approval: "given" }, { kind: "retry" }],
    [
      "asks before it repeats with other arguments than were approved",
      { recovery: "keyed", approval: "outdated" },
      { kind: "ask", why: "outdated_approval" },
    ],
    [
      "does not repeat what was denied since",
      { recovery: "keyed", approval: "denied" },
      { kind: "ask", why: "in_doubt" },
    ],
  ];

  it.each(doubts)("%s", (_, over, expected) => {
    for (const status of ["running", "in_doubt"] as const)
      expect(decideToolCall({ ...IN_DOUBT, status, ...over })).toEqual(expected);
  });

  it("never repeats a doubt of an opaque call by itself", () => {
    fc.assert(
      fc.property(facts, (call) => {
        const doubt = { ...call, isToRetry: false, wasNotApplied: false, recovery: "opaque" } as const;
        for (const status of ["running", "in_doubt"] as const)
          expect(["ask", "refuse"]).toContain(decideToolCall({ ...doubt, status }).kind);
      }),
    );
  });

  it("never runs what needs an approval that nobody gave for these arguments", () => {
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

  it("runs what is absent only once the old attempt can no longer land", () => {
    expect(decideReconciled({ found: "absent", canStillLand: false, inDoubt })).toEqual({ kind: "retry" });
    expect(decideReconciled({ found: "absent", canStillLand: true, inDoubt })).toEqual({ kind: "wait" });
  });

  it("puts what nobody knows before a person, or before the model", () => {
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

  it("puts the same error before a person when it has come often enough", () => {
    for (const recovery of RECOVERIES)
      for (const outcome of ["failed", "not_applied", "timed_out"] as const)
        expect(decideFailedAttempt({ outcome, recovery, ...SAME_AGAIN })).toEqual({ kind: "escalate" });
  });

  it("is uncertain where an earlier try may have happened, whatever the last one says of itself", () => {
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

  it("leaves an aborted try to whoever goes on with the run, however often it failed before", () => {
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

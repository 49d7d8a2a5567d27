// Turns, steps and loops: what is committed, and what is read back.

import type { Mutant } from "./mutant.ts";

/** A step is opened although its agent has changed. */
const CHANGE_UNNOTICED = {
  file: "engine/steps/agent-executor.ts",
  right: "  if (storedFingerprint === null || storedFingerprint.hash === fingerprint) return null;\n",
  wrong: "  if (storedFingerprint !== undefined) return null;\n",
};

export const TURN_MUTANTS: readonly Mutant[] = [
  {
    what: "a crash gives a model that never fits a schema more tries",
    patches: [
      {
        file: "engine/turn/misfit-limit.ts",
        right: "(run.resume.isRequested && !isNew)",
        wrong: "!isNew",
      },
    ],
    breaks: "same-end",
    scenario: "schema-misfit",
    schedule: "crash after store.commitTurn 3",
  },
  {
    what: "a journaled response is discarded, and the model is asked again",
    patches: [
      {
        file: "engine/steps/agent-executor.ts",
        right: "const isRedone = run.resume.redoTurn && journaled !== null",
        wrong: "const isRedone = journaled !== null",
      },
      {
        file: "core/turn/turn-decision.ts",
        right: "if (!turn.isBegun) return;",
        wrong: "if (turn.isBegun || !turn.isBegun) return;",
      },
      {
        file: "store/sql/intents/drop-turn-intent.ts",
        right:
          '    for (let callNo = first; callNo <= last; callNo++) removeRow(tx, run, "tool_calls", { call_no: callNo });',
        wrong: `    for (let callNo = first; callNo <= last; callNo++) {
      removeRow(tx, run, "receipts", { call_no: callNo });
      removeRow(tx, run, "tool_call_attempts", { call_no: callNo, attempt: 1 });
      removeRow(tx, run, "tool_calls", { call_no: callNo });
    }`,
      },
    ],
    breaks: "effects-at-most-once",
    scenario: "opaque",
  },
  {
    what: "a response whose calls wait for a person is discarded, and the model is asked again",
    patches: [
      {
        file: "engine/steps/agent-executor.ts",
        right: "const isRedone = run.resume.redoTurn && journaled !== null",
        wrong: "const isRedone = run.fence.epoch === 2 && journaled !== null",
      },
    ],
    breaks: "journaled-responses-kept",
    scenario: "approval-alone",
  },
  {
    what: "a run continues with another agent",
    patches: [
      {
        file: "core/turn/turn-decision.ts",
        right:
          '  if (stored.fingerprint !== null && stored.fingerprint !== fingerprint) return { kind: "diverged" };\n',
        wrong: "",
      },
      CHANGE_UNNOTICED,
    ],
    breaks: "one-fingerprint-per-key",
    scenario: "changed-agent",
  },
  {
    what: "the model is asked before the fingerprint of the agent is checked",
    patches: [
      {
        file: "engine/turn/turn-executor.ts",
        right: '    case "diverged":\n      throw',
        wrong:
          '    case "diverged":\n      await requestTurn(scope, expected).catch(() => undefined);\n      throw',
      },
      CHANGE_UNNOTICED,
    ],
    breaks: "diverged-is-silent",
    scenario: "diverged",
  },
  {
    what: "a turn is committed while one of its calls waits for a person",
    patches: [
      {
        file: "engine/turn/turn-call-run.ts",
        right:
          "    if (this.#waits.length === 0) return { results: items.map((item) => this.#resultOf(item)), unstored };",
        wrong:
          "    if (items.length > 0) return { results: items.flatMap((item) => this.#results.get(item.callIndex) ?? []), unstored };",
      },
      {
        file: "store/sql/intents/turn-intents.ts",
        right: "if (turn.receipts.size === turn.calls) return facts;",
        wrong: "if (turn.receipts.size <= turn.calls) return facts;",
      },
    ],
    breaks: "calls-match-the-ledger",
    scenario: "approval",
  },
  {
    what: "a new lineage leaves out a turn",
    patches: [
      {
        file: "store/sql/intents/lineage-intents.ts",
        right: "const firstTurn = (openTurn ?? state.turnIndex) + 1;",
        wrong: "const firstTurn = (openTurn ?? state.turnIndex) + 2;",
      },
    ],
    breaks: "turns-without-a-hole",
    scenario: "milestone-after-change",
  },
  {
    what: "a finished step is entered again",
    patches: [
      {
        file: "engine/steps/execute-step.ts",
        right: 'if (known?.status === "succeeded") {',
        wrong: 'if (known?.status === "skipped") {',
      },
      {
        file: "store/sql/intents/step-intents.ts",
        right: 'if (known?.status === "succeeded")\n    throw',
        wrong: 'if (known?.status === "skipped" && step.path === "")\n    throw',
      },
    ],
    breaks: "steps-done-once",
    scenario: "loop",
  },
  {
    what: "a loop does not store its decisions",
    patches: [
      {
        file: "store/sql/intents/step-intents.ts",
        right: '  insertRow(tx, run, "loop_decisions", {',
        wrong: '  if (run.runId === "") insertRow(tx, run, "loop_decisions", {',
      },
    ],
    breaks: "steps-done-once",
    scenario: "loop",
    schedule: "crash after store.decideLoop 1",
  },
  {
    what: "the receipt of a call that the provider ran is not stored with its response",
    patches: [
      {
        file: "store/sql/intents/turn-intents.ts",
        right: "yield* writeReceipts(tx, run, turn, journal.receipts ?? []);",
        wrong: "yield* writeReceipts(tx, run, turn, []);",
      },
    ],
    breaks: "ends-or-waits",
    scenario: "provider-search",
  },
  {
    what: "a new lineage repeats the effects of the previous one",
    patches: [
      {
        file: "engine/turn/turn-call-plan.ts",
        right: "  return reused === null ? NO_EARLIER_CALL : succeededCall(run, identity, reused);",
        wrong:
          '  return reused === null || run.runId !== "" ? NO_EARLIER_CALL : succeededCall(run, identity, reused);',
      },
    ],
    breaks: "no-more-effects-than-undisturbed",
    scenario: "main-loop",
    schedule: "crash after store.journalResponse 2",
  },
];

// Turns, steps and loops: what is committed, and what is read back.

import type { Mutant } from "./mutant.ts";

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
        file: "store/sqlite/intents/drop-turn-intent.ts",
        right: '    database.run("DELETE FROM tool_calls WHERE call_no BETWEEN ? AND ?", first, last);',
        wrong: `    for (const table of ["receipts", "tool_call_tries", "waits", "tool_calls"])
      database.run(\`DELETE FROM \${table} WHERE call_no BETWEEN ? AND ?\`, first, last);`,
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
        file: "store/sqlite/intents/turn-intents.ts",
        right: "if (turn.receipts === turn.calls) return digests",
        wrong: "if (turn.receipts <= turn.calls) return digests",
      },
    ],
    breaks: "calls-match-the-ledger",
    scenario: "approval",
  },
  {
    what: "a new lineage leaves out a turn",
    patches: [
      {
        file: "store/sqlite/intents/lineage-intents.ts",
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
        file: "store/sqlite/intents/step-intents.ts",
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
        file: "store/sqlite/intents/step-intents.ts",
        right: '    "INSERT INTO loop_decisions VALUES (?, ?, ?, ?, ?)",',
        wrong: '    "INSERT INTO loop_decisions SELECT ?, ?, ?, ?, ? WHERE 0",',
      },
    ],
    breaks: "steps-done-once",
    scenario: "loop",
    schedule: "crash after store.decideLoop 1",
  },
  {
    what: "a new lineage repeats the effects of the previous one",
    patches: [
      {
        file: "engine/turn/turn-call-plan.ts",
        right: "  return reused === null ? NO_EARLIER_CALL : succeededCall(run, reused);",
        wrong: '  return reused === null || run.runId !== "" ? NO_EARLIER_CALL : succeededCall(run, reused);',
      },
    ],
    breaks: "no-more-effects-than-undisturbed",
    scenario: "main-loop",
    schedule: "crash after store.journalResponse 2",
  },
];

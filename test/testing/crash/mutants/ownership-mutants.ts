// Ownership: epochs, leases, and what a new owner does with the work of the previous one.

import type { Mutant } from "./mutant.ts";

export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    what: "the store accepts writes from any epoch",
    patches: [
      {
        file: "store/sqlite/tables/run-row.ts",
        right: "if (run.epoch === fence.epoch && run.owner !== null) return run;",
        wrong: "if (run.runId === fence.runId) return run;",
      },
    ],
    breaks: "writes-under-the-epoch",
    scenario: "opaque",
    mode: "pause",
  },
  {
    what: "a lease is renewed for any worker",
    patches: [
      {
        file: "store/sqlite/intents/run-intents.ts",
        right: "  const run = fencedRun(database, fence);\n  const until = now + leaseMs;",
        wrong: "  const run = mustFind(database, fence.runId);\n  const until = now + leaseMs;",
      },
    ],
    breaks: "writes-under-the-epoch",
    scenario: "plain-answer",
    mode: "pause",
  },
  {
    what: "a claim does not raise the epoch",
    patches: [
      {
        file: "store/sqlite/intents/run-intents.ts",
        right: "  endWaiting(row, now);\n  row.epoch += 1;\n  row.owner = leases.owner;",
        wrong: "  endWaiting(row, now);\n  row.owner = leases.owner;",
      },
      {
        file: "store/sqlite/intents/run-intents.ts",
        right: '"INSERT INTO attempts (run_no,',
        wrong: '"INSERT OR REPLACE INTO attempts (run_no,',
      },
    ],
    breaks: "ends-or-waits",
    scenario: "one-tool",
    mode: "pause",
  },
  {
    // A commit is compared by all of them: without one, the others still refuse it.
    what: "a turn is written without a compare-and-set of the epoch, the turn before it, or its open request",
    patches: [
      {
        file: "store/sqlite/tables/run-row.ts",
        right: "if (run.epoch === fence.epoch && run.owner !== null) return run;",
        wrong: "if (run.runId === fence.runId) return run;",
      },
      {
        file: "store/sqlite/tables/granular-state.ts",
        right: "if (state.turnIndex === turnIndex - 1 && !state.isComplete) return;",
        wrong: "if (state.turnIndex >= turnIndex - 1) return;",
      },
      {
        file: "store/sqlite/intents/turn-intents.ts",
        right: "WHERE step_no = ? AND turn_index = ? AND is_complete = 0`,",
        wrong: "WHERE step_no = ? AND turn_index >= ?`,",
      },
      {
        file: "store/sqlite/intents/turn-intents.ts",
        right: "`INSERT INTO turns (turn_no,",
        wrong: "`INSERT OR REPLACE INTO turns (turn_no,",
      },
      {
        file: "store/sqlite/tables/model-calls.ts",
        right:
          "throw new Error(`Attempt ${attempt} of turn ${turnIndex} is not open: it cannot be settled.`);",
        wrong: 'return [attempt, now, now, 0, 0, "none", 0, 0, 0, 0, 0, 0];',
      },
    ],
    breaks: "turns-without-a-hole",
    scenario: "plain-answer",
    mode: "pause",
  },
  {
    what: "the head of the event log is not compared, so a stale write overwrites a newer one",
    patches: [
      {
        file: "store/sqlite/tables/run-row.ts",
        right: "event_hash = ? WHERE run_no = ? AND event_seq = ?`,",
        wrong: "event_hash = ? WHERE run_no = ? AND 0 * ? = 0`,",
      },
      {
        file: "store/sqlite/tables/run-row.ts",
        right: '"INSERT INTO events VALUES',
        wrong: '"INSERT OR REPLACE INTO events VALUES',
      },
    ],
    breaks: "events-verify",
    scenario: "opaque",
    mode: "pause",
  },
  {
    what: "the lease is not checked before a tool runs",
    patches: [
      {
        file: "engine/run/sent-mark.ts",
        right: "    run.stop.lease.assertHeld();\n    run.stop.signal.throwIfAborted();\n",
        wrong: "",
      },
    ],
    breaks: "effects-at-most-once",
    scenario: "short-lease",
    mode: "pause",
  },
  {
    what: "a claim leaves the calls of the dead worker running",
    patches: [
      {
        file: "store/sqlite/intents/run-intents.ts",
        right: "  const leaving = leaveRunningCalls(database, row, now, left);\n  recordAttempt(",
        wrong:
          "  const leaving: ReturnType<typeof leaveRunningCalls> = { inDoubt: [], facts: {} };\n  recordAttempt(",
      },
    ],
    breaks: "same-end",
    scenario: "keyed",
  },
  {
    what: "a cancelled run leaves calls running that no worker executes",
    patches: [
      {
        file: "store/sqlite/intents/run-interruption.ts",
        right: "  const { facts, inDoubt } = leaveRunningCalls(database, row, now, left);\n  withdrawWaits(",
        wrong:
          "  const { facts, inDoubt }: ReturnType<typeof leaveRunningCalls> = { inDoubt: [], facts: {} };\n  withdrawWaits(",
      },
    ],
    breaks: "nothing-runs-at-rest",
    scenario: "cancelled-and-left",
  },
  {
    what: "a release leaves calls running that no worker executes",
    patches: [
      {
        file: "store/sqlite/intents/run-intents.ts",
        right: "const { facts } = leaveRunningCalls(database, row, now, leases.leftOpen(row));",
        wrong: "const facts = {};",
      },
    ],
    breaks: "nothing-runs-at-rest",
    scenario: "cancelled-and-left",
  },
];

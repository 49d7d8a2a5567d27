// Who may write: epochs, leases, and what a new owner does about the work of the one before.

import type { Mutant } from "./mutant.ts";

export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    what: "the store takes writes from any epoch",
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
    what: "a lease is renewed for whoever asks",
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
    what: "a turn is set without being compared: not the epoch, nor the turn before it, nor its open request",
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
        right: "throw new Error(`Try ${attempt} of turn ${turnIndex} is not open: it cannot be settled.`);",
        wrong: 'return [attempt, now, now, 0, 0, "none", 0, 0, 0, 0, 0, 0];',
      },
    ],
    breaks: "turns-without-a-hole",
    scenario: "plain-answer",
    mode: "pause",
  },
  {
    what: "the log's head is not compared, so what was read before is written over what is there now",
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
    what: "the lease is not looked at before a tool is run",
    patches: [
      {
        file: "engine/run/effect-departure.ts",
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
    what: "a cancelled run leaves calls running that nobody is at",
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
    what: "a release leaves calls running that nobody is at",
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

// Ownership: epochs, leases, and what a new owner does with the work of the previous one.

import type { Mutant } from "./mutant.ts";
import { EPOCH_OF_ANY_OWNER, HASH_NOT_COMPARED } from "./write-mutants.ts";

export const OWNERSHIP_MUTANTS: readonly Mutant[] = [
  {
    what: "the store accepts writes from any epoch",
    patches: [
      {
        file: "store/sql/tables/fence.ts",
        right: "if (run.epoch === fence.epoch && run.owner === leases.owner) return run;",
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
        file: "store/sql/intents/run-intents.ts",
        right: "const { runId, key, owner, epoch } = yield* fencedRun(tx, fence);",
        wrong: `const row = yield* findRun(fence.runId);
  if (row === null) return;
  const { runId, key, owner, epoch } = row;`,
      },
    ],
    breaks: "writes-under-the-epoch",
    scenario: "plain-answer",
    mode: "pause",
  },
  {
    // A worker that was paused has the old owner and epoch in its cached head.
    what: "a renewal is not compared with the owner and the epoch that are stored",
    patches: [
      {
        file: "store/sqlite/write-statements.ts",
        right: "WHERE run_key = ? AND owner = ? AND epoch = ?",
        wrong: "WHERE run_key = ? AND ? <> '' AND ? > 0",
      },
    ],
    breaks: "writes-under-the-epoch",
    scenario: "keyed",
    schedule: "pause after store.endToolCallAttempt 1; wake at the end",
  },
  {
    // A fence is compared by the owner too.
    what: "a claim does not raise the epoch",
    patches: [
      EPOCH_OF_ANY_OWNER,
      {
        file: "store/sql/intents/run-intents.ts",
        right: "  row.epoch += 1;\n",
        wrong: "",
      },
      {
        file: "store/sql/intents/run-creation.ts",
        right: '  insertRow(tx, row, "attempts", {',
        wrong: '  putRow(tx, row, "attempts", {',
      },
      {
        file: "store/sql/intents/run-creation.ts",
        right: "import { insertRow,",
        wrong: "import { insertRow, putRow,",
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
        file: "store/sql/tables/fence.ts",
        right: "if (run.epoch === fence.epoch && run.owner === leases.owner) return run;",
        wrong: "if (run.runId === fence.runId) return run;",
      },
      {
        file: "store/sql/tables/granular-state.ts",
        right: "if (state.turnIndex === turnIndex - 1 && !state.isComplete) return;",
        wrong: "if (state.turnIndex >= turnIndex - 1) return;",
      },
      {
        file: "store/sql/intents/turn-intents.ts",
        right: '  insertRow(tx, run, "turns", {',
        wrong: '  putRow(tx, run, "turns", {',
      },
      {
        file: "store/sql/tables/model-calls.ts",
        right:
          "throw new Error(`Attempt ${attempt} of turn ${turnIndex} is not open: it cannot be settled.`);",
        wrong: `const [none, at] = [0, tx.now];
    return {
      attempt,
      opened_at: at,
      settled_at: at,
      reserved_tokens: none,
      reserved_micro_dollars: none,
      basis: "none",
      charged_tokens: none,
      charged_micro_dollars: none,
      input_tokens: none,
      output_tokens: none,
      cached_input_tokens: none,
      reasoning_tokens: none,
    };`,
      },
    ],
    breaks: "turns-without-a-hole",
    scenario: "plain-answer",
    mode: "pause",
  },
  {
    what: "the head of the event log is not compared, so a stale write overwrites a newer one",
    patches: [
      ...HASH_NOT_COMPARED,
      {
        // Two events of one number would be refused too.
        file: "store/sql/insert-text.ts",
        right: "const insert = `INSERT INTO ${table} ",
        wrong: "const insert = `INSERT ${table === 'events' ? 'OR REPLACE ' : ''}INTO ${table} ",
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
        file: "store/sql/intents/run-intents.ts",
        right: "const leaving = yield* leaveRunningCalls(tx, row, left);",
        wrong: "const leaving: LeftCalls = { inDoubt: [], facts: {} };",
      },
    ],
    breaks: "same-end",
    scenario: "keyed",
  },
  {
    what: "a cancelled run leaves calls running that no worker executes",
    patches: [
      {
        file: "store/sql/intents/run-interruption.ts",
        right: "const { facts, inDoubt } = yield* leaveRunningCalls(tx, row, left);",
        wrong: "const { facts, inDoubt }: LeftCalls = { inDoubt: [], facts: {} };",
      },
    ],
    breaks: "nothing-runs-at-rest",
    scenario: "cancelled-and-left",
  },
  {
    what: "a release leaves calls running that no worker executes",
    patches: [
      {
        file: "store/sql/intents/run-intents.ts",
        right: "const { facts } = yield* leaveRunningCalls(tx, row, yield* leftOpen(tx.leases, row));",
        wrong: "const facts = {};",
      },
    ],
    breaks: "nothing-runs-at-rest",
    scenario: "cancelled-and-left",
  },
];

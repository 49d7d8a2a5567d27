// Queues, workers, `advance`, and runs that are deleted.

import type { Mutant } from "./mutant.ts";

export const QUEUE_MUTANTS: readonly Mutant[] = [
  {
    what: "a claim does not look whether another process has the run",
    patches: [
      {
        file: "core/run/claim-decision.ts",
        right: '  if (run.isHeld) return { kind: "busy" };\n',
        wrong: "",
      },
    ],
    breaks: "claimed-by-one",
    scenario: "advance",
    mode: "random",
  },
  {
    what: "a worker takes runs that other workers hold",
    patches: [
      {
        file: "core/run/claim-decision.ts",
        right: '  if (run.isHeld) return { kind: "busy" };\n',
        wrong: "",
      },
      {
        file: "store/sql/sql-reader.ts",
        right: "      .filter((run) => !this.leases.isHeld(run, now))\n",
        wrong: "",
      },
    ],
    breaks: "claimed-by-one",
    scenario: "queue-abandoned",
    mode: "random",
  },
  {
    what: "a claim allows one run more of a key than its limit",
    patches: [
      {
        file: "store/sql/intents/claim-limits.ts",
        right: "concurrencyKey)) >= limits.key)",
        wrong: "concurrencyKey)) > limits.key)",
      },
    ],
    breaks: "per-key-held",
    scenario: "queue-keys",
  },
  {
    what: "a claim ignores the limit of its queue",
    patches: [
      {
        file: "store/sql/intents/claim-limits.ts",
        right: 'if ((yield* count(RUNNING_IN_QUEUE, key, queue)) >= limits.queue) return "queue";',
        wrong: "",
      },
    ],
    breaks: "per-key-held",
    scenario: "queue-keys",
  },
  {
    what: "a run counts for its limits only from its second claim on",
    patches: [
      {
        file: "store/sql/intents/claim-limits.ts",
        right: `"SELECT count(*) AS n FROM runs WHERE status = 'running' AND run_key <> ?"`,
        wrong: `"SELECT count(*) AS n FROM runs WHERE status = 'running' AND epoch > 1 AND run_key <> ?"`,
      },
    ],
    breaks: "per-key-held",
    scenario: "queue-keys",
  },
  {
    what: "a fork is ready at once",
    patches: [
      { file: "store/sql/intents/fork-intents.ts", right: "isUnstarted: true", wrong: "isUnstarted: false" },
    ],
    breaks: "forks-wait-for-people",
    scenario: "fork-held",
  },
  {
    what: "a worker is not refused a fork that waits for a person",
    patches: [
      {
        file: "store/sql/intents/run-intents.ts",
        right:
          "options.onlyIfReady === true && (row.isUnstarted || (row.wakeAt !== null && row.wakeAt > tx.now));",
        wrong: "options.onlyIfReady === true && row.wakeAt !== null && row.wakeAt > tx.now;",
      },
    ],
    breaks: "forks-wait-for-people",
    scenario: "fork-held",
  },
  {
    what: "the same key is another run each time",
    patches: [
      {
        file: "engine/runner/run-selection.ts",
        right: "if (key !== undefined) return runIdOfKey(pipeline, key);",
        wrong: "if (key !== undefined) return runIdOfKey(pipeline, `${key} ${performance.now()}`);",
      },
    ],
    breaks: "enqueued-once",
    scenario: "queue-worker",
  },
  {
    what: "a worker does not look for runs that others have left",
    patches: [
      {
        file: "engine/worker/worker.ts",
        right: "const run = abandoned.next();",
        wrong: "const run = [abandoned.next()][1] ?? null;",
      },
    ],
    breaks: "abandoned-is-found",
    scenario: "queue-abandoned",
    schedule: "crash after store.claimRun 1",
  },
  {
    what: "a run that is handed back is not put into the queue",
    patches: [
      {
        file: "store/sql/tables/run-row.ts",
        right: "else if (!run.isUnstarted) run.readyAt ??= run.wakeAt ?? tx.now;",
        wrong: "else if (!run.isUnstarted && run.epoch === 0) run.readyAt ??= run.wakeAt ?? tx.now;",
      },
    ],
    breaks: "abandoned-is-found",
    scenario: "queue-worker",
  },
  {
    what: "a run that is called without a worker never wakes",
    patches: [
      {
        file: "engine/runner/advance-run.ts",
        right: "  if (found.wakeAt !== null) await store.wakeRun(runId);\n",
        wrong: "",
      },
    ],
    breaks: "wakes-when-due",
    scenario: "advance",
  },
  {
    what: "a call without a worker returns without giving the run back",
    patches: [
      {
        file: "engine/runner/advance-run.ts",
        right: 'if (outcome.kind === "claimed") await settled(store, runId, outcome.ended);',
        wrong: 'if (outcome.kind === "claimed") return { next: "ended", status: "succeeded" };',
      },
    ],
    breaks: "ends-or-waits",
    scenario: "advance",
  },
  {
    what: "a run is deleted without a tombstone",
    patches: [
      {
        file: "store/sql/intents/deletion-intent.ts",
        right: '  tx.write({\n    kind: "insert",\n    table: "tombstones",',
        wrong: '  void ({\n    kind: "insert",\n    table: "tombstones",',
      },
      {
        file: "store/sql/intents/deletion-intent.ts",
        right: "  if (stone === null) throw new Error(`Run ${runId} was deleted without a tombstone.`);\n",
        wrong: "",
      },
    ],
    breaks: "deleted-or-whole",
    scenario: "deletion",
    schedule: "crash before store.deleteRun 1",
  },
  {
    what: "the id of a deleted run is used again",
    patches: [
      {
        file: "store/sql/intents/run-creation.ts",
        right: "  yield* assertNotDeleted(runId);\n",
        wrong: "",
      },
    ],
    breaks: "deleted-or-whole",
    scenario: "deletion",
  },
];

// Transactions, blobs, the event log, and forks.

import type { Mutant } from "./mutant.ts";

export const STORE_MUTANTS: readonly Mutant[] = [
  {
    what: "an intent is acknowledged before its commit",
    patches: [
      {
        file: "store/sqlite/group-commit.ts",
        right: "if (committed.length > 0) this.#makeDurable();",
        wrong: `if (committed.length > 0)
      setTimeout(() => {
        try {
          if (this.#database.inTransaction) this.#database.run("COMMIT");
        } catch {}
      }, 4);`,
      },
      {
        file: "store/sqlite/group-commit.ts",
        right: '      this.#database.run("BEGIN IMMEDIATE");',
        wrong: `      if (this.#database.inTransaction) this.#database.run("COMMIT");
      this.#database.run("BEGIN IMMEDIATE");`,
      },
      {
        file: "store/sqlite/database.ts",
        right: '    this.run("BEGIN");\n',
        wrong: '    if (this.inTransaction) return read();\n    this.run("BEGIN");\n',
      },
    ],
    breaks: "journal-before-tools",
    scenario: "one-tool",
  },
  {
    what: "a blob is written after the commit of the receipt that refers to it",
    patches: [
      {
        file: "store/sql/tables/tool-call-rows.ts",
        right: "  if (blob !== null) putBlob(tx, run, blob);\n",
        wrong: `  if (blob !== null)
    setTimeout(() => {
      try {
        putBlob(tx, run, blob);
      } catch {}
    }, 200);
`,
      },
    ],
    breaks: "references-have-blobs",
    scenario: "blob",
    schedule: "crash after store.recordReceipt 1",
  },
  {
    what: "an artifact is stored without its bytes",
    patches: [
      {
        file: "store/sql/tables/artifact-rows.ts",
        right: "  putBlob(tx, run, { blobId: hash, bytes });\n",
        wrong: "",
      },
    ],
    breaks: "references-have-blobs",
    scenario: "artifacts-and-spec",
  },
  {
    what: "the event of a commit does not carry the hash of the one before it",
    patches: [
      {
        file: "store/sql/tables/run-row.ts",
        right: "const eventHash = chainHash(run.eventHash, seq, tx.now, type, text);",
        wrong:
          'const eventHash = chainHash(type === "turn.committed" ? NO_EVENT_HASH : run.eventHash, seq, tx.now, type, text);',
      },
    ],
    breaks: "events-verify",
    scenario: "one-tool",
  },
  {
    what: "a step finishes without an event",
    patches: [
      {
        file: "store/sql/intents/step-intents.ts",
        right: '  recordEvent(tx, run, "step.finished", {',
        wrong: '  if (run.runId === "") recordEvent(tx, run, "step.finished", {',
      },
    ],
    breaks: "events-verify",
    scenario: "plain-answer",
  },
  {
    what: "an event does not cover a group of columns that its intent changed",
    patches: [
      {
        file: "store/sql/covered-rows.ts",
        right: "    const isEmpty = values.every((value) => value === null);",
        wrong:
          '    if (suffix === ":state") continue;\n    const isEmpty = values.every((value) => value === null);',
      },
    ],
    breaks: "events-verify",
    scenario: "plain-answer",
  },
  {
    what: "the event of a run's row covers its lease, which renewals change without an event",
    patches: [
      {
        file: "store/sql/tables/run-columns.ts",
        right: "const columns = { ...originColumns(run.origin), ...stateColumns(run) };",
        wrong:
          "const columns = { ...originColumns(run.origin), ...stateColumns(run), ...leaseColumns(run) };",
      },
    ],
    breaks: "events-verify",
    scenario: "provider-outage",
  },
  {
    what: "a fork has keys that no call of it would have",
    patches: [
      {
        file: "store/sql/intents/fork-copy.ts",
        right: "return toolCallKey({ ...identity, runId: this.#run.runId, scope });",
        wrong: "return toolCallKey({ ...identity, runId: `${this.#parent.runId}+`, scope });",
      },
    ],
    breaks: "keys-fit-their-calls",
    scenario: "fork",
  },
];

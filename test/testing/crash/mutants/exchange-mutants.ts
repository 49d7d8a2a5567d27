// Conversations: who takes what, and when an exchange ends.

import type { Mutant } from "./mutant.ts";

export const EXCHANGE_MUTANTS: readonly Mutant[] = [
  {
    what: "a worker that wakes after another has begun the next exchange reads the mailbox for ever",
    patches: [
      {
        file: "core/turn/exchange-decision.ts",
        right: 'if (isComplete) return { kind: "reload" };',
        wrong: "void isComplete;",
      },
    ],
    breaks: "ends-or-waits",
    scenario: "conversation-queue",
    schedule: "pause after store.commitTurn 2; wake after store.openTurn 2",
    sqliteOnly: "While a server is asked, the other worker ends the exchange, and with it the loop.",
  },
  {
    what: "a turn takes a text in memory only: the store does not know which",
    patches: [
      {
        file: "store/sql/tables/exchange-rows.ts",
        right:
          "        taken_step: stepKey,\n        taken_turn: turnIndex,\n        exchange_no: exchangeNo,",
        wrong: "        taken_step: null,\n        taken_turn: null,\n        exchange_no: null,",
      },
    ],
    breaks: "messages-taken-once",
    scenario: "conversation-steer",
  },
  {
    what: "an answer is complete although its sender has said more",
    patches: [
      {
        file: "store/sql/intents/turn-intents.ts",
        right: 'if (!isStopped && (yield* hasJoining(run, exchange))) return "continues";',
        wrong: "void (isStopped || hasJoining);",
      },
      {
        file: "engine/turn/turn-executor.ts",
        right: "answer.isComplete && (joining.length === 0 || isStopped)",
        wrong: "answer.isComplete",
      },
    ],
    breaks: "exchange-ends-once",
    scenario: "conversation-late-steer",
  },
  {
    what: "a text belongs to the attempt that took it: the next one does not show it",
    patches: [
      {
        file: "engine/turn/loaded-conversation.ts",
        right: "    this.taken = stored.taken;\n",
        wrong: "    this.taken = [];\n",
      },
    ],
    breaks: "messages-taken-once",
    scenario: "conversation-queue",
  },
  {
    what: "the texts of two senders are in one exchange",
    patches: [
      {
        file: "store/sql/queries/exchange-queries.ts",
        right: 'joins: mode !== "queue" && row.text("sent_by") === openTo,',
        wrong: "joins: openTo !== null,",
      },
      {
        file: "store/sql/tables/exchange-rows.ts",
        right: "AND event IS NULL AND mode IN ('steer', 'interrupt') AND sent_by = ?",
        wrong: "AND event IS NULL AND (sent_by = ? OR 1 = 1)",
      },
    ],
    breaks: "one-sender-an-exchange",
    scenario: "conversation-two-senders",
  },
  {
    what: "a turn takes the newest text first",
    patches: [
      {
        file: "store/sql/tables/exchange-rows.ts",
        right: "WHERE run_key = ? AND status = 'waiting' AND event IS NULL ORDER BY message_no LIMIT 1`;",
        wrong:
          "WHERE run_key = ? AND status = 'waiting' AND event IS NULL ORDER BY message_no DESC LIMIT 1`;",
      },
      {
        file: "store/sql/queries/exchange-queries.ts",
        right: "AND event IS NULL ORDER BY message_no LIMIT",
        wrong: "AND event IS NULL ORDER BY message_no DESC LIMIT",
      },
    ],
    breaks: "messages-in-order",
    scenario: "conversation-queue",
  },
  {
    what: "the files of a message are written after its commit",
    patches: [
      {
        file: "store/sql/intents/message-intents.ts",
        right: "  for (const file of message.files ?? []) putBlob(tx, run, file);\n",
        wrong: `  for (const file of message.files ?? [])
    setTimeout(() => {
      try {
        putBlob(tx, run, file);
      } catch {}
    }, 2);
`,
      },
    ],
    breaks: "references-have-blobs",
    scenario: "conversation-files",
  },
  {
    what: "a later attempt of the model is shown a file without its bytes",
    patches: [
      {
        file: "engine/run/message-files.ts",
        right: '    return data === null ? leftOut(file, "gone") : { ...file, data };',
        wrong:
          '    if (data === null) return leftOut(file, "gone");\n    return { ...file, data: run.fence.epoch > 1 ? new Uint8Array() : data };',
      },
      {
        file: "engine/run/message-files.ts",
        right: 'type FileRun = RunWith<"store" | "runId" | "observe">;',
        wrong: 'type FileRun = RunWith<"store" | "runId" | "observe" | "fence">;',
      },
    ],
    breaks: "messages-taken-once",
    scenario: "conversation-files",
  },
  {
    what: "a text that the provider refused is not marked, and is sent again",
    patches: [
      {
        file: "store/sql/tables/exchange-rows.ts",
        right: '    ...(refused === "texts" ? { refused_texts: 1 } : {}),\n',
        wrong: "",
      },
    ],
    breaks: "messages-taken-once",
    scenario: "conversation-refused",
  },
  {
    what: "a stop ends the run",
    patches: [
      {
        file: "engine/steps/conversation-executor.ts",
        right: "    if (conversation.openCall !== null) return this.#turn(scope);\n",
        wrong:
          '    if (conversation.openCall !== null) return this.#turn(scope);\n    if ((await run.store.readRequests(run.runId)).stop) throw new ExchangeOver("stopped", "It stops.");\n',
      },
    ],
    breaks: "exchange-ends-once",
    scenario: "conversation-stop",
  },
  {
    what: "a new line of history begins before its summary is stored",
    patches: [
      {
        file: "engine/turn/compact-history.ts",
        right: "  const history = scope.conversation.past();\n",
        wrong:
          '  const history = scope.conversation.past();\n  await beginWith(scope, "A summary follows.", null);\n',
      },
    ],
    breaks: "compacted-once",
    scenario: "conversation-compaction",
    schedule: "crash before store.openSummary 1",
  },
  {
    what: "a summary that is stored is asked for again by the next worker",
    patches: [
      {
        file: "engine/steps/conversation-executor.ts",
        right: "if (compaction === null || conversation.tokens <= compaction.atTokens) return false;",
        wrong:
          "if (compaction === null) return false;\n    const isAgain = conversation.isCompacted && conversation.tokens === 0 && this.#exchange === 1;\n    if (!isAgain && conversation.tokens <= compaction.atTokens) return false;\n    if (isAgain && this.#reloads++ > 0) return false;",
      },
    ],
    breaks: "compacted-once",
    scenario: "conversation-compaction",
    schedule: "crash after store.compactHistory 1",
  },
  {
    what: "the worker that has compacted a history continues with the old one",
    patches: [
      {
        file: "engine/steps/conversation-executor.ts",
        right: 'if (outcome.kind === "compacted") return "reload";',
        wrong:
          'if (outcome.kind === "compacted") {\n        this.#uncompacted = { committed: conversation.committed, why: "It is." };\n        return scope;\n      }',
      },
    ],
    breaks: "compacted-once",
    scenario: "conversation-compaction",
    schedule: "crash before store.openTurn 1",
  },
];

// Waits that the clock and messages answer.

import type { Mutant } from "./mutant.ts";

export const WAIT_MUTANTS: readonly Mutant[] = [
  {
    what: "the clock answers a sleep before its time",
    patches: [
      {
        file: "store/sql/intents/clock-intents.ts",
        right: "if (run.wakeAt === null || run.wakeAt > tx.now) return run.wakeAt;",
        wrong: "if (run.wakeAt === null) return run.wakeAt;",
      },
      {
        file: "core/run/due-wait.ts",
        right: "if (dueAt !== null && dueAt <= now)",
        wrong: "if (dueAt !== null)",
      },
    ],
    breaks: "never-early",
    scenario: "sleep-step",
  },
  {
    what: "the second sleep of a step is taken for the first",
    patches: [
      {
        file: "engine/definition/waiting/wait-tools.ts",
        right: '  dedupe: "call",\n  identity: () => ({}),',
        wrong: '  dedupe: "effect",\n  identity: () => ({}),',
      },
    ],
    breaks: "never-early",
    scenario: "sleep-in-code",
  },
  {
    what: "a run that asks again for the same sleep opens another wait",
    patches: [
      {
        file: "store/sql/intents/wait-intents.ts",
        right: '  if (row.oneOf("status", WAIT_STATUSES) === "withdrawn") return false;',
        wrong: '  if (row.oneOf("status", WAIT_STATUSES) === "withdrawn" || kind === "time") return false;',
      },
    ],
    breaks: "due-computed-once",
    scenario: "sleep-step",
  },
  {
    what: "the clock answers again what it has answered before",
    patches: [
      {
        file: "store/sql/intents/wait-lookup.ts",
        right: `"SELECT * FROM waits WHERE run_key = ? AND status = 'open' ORDER BY wait_index"`,
        wrong: '"SELECT * FROM waits WHERE run_key = ? ORDER BY wait_index"',
      },
    ],
    breaks: "one-answer-a-wait",
    scenario: "approval-times-out",
  },
  {
    what: "a message is received and not marked as taken",
    patches: [
      {
        file: "store/sql/intents/message-intents.ts",
        right: '    changeRow(tx, run, "messages", { message_no: messageNo }, taken);\n',
        wrong: "    void taken;\n",
      },
    ],
    breaks: "messages-taken-once",
    scenario: "message-while-waiting",
  },
  {
    what: "a run ends without returning its messages",
    patches: [
      {
        file: "store/sql/intents/run-intents.ts",
        right: '  if (status !== "queued" && status !== "waiting") yield* returnMessages(tx, row);\n',
        wrong: "  void returnMessages;\n",
      },
    ],
    breaks: "accepted-or-returned",
    scenario: "message-while-waiting",
  },
  {
    what: "a run that sleeps has no time to wake at",
    patches: [
      {
        file: "store/sql/intents/wait-intents.ts",
        right: "run.wakeAt = hasOpen ? yield* nextWake(run) : null;",
        wrong: "run.wakeAt = null;",
      },
    ],
    breaks: "wakes-when-due",
    scenario: "receive-times-out",
  },
  {
    what: "silence approves",
    patches: [
      {
        file: "store/sql/intents/clock-intents.ts",
        right: "return { answer: { approved: false, why: onDue.why }, receipt: null };",
        wrong: "return { answer: { approved: true }, receipt: null };",
      },
    ],
    breaks: "runs-as-approved",
    scenario: "approval-times-out",
  },
  {
    what: "the event of a message does not record the receipt that it wrote",
    patches: [
      {
        file: "store/sql/intents/message-intents.ts",
        right: "received.push({ ...facts, message: messageNo, wait: wait.index });",
        wrong: "void facts;\n    received.push({ message: messageNo, wait: wait.index });",
      },
    ],
    breaks: "ledger-transitions",
    scenario: "message-while-waiting",
  },
];

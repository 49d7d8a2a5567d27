// The session: the events of calls, and the state that a new lineage starts from.

import type { Mutant } from "./mutant.ts";

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    what: "the session events of a replayed receipt are applied twice",
    patches: [
      {
        file: "engine/turn/turn-call-run.ts",
        right: "        return this.#take(item, plan.receipt, plan.receipt.tokens);",
        wrong: `        return this.#take(
          item,
          { ...plan.receipt, sessionEvents: plan.receipt.sessionEvents.flatMap((each) => [each, each]) },
          plan.receipt.tokens,
        );`,
      },
    ],
    breaks: "same-end",
    scenario: "planning",
    schedule: "crash after store.recordReceipt 1",
  },
  {
    what: "the session events of a replayed receipt are not applied",
    patches: [
      {
        file: "engine/turn/turn-call-run.ts",
        right: "        return this.#take(item, plan.receipt, plan.receipt.tokens);",
        wrong:
          "        return this.#take(item, { ...plan.receipt, sessionEvents: [] }, plan.receipt.tokens);",
      },
    ],
    breaks: "same-end",
    scenario: "planning",
    schedule: "crash after store.recordReceipt 1",
  },
  {
    what: "calls that came after a late checkpoint count as part of it",
    patches: [
      {
        file: "store/sql/intents/checkpoint-intents.ts",
        right: "eventSeq: run.eventSeq + 1 }",
        wrong: "eventSeq: run.eventSeq + 9 }",
      },
    ],
    breaks: "same-end",
    scenario: "async-checkpoints",
    schedule: "crash before store.saveCheckpoint 2",
  },
  {
    what: "a late checkpoint has a session that its calls did not change",
    patches: [
      {
        file: "engine/turn/turn-session.ts",
        right: "    const snapshot = keeper.session.snapshot(planned.state).toJSON();",
        wrong: "    const snapshot = keeper.session.snapshot(new Map()).toJSON();",
      },
    ],
    breaks: "same-end",
    scenario: "async-checkpoints",
    schedule: "crash after store.saveCheckpoint 2",
  },
  {
    what: "the store keeps the session of the abandoned lineage",
    patches: [
      {
        file: "store/sql/intents/lineage-intents.ts",
        right: "  yield* writeSlices(tx, run, slices);",
        wrong: "  yield* writeSlices(tx, run, slices.slice(0, 0));",
      },
    ],
    breaks: "same-end",
    scenario: "started-over",
    schedule: "crash after store.beginLineage 1",
  },
  {
    what: "a worker continues with the session of the abandoned lineage",
    patches: [
      {
        file: "engine/turn/begin-lineage.ts",
        right: "  run.keeper.markRolledBack(rolledBack);\n",
        wrong: "",
      },
    ],
    breaks: "same-end",
    scenario: "started-over",
    schedule: "crash after store.commitTurn 2",
  },
];

// The session: what calls told it, and what it goes back to.

import type { Mutant } from "./mutant.ts";

export const SESSION_MUTANTS: readonly Mutant[] = [
  {
    what: "what a receipt tells the session is told twice where it is replayed",
    patches: [
      {
        file: "engine/turn/turn-calls.ts",
        right: "        return this.#take(item, judgement.receipt, judgement.receipt.tokens);",
        wrong: `        return this.#take(
          item,
          { ...judgement.receipt, sessionEvents: judgement.receipt.sessionEvents.flatMap((each) => [each, each]) },
          judgement.receipt.tokens,
        );`,
      },
    ],
    breaks: "same-end",
    scenario: "planning",
    schedule: "crash after store.recordReceipt 1",
  },
  {
    what: "what a receipt tells the session is not told where it is replayed",
    patches: [
      {
        file: "engine/turn/turn-calls.ts",
        right: "        return this.#take(item, judgement.receipt, judgement.receipt.tokens);",
        wrong:
          "        return this.#take(item, { ...judgement.receipt, sessionEvents: [] }, judgement.receipt.tokens);",
      },
    ],
    breaks: "same-end",
    scenario: "planning",
    schedule: "crash after store.recordReceipt 1",
  },
  {
    what: "the store keeps what the session learned in the line of history that is left",
    patches: [
      {
        file: "store/sqlite/intents/lineage-intents.ts",
        right: "  return writeSlices(database, run, slices);",
        wrong: "  return writeSlices(database, run, slices.slice(0, 0));",
      },
    ],
    breaks: "same-end",
    scenario: "started-over",
    schedule: "crash after store.beginLineage 1",
  },
  {
    what: "a worker goes on with the session of the line of history that it has left",
    patches: [
      {
        file: "engine/turn/abandon-turn.ts",
        right: "  run.keeper.rollBack(rolledBack);\n",
        wrong: "",
      },
    ],
    breaks: "same-end",
    scenario: "started-over",
    schedule: "crash after store.commitTurn 2",
  },
];

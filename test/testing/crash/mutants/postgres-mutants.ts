// Bugs in the driver of PostgreSQL. A process that works again finds what it did, so the explorer does not see that an
// intent ran twice: each bug has a check of its own.

import type { Patch } from "../../../patched-sources.ts";
import type { Mutant } from "./mutant.ts";
import {
  aLostAnswer,
  anOlderSession,
  aRenewalOfAnEarlierEpoch,
  aReplacedHead,
  aRolledBackCommit,
  aYoungerSession,
  type PostgresCheck,
} from "./postgres-checks.ts";

const COMMITS = "store/sql/planned/planned-commits.ts";
const STATEMENTS = "store/postgres/write-statements.ts";
const SESSION = "store/postgres/owner-session.ts";

const HEAD_NOT_COMPARED: Patch = {
  file: STATEMENTS,
  right: "AND runs.event_hash = new.from_event_hash AND",
  wrong: "AND",
};

/** After a lost answer the intents run again, as if nothing had been written. */
const PLANNED_AGAIN: Patch = {
  file: COMMITS,
  right: "if (this.#server.isConnectionLost(error)) await this.#settle(plans, error);",
  wrong: "if (this.#server.isConnectionLost(error)) await this.#askInRounds(plans);",
};

export type CheckedPostgresMutant = Pick<Mutant, "what" | "patches"> & { readonly check: PostgresCheck };

/** Each is noticed by a check of its own. */
export const CHECKED_POSTGRES_MUTANTS: readonly CheckedPostgresMutant[] = [
  {
    what: "an intent whose answer was lost is run again as if it had failed",
    patches: [PLANNED_AGAIN],
    check: aLostAnswer,
  },
  {
    what: "a COMMIT that is answered with ROLLBACK counts as done",
    patches: [
      {
        file: "store/postgres-wire/round-trip.ts",
        right: 'if (asked === "COMMIT" && text !== "COMMIT")',
        wrong: 'if (asked === "COMMIT" && text === "")',
      },
    ],
    check: aRolledBackCommit,
  },
  {
    what: "the last event of a run is not compared",
    patches: [HEAD_NOT_COMPARED],
    check: aReplacedHead,
  },
  {
    what: "a free owner lock counts for a younger session although the server may have dropped all sessions",
    patches: [
      {
        file: SESSION,
        right: "isNewcomer ? LOOKS_OF_A_NEWCOMER : Number.POSITIVE_INFINITY",
        wrong: "isNewcomer ? LOOKS_OF_A_NEWCOMER : LOOKS",
      },
    ],
    check: aYoungerSession,
  },
  {
    what: "a free owner lock counts for no session",
    patches: [{ file: SESSION, right: '? "gone" : "unknown"', wrong: '? "unknown" : "unknown"' }],
    check: anOlderSession,
  },
  {
    what: "a renewal extends a lease of another epoch",
    patches: [{ file: STATEMENTS, right: " AND runs.epoch = new.epoch", wrong: "" }],
    check: aRenewalOfAnEarlierEpoch,
  },
];

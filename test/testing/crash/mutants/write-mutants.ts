// How the SQLite driver writes what intents give it. On one SQLite file, reads and writes share a transaction, and
// several of its comparisons guard the same thing: so each of these bugs has a check that takes them apart.

import type { Patch } from "../../../patched-sources.ts";
import type { CheckedMutant } from "./mutant.ts";
import {
  aChangedTrace,
  anEpochTwice,
  aRenewalBetween,
  aRenewalOfAnEarlierClaim,
  aReplacedLog,
} from "./write-checks.ts";

const STATEMENTS = "store/sqlite/write-statements.ts";
const COVERED = "store/sql/covered-rows.ts";

/** An intent changes the run even if its log no longer ends with the event that the intent has read. */
export const HASH_NOT_COMPARED: readonly [Patch, Patch] = [
  { file: STATEMENTS, right: '"|", "run_key", "event_hash"];', wrong: '"|", "run_key"];' },
  { file: STATEMENTS, right: "write.key, write.previousHash];", wrong: "write.key];" },
];

/** A fence is compared with the epoch alone. */
export const EPOCH_OF_ANY_OWNER: Patch = {
  file: "store/sql/tables/fence.ts",
  right: "run.epoch === fence.epoch && run.owner === leases.owner",
  wrong: "run.epoch === fence.epoch && run.owner !== null && leases !== null",
};

export const WRITE_MUTANTS: readonly CheckedMutant[] = [
  {
    what: "an intent changes a run whose log has as many events as the intent knows, but other ones",
    patches: HASH_NOT_COMPARED,
    check: aReplacedLog,
  },
  {
    what: "an intent writes back the lease that it read, over a renewal",
    patches: [
      {
        file: "store/sql/tables/run-row.ts",
        right: "const lease = run.isLeaseNew ? leaseColumns(run) : {};",
        wrong: "const lease = leaseColumns(run);",
      },
    ],
    check: aRenewalBetween,
  },
  {
    what: "a renewal extends a lease of the same owner under another epoch",
    patches: [{ file: STATEMENTS, right: "AND owner = ? AND epoch = ?", wrong: "AND owner = ? AND ? > 0" }],
    check: aRenewalOfAnEarlierClaim,
  },
  {
    what: "an epoch counts for any owner",
    patches: [EPOCH_OF_ANY_OWNER],
    check: anEpochTwice,
  },
  {
    what: "no event covers one group of columns",
    patches: [
      {
        file: COVERED,
        right: "    if (isWholeRow || values.some((value) => value !== null)) covered",
        wrong:
          '    if (suffix !== ":trace" && (isWholeRow || values.some((value) => value !== null))) covered',
      },
      {
        file: COVERED,
        right: "    const isEmpty = values.every((value) => value === null);",
        wrong:
          '    if (suffix === ":trace") continue;\n    const isEmpty = values.every((value) => value === null);',
      },
    ],
    check: aChangedTrace,
  },
];

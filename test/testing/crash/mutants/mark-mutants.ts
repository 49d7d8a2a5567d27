// Who trusts that a mark is missing where it must not. What shows each of them needs more than processes that die: files that
// are replaced or cut short, another boot, more effects at once than there are marks. So each has a check of its own.

import {
  aMendedFile,
  anEarlierTry,
  anotherBoot,
  anotherFile,
  aShortenedFile,
  aSilentOwner,
  goodbye,
  type MarkCheck,
  noRoomForTheMark,
} from "./mark-checks.ts";
import type { Mutant } from "./mutant.ts";

export type MarkMutant = Pick<Mutant, "what" | "patches"> & { readonly check: MarkCheck };

const LEASES = "store/sqlite/leases.ts";
const MARKS = "store/sqlite/sent-marks.ts";

export const MARK_MUTANTS: readonly MarkMutant[] = [
  {
    what: "the marks of an owner are trusted whose lease ran out",
    patches: [
      { file: LEASES, right: 'if (this.#lock.livenessOf(owner) !== "dead") return ANYTHING;', wrong: "" },
    ],
    check: aSilentOwner,
  },
  {
    what: "a goodbye says of everything that it was not sent",
    patches: [
      {
        file: LEASES,
        right: "maySent: (effect) => this.#sent.get(placeOf(runId, effect)) === effect.attempt,",
        wrong: "maySent: () => false,",
      },
    ],
    check: goodbye,
  },
  {
    what: "a socket of another boot that refuses counts as a death",
    patches: [
      {
        file: "store/sqlite/owner-lock.ts",
        right:
          'if (answer !== "refused" || bootOf(id) !== bootId() || bootOf(id) === NO_BOOT) return "unknown";',
        wrong: 'if (answer !== "refused") return "unknown";',
      },
    ],
    check: anotherBoot,
  },
  {
    what: "another file of that name is taken for the owner's",
    patches: [
      {
        file: MARKS,
        right: "idOf(stat) === identity && stat.size === BigInt(SIZE)",
        wrong: "stat.size === BigInt(SIZE)",
      },
    ],
    check: anotherFile,
  },
  {
    what: "a file that was cut short is read as far as it goes",
    patches: [
      {
        file: MARKS,
        right: "idOf(stat) === identity && stat.size === BigInt(SIZE)",
        wrong: "idOf(stat) === identity",
      },
      {
        file: MARKS,
        right: "if (!isOurs) return null;",
        wrong: "",
      },
    ],
    check: aShortenedFile,
  },
  {
    what: "a file that was cut short, and written to since, is taken for a whole one",
    patches: [{ file: MARKS, right: " && bytes.lastIndexOf(END) === END_AT", wrong: "" }],
    check: aMendedFile,
  },
  {
    what: "an effect leaves although its mark could not be written",
    patches: [
      {
        file: "store/sqlite/sqlite-store.ts",
        right: "if (this.leases.mark(fence.runId, fence.epoch, effect)) return { end, withdraw };",
        wrong:
          "this.leases.mark(fence.runId, fence.epoch, effect);\n    if (end !== null) return { end, withdraw };",
      },
    ],
    check: noRoomForTheMark,
  },
  {
    what: "that the last try was not sent clears the doubt about an earlier one",
    patches: [
      {
        file: "engine/call/call-decision.ts",
        right: "wasNotApplied: lastTold && !tries.some(mayHaveHappened) && !isSecretLost,",
        wrong: "wasNotApplied: lastTold && !tries.slice(-1).some(mayHaveHappened) && !isSecretLost,",
      },
    ],
    check: anEarlierTry,
  },
];

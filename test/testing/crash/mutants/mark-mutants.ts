// Code that trusts a missing sent mark where it must not. To show these bugs takes more than crashes: files that are
// replaced or truncated, another boot, more effects at once than there are marks. So each has its own check.

import {
  anEarlierAttempt,
  anExtendedFile,
  anotherBoot,
  anotherFile,
  aShortenedFile,
  aSilentOwner,
  gracefulClose,
  noRoomForTheMark,
} from "./mark-checks.ts";
import type { CheckedMutant } from "./mutant.ts";

const LEASES = "store/sql/leases.ts";
const MARKS = "store/sqlite/sent-marks.ts";

export const MARK_MUTANTS: readonly CheckedMutant[] = [
  {
    what: "the marks of an owner are trusted although only its lease expired",
    patches: [
      {
        file: LEASES,
        right: ' !== "dead") return ANYTHING;',
        wrong: ' === "alive" && owner === "") return ANYTHING;',
      },
    ],
    check: aSilentOwner,
  },
  {
    what: "a graceful close records every effect as not sent",
    patches: [
      {
        file: LEASES,
        right: "mayHaveSent: (effect) => this.#sent.get(placeOf(runId, effect)) === effect.attempt,",
        wrong: "mayHaveSent: () => false,",
      },
    ],
    check: gracefulClose,
  },
  {
    what: "a refusing socket of another boot counts as proof of death",
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
    what: "another file of the same name is trusted as the owner's",
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
    what: "a truncated file is trusted as far as it goes",
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
    what: "a file that was truncated and then extended is trusted",
    patches: [{ file: MARKS, right: " && bytes.lastIndexOf(END) === END_AT", wrong: "" }],
    check: anExtendedFile,
  },
  {
    what: "an effect is sent although its mark could not be written",
    patches: [
      {
        file: "store/sql/sql-store.ts",
        right: "if (this.leases.mark(fence.runId, fence.epoch, effect)) return { end, withdraw };",
        wrong:
          "this.leases.mark(fence.runId, fence.epoch, effect);\n    if (end !== null) return { end, withdraw };",
      },
    ],
    check: noRoomForTheMark,
  },
  {
    what: "an unsent last attempt clears the doubt about an earlier one",
    patches: [
      {
        file: "engine/call/call-decision.ts",
        right: "wasNotApplied: isLastAttemptRecorded && !attempts.some(mayHaveHappened) && !isSecretLost,",
        wrong:
          "wasNotApplied: isLastAttemptRecorded && !attempts.slice(-1).some(mayHaveHappened) && !isSecretLost,",
      },
    ],
    check: anEarlierAttempt,
  },
];

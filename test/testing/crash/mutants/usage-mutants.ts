// Reservations, charges and refunds.

import type { Mutant } from "./mutant.ts";

export const USAGE_MUTANTS: readonly Mutant[] = [
  {
    what: "an answer is charged twice",
    patches: [
      {
        file: "store/sql/tables/model-calls.ts",
        right: "run.quota = run.quota.reclaim(reserved, charge.amount);",
        wrong: `run.quota = run.quota.reclaim(reserved, {
    tokens: charge.amount.tokens * 2,
    microDollars: charge.amount.microDollars * 2,
  });`,
      },
    ],
    breaks: "usage-exact",
    scenario: "plain-answer",
  },
  {
    what: "a reservation is refunded twice",
    patches: [
      {
        file: "core/usage/quota.ts",
        right: "tokens: this.reserved.tokens - estimate.tokens,",
        wrong: "tokens: Math.max(0, this.reserved.tokens - 2 * estimate.tokens) + 0 * actual.tokens,",
      },
      {
        file: "core/usage/quota.ts",
        right: "return new Quota(this.limit, addAmount(this.charged, actual), reserved);",
        wrong: `const refund = Math.max(0, estimate.tokens - actual.tokens);
    const charged = { ...this.charged, tokens: Math.max(0, this.charged.tokens + actual.tokens - refund) };
    return new Quota(this.limit, charged, reserved);`,
      },
    ],
    breaks: "usage-exact",
    scenario: "plain-answer",
  },
  {
    what: "a claim does not charge for the request that the dead worker has sent",
    patches: [
      {
        file: "store/sql/intents/run-intents.ts",
        right: "const chargedAsLost = yield* settleOpenCalls(tx, row, left);",
        wrong: "const chargedAsLost = yield* settleOpenCalls(tx, row, NOTHING_OPEN);",
      },
    ],
    breaks: "usage-exact",
    scenario: "plain-answer",
  },
  {
    what: "a lost request is charged twice",
    patches: [
      {
        file: "store/sql/intents/left-open.ts",
        right:
          '    const charge = chargeFor({ kind: isLost ? "unanswered" : "not_sent" }, record.reserved, () => NOTHING);',
        wrong: `    const { tokens, microDollars } = record.reserved;
    const end = { kind: isLost ? "unanswered" : "not_sent" } as const;
    const charge = chargeFor(end, { tokens: 2 * tokens, microDollars: 2 * microDollars }, () => NOTHING);`,
      },
    ],
    breaks: "usage-exact",
    scenario: "plain-answer",
  },
  {
    what: "a request without an answer costs nothing",
    patches: [
      {
        file: "engine/turn/model-call.ts",
        right: 'return isUncharged(error.details) ? { kind: "rejected" } : { kind: "unanswered" };',
        wrong: 'return isUncharged(error.details) ? { kind: "rejected" } : { kind: "rejected" };',
      },
    ],
    breaks: "usage-exact",
    scenario: "provider-faults",
  },
  {
    what: "a refused request is charged",
    patches: [
      {
        file: "engine/turn/model-call.ts",
        right: 'return isUncharged(error.details) ? { kind: "rejected" } : { kind: "unanswered" };',
        wrong: 'return isUncharged(error.details) ? { kind: "unanswered" } : { kind: "unanswered" };',
      },
    ],
    breaks: "usage-exact",
    scenario: "provider-outage",
  },
  {
    what: "a run gives up during an outage",
    patches: [
      {
        file: "core/turn/model-retry.ts",
        right: "  if (isOutage(details)) {",
        wrong: "  if (isOutage(details) && attempts.refusals < 3) {",
      },
    ],
    breaks: "ends-or-waits",
    scenario: "provider-outage",
  },
  {
    what: "a request after an outage is sent under the reservation of the refused one",
    patches: [
      {
        file: "engine/turn/model-call.ts",
        right: "    scope.conversation.openCall = null;\n    emitCharge",
        wrong: "    emitCharge",
      },
    ],
    breaks: "usage-exact",
    scenario: "provider-outage",
  },
  {
    what: "a release leaves a reservation open",
    patches: [
      {
        file: "store/sql/intents/run-intents.ts",
        right: "  yield* settleOpenCalls(tx, row, lost === null ? NOTHING_OPEN : ANYTHING);\n",
        wrong: "",
      },
    ],
    breaks: "reservations-balance",
    scenario: "cancel",
    schedule: "crash after store.releaseRun 1",
  },
  {
    what: "the charge is not the usage that the provider reported",
    patches: [
      {
        file: "core/usage/usage.ts",
        right: ': { basis: "provider", amount, usage };',
        wrong: ': { basis: "provider", amount: reserved, usage };',
      },
    ],
    breaks: "usage-exact",
    scenario: "plain-answer",
  },
];

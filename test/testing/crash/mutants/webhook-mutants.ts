// Webhooks: what is recorded, claimed and sent.

import type { Mutant } from "./mutant.ts";

const INTENTS = "store/sql/webhooks/webhook-intents.ts";

export const WEBHOOK_MUTANTS: readonly Mutant[] = [
  {
    what: "the place up to which the log was read is stored one commit before the deliveries",
    patches: [
      {
        file: "store/sql/sql-webhooks.ts",
        right: "intents.recordDeliveries(tx, this.driver.changeLog)",
        wrong: "intents.recordDeliveries(tx, this.driver.changeLog, this)",
      },
      {
        file: INTENTS,
        right: 'const WEBHOOKS = "webhooks";\n',
        wrong: 'const WEBHOOKS = "webhooks";\nconst HELD = new WeakMap<object, readonly NewDelivery[]>();\n',
      },
      {
        file: INTENTS,
        right: "recordDeliveries(tx: Transaction, log: ChangeLog)",
        wrong: "recordDeliveries(tx: Transaction, log: ChangeLog, store: object)",
      },
      {
        file: INTENTS,
        right: "  for (const each of deliveries) insertDelivery(tx, each);\n",
        wrong:
          "  for (const each of HELD.get(store) ?? []) insertDelivery(tx, each);\n  HELD.set(store, deliveries);\n",
      },
    ],
    breaks: "webhook-never-lost",
    scenario: "webhook",
    schedule: "crash after store.recordDeliveries 1",
  },
  {
    what: "a message counts as received before it is sent, until the receiver has refused it",
    patches: [
      {
        file: "server/webhooks/webhook-sender.ts",
        right: `    const outcome = await requestWebhook(means, webhook, delivery);
    const { webhookId, deliveryId, attempts } = delivery;
    await store.endDelivery({ webhookId, deliveryId, attempt: attempts, outcome });
`,
        wrong: `    const { webhookId, deliveryId, attempts } = delivery;
    const received = { kind: "delivered", status: 200 } as const;
    await store.endDelivery({ webhookId, deliveryId, attempt: attempts, outcome: received });
    const outcome = await requestWebhook(means, webhook, delivery);
    if (outcome.kind !== "delivered") await store.sendAgain(webhookId, deliveryId);
`,
      },
    ],
    breaks: "webhook-never-lost",
    scenario: "webhook",
    schedule: "crash before webhook 1",
  },
  {
    what: "a message that a sender has claimed is never due again unless the sender says so",
    patches: [{ file: INTENTS, right: "next_at: nextAt,", wrong: "next_at: null," }],
    breaks: "webhook-never-lost",
    scenario: "webhook",
    schedule: "crash after store.claimDeliveries 1",
  },
];

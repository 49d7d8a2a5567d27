// A run that people outside are to know about.

import { EVERYTHING } from "../../../../src/core/access/scope.ts";
import type { WebhookEvent } from "../../../../src/core/webhook/webhook-events.ts";
import { secretCheck } from "../../../../src/core/webhook/webhook-signature.ts";
import type { WebhookFetch } from "../../../../src/server/webhooks/webhook-request.ts";
import { secretOf } from "../../../../src/server/webhooks/webhook-secret.ts";
import { WebhookSender } from "../../../../src/server/webhooks/webhook-sender.ts";
import type { Store } from "../../../../src/store/store.ts";
import { type ProcessTools, type Scenario, workUntilDone } from "../../../../src/testing/crash/scenario.ts";
import { asks, charge, errandAgent, STAND_INS } from "./errand-tools.ts";

const WEBHOOK = "w-1";

/** What the log of a run asks for. The others are a matter of time, or of budgets. */
const EVENTS: readonly WebhookEvent[] = [
  "wait.opened",
  "wait.answered",
  "run.succeeded",
  "run.failed",
  "call.in_doubt",
];

/**
 * A run waits for an approval, and succeeds. Each process works on it, and is a sender too, as a server with a worker is. The
 * receiver refuses the first message when it arrives first.
 */
export function webhook(): Scenario {
  const scenario: Scenario = {
    name: "webhook",
    pipeline: errandAgent([asks(["charge", "a"]), { text: "Charged." }], {
      charge: { ...charge, approval: true },
    }),
    input: "Charge a.",
    tools: STAND_INS,
    act: async (tools) => {
      await addWebhook(tools.store);
      const answer: ProcessTools["answer"] = async (waits) => {
        await sendAll(tools);
        await tools.answer(waits);
      };
      const result = await workUntilDone(scenario, { ...tools, answer });
      await sendAll(tools);
      return result;
    },
  };
  return scenario;
}

async function addWebhook(store: Store): Promise<void> {
  await store.addWebhook({
    webhookId: WEBHOOK,
    url: "https://example.com/pawl",
    events: EVENTS,
    scope: EVERYTHING,
    content: true,
    secretCheck: secretCheck(await secretOf(store, WEBHOOK)),
    createdBy: "ann",
  });
}

/** Looks until nothing is to be sent any more. What another process has claimed is waited for. */
async function sendAll(tools: ProcessTools): Promise<void> {
  const { store } = tools;
  const { clock } = tools.options;
  const errors: unknown[] = [];
  const sender = new WebhookSender({
    store,
    clock,
    random: () => 0,
    url: "https://pawl.example.com",
    fetch: receiverOf(tools),
    onError: (error) => errors.push(error),
  });
  for (;;) {
    await sender.look();
    await sender.idle();
    if (errors.length > 0) throw errors[0];
    const times = (await store.listDeliveries(WEBHOOK)).flatMap(({ nextAt }) => nextAt ?? []);
    if (times.length === 0) return;
    await clock.sleep(Math.max(0, Math.min(...times) - clock.now()));
  }
}

function receiverOf({ post }: ProcessTools): WebhookFetch {
  return () => async (url, init) => {
    const id = new Headers(init?.headers).get("webhook-id") ?? "";
    const body = typeof init?.body === "string" ? init.body : "";
    const isBusy = (arrivedBefore: number) => arrivedBefore === 0 && body.includes('"wait.opened"');
    const status = await post({ url: String(url), id, body }, (before) => (isBusy(before) ? 503 : 200));
    return new Response(null, { status });
  };
}

import { randomUUID } from "node:crypto";
import { scopeText } from "../../../core/access/scope.ts";
import { decisionOf } from "../../../core/person.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "../../../core/webhook/webhook-events.ts";
import { secretCheck } from "../../../core/webhook/webhook-signature.ts";
import { newWebhookId, secretOf } from "../../../server/webhooks/webhook-secret.ts";
import type { Store, WebhookDelivery, WebhookRecord } from "../../../store/store.ts";
import type { CliContext } from "../../context/cli-context.ts";
import type { Command, CommandInput, CommandResult } from "../../context/command.ts";
import { cleanLine, paragraph } from "../../context/terminal-text.ts";
import { WrongUseError } from "../../context/wrong-use-error.ts";
import { withExistingStore } from "../../run/command-store.ts";
import { BY_OPTION, personOf } from "../../screen/acting-person.ts";
import { formatAgo, formatTime } from "../../screen/format.ts";
import { type Column, formatTable } from "../../screen/table.ts";
import { note, SCOPE_OPTIONS, scopeOf } from "./scope-options.ts";

const WEBHOOK = { name: "id", summary: "its id, as `pawl webhook ls` shows it" } as const;

export const webhookAdd: Command = {
  name: "webhook add",
  summary: "Send events of runs to this address; prints the secret that signs them, once",
  arguments: [{ name: "url", summary: "an https address" }],
  options: [
    {
      flags: "--event <name>",
      summary: "only this event: wait.opened (default: all)",
      isRepeatable: true,
      choices: WEBHOOK_EVENTS,
    },
    ...SCOPE_OPTIONS,
    { flags: "--content", summary: "also send questions, arguments and errors" },
    BY_OPTION,
  ],
  example: "pawl webhook add https://example.com/pawl --event wait.opened --event run.failed",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const webhookId = newWebhookId();
      const secret = await secretOf(store, webhookId);
      const webhook = await store.addWebhook({
        webhookId,
        url: input.argument("url"),
        events: eventsOf(input),
        scope: scopeOf(input),
        content: input.flag("content"),
        secretCheck: secretCheck(secret),
        createdBy: decisionOf(personOf(context, input), 0).name,
      });
      await note(context, input, store, { act: "webhook.add", target: webhookId, problem: null });
      const text = `Webhook ${webhookId} gets ${webhook.events.join(", ")} of ${scopeText(webhook.scope)}. \`pawl serve\` sends it. This secret is shown once: give it to the receiver.`;
      return withSecret(context, text, secret, webhook);
    }),
};

function eventsOf(input: CommandInput): readonly WebhookEvent[] {
  const given = input.list("event");
  return given.length === 0 ? WEBHOOK_EVENTS : WEBHOOK_EVENTS.filter((event) => given.includes(event));
}

export const webhookList: Command = {
  name: "webhook ls",
  summary: "List the webhooks without their secrets, or the last deliveries of one",
  arguments: [{ ...WEBHOOK, isOptional: true }],
  options: [],
  example: "pawl webhook ls wh_1f0c9e77a3b2d4e6",
  execute: (context, input) =>
    withExistingStore(
      context,
      input,
      async (store) => {
        const id = input.optionalArgument("id");
        if (id === null) {
          const webhooks = await store.listWebhooks();
          const none = "There are no webhooks: `pawl webhook add https://example.com/pawl` adds one.";
          return listed(context, { webhooks }, webhooks, webhookColumns(context), none);
        }
        await required(store, id);
        const deliveries = await store.listDeliveries(id);
        const none = "Nothing was to be sent to it: `pawl webhook test` sends a test.";
        return listed(context, { deliveries }, deliveries, deliveryColumns(context), none);
      },
      { readOnly: true },
    ),
};

export const webhookRemove: Command = {
  name: "webhook rm",
  summary: "Remove a webhook, with what was not sent",
  arguments: [WEBHOOK],
  options: [BY_OPTION],
  example: "pawl webhook rm wh_1f0c9e77a3b2d4e6",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const id = input.argument("id");
      const isRemoved = await store.removeWebhook(id);
      const problem = isRemoved ? null : "webhook_not_found";
      await note(context, input, store, { act: "webhook.rm", target: id, problem });
      if (!isRemoved) throw missing(id);
      return said(context, { removed: id }, `Webhook ${id} is removed.`);
    }),
};

export const webhookRotate: Command = {
  name: "webhook rotate",
  summary: "Replace the secret of a webhook; for a day, the one before it signs as well",
  arguments: [WEBHOOK],
  options: [BY_OPTION],
  example: "pawl webhook rotate wh_1f0c9e77a3b2d4e6",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const id = input.argument("id");
      const generation = (await required(store, id)).generation + 1;
      const secret = await secretOf(store, id, generation);
      const webhook = await store.rotateWebhook(id, { generation, secretCheck: secretCheck(secret) });
      if (webhook === null) throw missing(id);
      await note(context, input, store, { act: "webhook.rotate", target: id, problem: null });
      const text = `Webhook ${id} has a new secret. For a day, messages are signed with both. It is shown once: give it to the receiver.`;
      return withSecret(context, text, secret, webhook);
    }),
};

export const webhookTest: Command = {
  name: "webhook test",
  summary: "Let `pawl serve` send a test to a webhook",
  arguments: [WEBHOOK],
  options: [BY_OPTION],
  example: "pawl webhook test wh_1f0c9e77a3b2d4e6",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const id = input.argument("id");
      await required(store, id);
      const delivery = await store.testWebhook(id, `test:${randomUUID()}`);
      await note(context, input, store, { act: "webhook.test", target: id, problem: null });
      return queued(context, id, delivery);
    }),
};

export const webhookSendAgain: Command = {
  name: "webhook send-again",
  summary: "Let `pawl serve` send a delivery again, under the same id",
  arguments: [WEBHOOK, { name: "delivery", summary: "its id, as `pawl webhook ls <id>` shows it" }],
  options: [BY_OPTION],
  example: "pawl webhook send-again wh_1f0c9e77a3b2d4e6 report-7:42",
  execute: (context, input) =>
    withExistingStore(context, input, async (store) => {
      const [id, deliveryId] = [input.argument("id"), input.argument("delivery")];
      const { disabledAt } = await required(store, id);
      const delivery = await store.sendAgain(id, deliveryId);
      if (delivery === null && disabledAt === null)
        throw new WrongUseError(
          `Webhook ${cleanLine(id)} has no delivery ${cleanLine(deliveryId)}: \`pawl webhook ls ${cleanLine(id)}\` lists them.`,
        );
      await note(context, input, store, { act: "webhook.send-again", target: id, problem: null });
      return queued(context, id, delivery);
    }),
};

async function required(store: Store, id: string): Promise<WebhookRecord> {
  const webhook = await store.getWebhook(id);
  if (webhook === null) throw missing(id);
  return webhook;
}

function missing(id: string): WrongUseError {
  return new WrongUseError(`There is no webhook ${cleanLine(id)}: \`pawl webhook ls\` lists them.`);
}

function queued(context: CliContext, id: string, delivery: WebhookDelivery | null): CommandResult {
  if (delivery === null)
    throw new WrongUseError(
      `The receiver of webhook ${cleanLine(id)} has answered 410, and gets nothing more: remove it, and add it again.`,
    );
  const text = `${delivery.deliveryId} is sent as soon as a \`pawl serve\` of this store runs. \`pawl webhook ls ${id}\` shows what became of it.`;
  return said(context, { delivery }, text);
}

function said(context: CliContext, document: object, text: string): CommandResult {
  return { exitCode: 0, document, text: paragraph(text, context.stdout.columns) };
}

function withSecret(
  context: CliContext,
  text: string,
  secret: string,
  webhook: WebhookRecord,
): CommandResult {
  const { text: shown } = said(context, {}, text);
  return { exitCode: 0, document: { secret, webhook }, text: `${shown}${secret}\n` };
}

function listed<T>(
  context: CliContext,
  document: object,
  rows: readonly T[],
  columns: readonly Column<T>[],
  none: string,
): CommandResult {
  if (rows.length === 0) return said(context, document, none);
  return { exitCode: 0, document, text: formatTable(context, columns, rows) };
}

function webhookColumns({ clock }: CliContext): readonly Column<WebhookRecord>[] {
  const now = clock.now();
  return [
    { title: "id", value: ({ webhookId }) => webhookId, rank: 0 },
    { title: "url", value: ({ url }) => url, rank: 0, atLeast: 20 },
    { title: "events", value: ({ events }) => events.join(" "), rank: 3, atLeast: 12 },
    { title: "for", value: ({ scope }) => scopeText(scope), rank: 2, atLeast: 12 },
    { title: "state", value: ({ disabledAt }) => (disabledAt === null ? "on" : "off"), rank: 1 },
    {
      title: "made",
      value: ({ createdAt, createdBy }) => `${formatAgo(createdAt, now)} by ${createdBy}`,
      rank: 4,
    },
  ];
}

function deliveryColumns({ clock }: CliContext): readonly Column<WebhookDelivery>[] {
  const now = clock.now();
  return [
    { title: "delivery", value: ({ deliveryId }) => deliveryId, rank: 0 },
    { title: "event", value: ({ event }) => event, rank: 0 },
    { title: "at", value: ({ eventAt }) => formatTime(eventAt), rank: 3 },
    { title: "state", value: ({ state }) => state, rank: 0 },
    { title: "attempts", value: ({ attempts }) => String(attempts), rank: 4 },
    {
      title: "last",
      value: ({ lastAt, lastStatus, lastError }) =>
        lastAt === null ? "never" : `${formatAgo(lastAt, now)}: ${lastError ?? lastStatus ?? "being sent"}`,
      rank: 1,
      atLeast: 12,
    },
  ];
}

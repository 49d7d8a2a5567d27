import { isInScope } from "../../../core/access/scope.ts";
import { canonicalJson } from "../../../core/canonical-json.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import { parseWaitId } from "../../../core/wait.ts";
import { type AskedDelivery, deliveriesAsked } from "../../../core/webhook/webhook-events.ts";
import type { WebhookRecord } from "../../../store/store.ts";
import type { Evidence, RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import type { ReceivedPost } from "../witness.ts";

export const webhookNeverLost: Invariant = {
  name: "webhook-never-lost",
  promise:
    "Every event of a run that a webhook asks for is received, nothing else is, and a repeat has the same id and says the same.",
  judge: (evidence) =>
    checkEach(
      evidence.webhooks.flatMap((webhook) => messagesOf(evidence, webhook)),
      judgeMessage,
    ),
};

/** One id: the event that asks for it, and what has arrived under it. */
type PostsOfId = {
  readonly id: string;
  readonly asked: AskedDelivery | null;
  readonly received: readonly ReceivedPost[];
};

function messagesOf({ accounts, witness }: Evidence, webhook: WebhookRecord): readonly PostsOfId[] {
  const asked = accounts.flatMap((account) => askedOf(account, webhook));
  const received = witness.filter(
    (line) => line.kind === "received" && line.url === webhook.url && !isOfNoEvent(line),
  ) as readonly ReceivedPost[];
  const idOf = ({ id }: ReceivedPost) => decodeURIComponent(id);
  const ids = new Set([...asked.map(({ deliveryId }) => deliveryId), ...received.map(idOf)]);
  return [...ids].map((id) => ({
    id,
    asked: asked.find(({ deliveryId }) => deliveryId === id) ?? null,
    received: received.filter((line) => idOf(line) === id),
  }));
}

function askedOf({ run, events, waits }: RunAccount, webhook: WebhookRecord): readonly AskedDelivery[] {
  if (!isInScope(webhook.scope, run)) return [];
  const kinds = new Map(waits.map(({ waitId, kind }) => [parseWaitId(waitId)?.index, kind]));
  return events
    .filter(({ at }) => at >= webhook.createdAt)
    .flatMap((event) => deliveriesAsked({ runId: run.runId, ...event }, (wait) => kinds.get(wait) ?? null))
    .filter(({ event }) => webhook.events.includes(event));
}

/** The clock, a budget or a person asks for these. */
const OF_NO_EVENT: ReadonlySet<Json | undefined> = new Set([
  "run.interrupted",
  "budget.threshold",
  "webhook.test",
]);

function isOfNoEvent({ body }: ReceivedPost): boolean {
  return OF_NO_EVENT.has(contentOf(body).type);
}

function judgeMessage({ id, asked, received }: PostsOfId): readonly Problem[] {
  if (asked === null) return wrong(`The message ${id} arrived, and no event asks for it`);
  const { event } = asked;
  if (!received.some(({ status }) => status >= 200 && status < 300))
    return wrong(`The message ${id} (${event}) was never received: it arrived ${received.length} times`);
  const other = received.map(({ body }) => contentOf(body)).find(({ type }) => type !== event);
  if (other !== undefined)
    return wrong(`The message ${id} (${event}) arrived as ${JSON.stringify(other.type)}`);
  const texts = new Set(received.map(({ body }) => unchangingText(body)));
  return texts.size === 1 ? FINE : wrong(`The message ${id} (${event}) arrived in ${texts.size} versions`);
}

function contentOf(body: string): JsonObject {
  const content: unknown = JSON.parse(body);
  return isJsonObject(content) ? content : {};
}

/** Without the question and the answer of a wait, which are sent as they are at that time. */
function unchangingText(body: string): string {
  const { data = null, ...rest } = contentOf(body);
  const { content: _, ...facts } = isJsonObject(data) ? data : {};
  return canonicalJson({ ...rest, data: facts });
}

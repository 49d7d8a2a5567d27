import { RunDeletedError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { parseWaitId, waitId as waitIdAt } from "../../core/wait.ts";
import type { StoreReader, WebhookDelivery } from "../../store/store.ts";

/** What a message is made with. */
export type MessageParts = {
  readonly store: Pick<StoreReader, "listWaits" | "readRunHead">;
  /** Where people find the dashboard. */
  readonly url: string;
};

/** The body of a message. It has ids, statuses and a link; with `content`, also what people have to know to decide. */
export async function webhookBody(
  { store, url }: MessageParts,
  { event, runId, facts, eventAt }: WebhookDelivery,
  hasContent: boolean,
): Promise<string> {
  const timestamp = new Date(eventAt).toISOString();
  if (runId === null) return JSON.stringify({ type: event, timestamp, data: { link: url } });
  const content = hasContent ? await contentOf(store, runId, facts) : null;
  const data = {
    runId,
    ...facts,
    link: linkTo(url, runId, facts),
    ...(content === null ? {} : { content }),
  };
  return JSON.stringify({ type: event, timestamp, data });
}

function linkTo(url: string, runId: string, { waitId }: JsonObject): string {
  return typeof waitId === "string"
    ? `${url}/waits/${encodeURIComponent(waitId)}`
    : `${url}/runs/${encodeURIComponent(runId)}`;
}

/** As it is now; null if there is none, or if the run was deleted since. */
async function contentOf(
  store: MessageParts["store"],
  runId: string,
  { waitId, status }: JsonObject,
): Promise<JsonObject | null> {
  const index = typeof waitId === "string" ? parseWaitId(waitId)?.index : undefined;
  if (index !== undefined) return contentOfWait(store, runId, index);
  const run = status === "failed" ? await store.readRunHead(runId) : null;
  return run === null ? null : { error: { code: run.errorCode, message: run.errorMessage } };
}

async function contentOfWait(
  store: MessageParts["store"],
  runId: string,
  index: number,
): Promise<JsonObject | null> {
  const before = index === 1 ? {} : { after: { waitId: waitIdAt(runId, index - 1) } };
  try {
    const [wait] = await store.listWaits(runId, { ...before, limit: 1 });
    if (wait === undefined) return null;
    const { question, subject, answer } = wait;
    return { question, subject, ...(answer === null ? {} : { answer: { ...answer } }) };
  } catch (error) {
    if (RunDeletedError.isInstance(error)) return null;
    throw error;
  }
}

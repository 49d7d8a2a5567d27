import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { lookNow } from "../../../engine/run/run-lookers.ts";
import type { NewMessage, RunRecord } from "../../../store/store.ts";
import type { messageRequest } from "../../api/schemas/story.ts";
import { HttpProblem } from "../../http-problem.ts";
import type { Principal } from "../../principal.ts";
import { personOf } from "../acting-person.ts";
import type { ServerParts } from "../server-parts.ts";

type MessageRequest = z.output<typeof messageRequest>;

/**
 * Puts a message into the mailbox of the run. Where the server has the code of the pipeline, its rules about secrets hold,
 * and the conversation says what a text does while the agent answers another one.
 */
export async function sendMessage(
  { store, pipelines }: Pick<ServerParts, "store" | "pipelines">,
  principal: Principal,
  { runId, pipeline }: RunRecord,
  request: MessageRequest,
) {
  const { id = randomUUID(), mode } = request;
  const by = personOf(principal);
  const contents = contentsOf(request);
  const runner = pipelines.get(pipeline);
  if (runner !== undefined) {
    const message = contents.event === null ? contents.body : { event: contents.event, data: contents.body };
    const sent = await runner.send(runId, message, { id, by, ...(mode === undefined ? {} : { mode }) });
    const { messageId, duplicate, status, reason } = sent;
    return { messageId, runId, duplicate, status, reason };
  }
  const modes = contents.event === null ? { mode: mode ?? "queue" } : {};
  const message: NewMessage = { id, ...contents, by, ...modes };
  const { isDuplicate, status, reason } = await store.sendMessage(runId, message);
  lookNow(store, runId);
  return { messageId: id, runId, duplicate: isDuplicate, status, reason };
}

type Contents =
  | { readonly event: null; readonly body: string }
  | { readonly event: string; readonly body: NewMessage["body"] };

function contentsOf({ text, event, data, mode }: MessageRequest): Contents {
  if (text !== undefined && event === undefined && data === undefined) return { event: null, body: text };
  if (event !== undefined && text === undefined && mode === undefined) return { event, body: data ?? null };
  throw new HttpProblem(
    422,
    "message_invalid",
    "The message is neither a text nor an event: give `text` and perhaps `mode`, or `event` and perhaps `data`.",
  );
}

import { callStory } from "../../../account/story/call-story.ts";
import type { StoreReader } from "../../../store/store.ts";
import { callAttemptDocument, callDocument } from "../../documents/ledger-documents.ts";
import { notFound } from "../../scope/run-scope.ts";

/** A call has few attempts: its tool decides how often it is retried. */
const MOST_ATTEMPTS = 100;

/** A call of the run, with its attempts, and why it did or did not happen again. */
export async function readCallDetail(
  store: Pick<StoreReader, "getToolCall" | "listToolCallAttempts" | "listWaits">,
  runId: string,
  toolCallId: string,
) {
  const call = await store.getToolCall(toolCallId);
  if (call === null) throw notFound("tool_call", toolCallId);
  const after = { toolCallId, attempt: 0 };
  const tried = await store.listToolCallAttempts(runId, { after, limit: MOST_ATTEMPTS });
  const attempts = tried.filter((attempt) => attempt.toolCallId === toolCallId);
  const waits = (await store.listWaits(runId)).filter((wait) => wait.toolCallId === toolCallId);
  return {
    ...callDocument(call),
    attempts: attempts.map(callAttemptDocument),
    story: callStory(call, attempts, waits),
    waitId: waits.find(({ status }) => status === "open")?.waitId ?? null,
  };
}

import { assertPayload, canonicalJson } from "../../../core/canonical-json.ts";
import { MessageRefusedError } from "../../../core/errors.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import { filesIn } from "../../../core/message.ts";
import { assertNameSize } from "../../../core/naming/name-size.ts";
import { type Decision, decisionOf } from "../../../core/person.ts";
import { assertEventName, matchesEvent } from "../../../core/run/event-match.ts";
import { assertStoredText } from "../../../core/run/sent-message.ts";
import { receiptOfAnswer } from "../../../core/run/wait-answer.ts";
import type { MessageMode, MessageStatus, NewMessage, QueuedRun, SentMessage } from "../../store.ts";
import type { Row } from "../row.ts";
import { get, type SqlScript } from "../script.ts";
import { MESSAGE_STATUSES } from "../stored-words.ts";
import { putBlob } from "../tables/blob-rows.ts";
import { openMailWaits } from "../tables/exchange-rows.ts";
import { senderOf, waitingMessages } from "../tables/message-rows.ts";
import { missingRun } from "../tables/missing-run.ts";
import { assertHere } from "../tables/moved-run.ts";
import { personText } from "../tables/person-text.ts";
import { findRun, parseJson, type RunRow, requireRun, saveRun } from "../tables/run-row.ts";
import { changeRow, insertRow, type Transaction } from "../transaction.ts";
import { assertOpenPart } from "../verify/verify-open.ts";
import { openExchangeOf } from "./exchange-intents.ts";
import { enqueueRun } from "./run-creation.ts";
import { answerWait } from "./wait-answers.ts";
import { queueIfAnswered } from "./wait-intents.ts";
import { openWaitsOf } from "./wait-lookup.ts";

const MESSAGE_OF_ID = "SELECT * FROM messages WHERE run_key = ? AND message_id = ?";
const LAST_MESSAGE = "SELECT max(message_no) AS n FROM messages WHERE run_key = ?";

export function* sendMessage(
  tx: Transaction,
  runId: string,
  message: NewMessage,
  orStart: QueuedRun | undefined,
): SqlScript<SentMessage> {
  assertMessage(message);
  const sender = decisionOf(message.by ?? {}, tx.now);
  const { run, hasStarted } = yield* receiver(tx, runId, orStart);
  const known = yield* get(MESSAGE_OF_ID, run.key, message.id);
  if (known !== null) return { ...sameMessage(runId, known, message, sender), hasStarted };
  yield* assertOpenPart(run);
  const messageNo = ((yield* get(LAST_MESSAGE, run.key))?.optionalInt("n") ?? 0) + 1;
  const reason = reasonToReturn(run, message);
  for (const file of message.files ?? []) putBlob(tx, run, file);
  insertRow(tx, run, "messages", {
    message_no: messageNo,
    message_id: message.id,
    event: message.event,
    body: canonicalJson(message.body),
    sent_at: tx.now,
    sent_by: personText(sender),
    status: reason === null ? "waiting" : "returned",
    settled_at: reason === null ? null : tx.now,
    reason,
    call_no: null,
    mode: yield* modeOf(run, message, sender),
    taken_step: null,
    taken_turn: null,
    exchange_no: null,
  });
  const received = run.status === "waiting" ? yield* answerFromMailbox(tx, run) : [];
  const isHeard =
    reason === null && message.event === null && (yield* answerMailWaits(tx, run, messageNo, sender));
  if (received.length > 0 || isHeard) yield* queueIfAnswered(tx, run);
  saveRun(tx, run, "message.sent", {
    message: messageNo,
    by: sender.name,
    ...filesOf(message),
    ...(reason === null ? {} : { returned: reason }),
    ...(received.length === 0 ? {} : { received }),
  });
  const isTaken = received.some(({ message: taken }) => taken === messageNo);
  const status = reason !== null ? "returned" : isTaken ? "taken" : "waiting";
  return { runId, messageNo, isDuplicate: false, hasStarted, status, reason };
}

/** The files of the message, for its event: the log names them, and never has their bytes. */
function filesOf({ event, body }: NewMessage): { readonly files?: readonly JsonObject[] } {
  const files = event === null ? filesIn(body) : [];
  if (files.length === 0) return {};
  return {
    files: files.map(({ filename = null, mediaType, size, blobId }) => ({
      filename,
      mediaType,
      size,
      hash: blobId,
    })),
  };
}

function assertMessage({ id, event, body, files = [] }: NewMessage): void {
  if (typeof id !== "string" || id.trim() === "")
    throw new MessageRefusedError(`The id of the message is ${JSON.stringify(id)}: give a text.`, {
      reason: "id",
    });
  assertNameSize("id of the message", id);
  if (event === null) assertStoredText(body, files);
  else assertEventName(event);
  if (event !== null && files.length > 0)
    throw new MessageRefusedError(`Event ${JSON.stringify(event)} has files: send them with a text.`, {
      reason: "files",
    });
  assertPayload(body, "The message");
}

/** The run that the message is for; created for it, if the sender wants that. */
function* receiver(
  tx: Transaction,
  runId: string,
  orStart: QueuedRun | undefined,
): SqlScript<{ readonly run: RunRow; readonly hasStarted: boolean }> {
  const found = yield* findRun(runId);
  if (found === null) {
    if (orStart === undefined) throw yield* missingRun(runId);
    yield* enqueueRun(tx, { ...orStart, runId });
  }
  const run = yield* requireRun(runId);
  yield* assertHere(run);
  return { run, hasStarted: found === null };
}

/** Why the message will never be taken; null if it may be. */
function reasonToReturn({ status, takesText }: RunRow, { event }: NewMessage): string | null {
  if (status === "succeeded" || status === "failed" || status === "cancelled") return status;
  // A text is for a conversation: nothing else takes one.
  return event === null && !takesText ? "no_conversation" : null;
}

/** Messages of two senders are never in one exchange: while another's is open, a text waits for the next one. */
function* modeOf(
  run: RunRow,
  { event, mode = "queue" }: NewMessage,
  sender: Decision,
): SqlScript<MessageMode | null> {
  if (event !== null) return null;
  if (mode === "queue") return mode;
  const open = yield* openExchangeOf(run);
  return open === null || open.text("sent_by") === personText(sender) ? mode : "queue";
}

/** A conversation that waits for a message has one. */
function* answerMailWaits(tx: Transaction, run: RunRow, message: number, by: Decision): SqlScript<boolean> {
  if (run.status !== "waiting") return false;
  const mail = new Set(yield* openMailWaits(run));
  if (mail.size === 0) return false;
  const answer = { as: "answered", value: { message } } as const;
  for (const wait of yield* openWaitsOf(run))
    if (mail.has(wait.index)) yield* answerWait(tx, { run, wait }, { answer, by });
  return true;
}

/** A message that was sent before. The same id is for one message only, of one sender. */
function sameMessage(
  runId: string,
  known: Row,
  { id, event, body }: NewMessage,
  sender: Decision,
): Omit<SentMessage, "hasStarted"> {
  const isSame = known.optionalText("event") === event && known.text("body") === canonicalJson(body);
  if (!isSame || known.text("sent_by") !== personText(sender))
    throw new MessageRefusedError(
      `Run ${runId} has another message with the id ${JSON.stringify(id)}, ${isSame ? "of another sender" : "with other contents"}: give each message an id of its own.`,
      { reason: isSame ? "other_sender" : "other_message" },
    );
  return {
    runId,
    messageNo: known.int("message_no"),
    isDuplicate: true,
    status: known.oneOf("status", MESSAGE_STATUSES),
    reason: known.optionalText("reason"),
  };
}

/** A message, and the wait that it has answered, with the receipt of its call. */
type Received = { readonly message: number; readonly wait: number } & JsonObject;

/** Answers the open waits for messages with those that are there, the first with the first. */
export function* answerFromMailbox(tx: Transaction, run: RunRow): SqlScript<Received[]> {
  const waits = (yield* openWaitsOf(run)).filter(({ matches }) => matches !== null);
  if (waits.length === 0) return [];
  const messages = [...(yield* waitingMessages(run))];
  const received: Received[] = [];
  for (const wait of waits) {
    const found = messages.findIndex((row) => isAnswer(wait.matches, row));
    const [message] = found === -1 ? [] : messages.splice(found, 1);
    if (message === undefined || wait.call === null) continue;
    const messageNo = message.int("message_no");
    const taken = { status: "taken", settled_at: tx.now, reason: null, call_no: wait.call.callNo };
    changeRow(tx, run, "messages", { message_no: messageNo }, taken);
    const value = receivedValue(message);
    const answer = { as: "answered", value } as const;
    const by = senderOf(message);
    const facts = yield* answerWait(tx, { run, wait }, { answer, by }, receiptOfAnswer(value));
    received.push({ ...facts, message: messageNo, wait: wait.index });
  }
  return received;
}

function isAnswer(pattern: string | null, message: Row): boolean {
  const event = message.optionalText("event");
  return pattern !== null && event !== null && matchesEvent(pattern, event);
}

/** What a call that waits for a message returns. */
function receivedValue(message: Row): Json {
  const { name } = senderOf(message);
  return {
    event: message.optionalText("event"),
    data: parseJson(message.text("body")),
    by: name,
    at: new Date(message.int("sent_at")).toISOString(),
  };
}

export function* withdrawMessage(
  tx: Transaction,
  runId: string,
  messageId: string,
): SqlScript<MessageStatus> {
  const run = yield* requireRun(runId);
  yield* assertHere(run);
  const row = yield* get(MESSAGE_OF_ID, run.key, messageId);
  if (row === null)
    throw new MessageRefusedError(
      `Run ${runId} has no message with the id ${JSON.stringify(messageId)}: list its messages.`,
      { reason: "not_found" },
    );
  const status = row.oneOf("status", MESSAGE_STATUSES);
  if (status !== "waiting") return status;
  const messageNo = row.int("message_no");
  const withdrawn = { status: "withdrawn", settled_at: tx.now, reason: null, call_no: null };
  changeRow(tx, run, "messages", { message_no: messageNo }, withdrawn);
  saveRun(tx, run, "message.withdrawn", { message: messageNo });
  return "withdrawn";
}

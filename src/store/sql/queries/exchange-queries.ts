import { canonicalJson } from "../../../core/canonical-json.ts";
import { isJsonObject } from "../../../core/json.ts";
import { mailSubject } from "../../../core/wait.ts";
import type {
  ExchangeRange,
  ExchangeRecord,
  Mailbox,
  RunRequestsSeen,
  TakenMessage,
  WaitingText,
} from "../../store.ts";
import type { Row } from "../row.ts";
import { all, get, type SqlScript } from "../script.ts";
import { EXCHANGE_OUTCOMES, MESSAGE_MODES } from "../stored-words.ts";
import type { RunKey } from "../table-list.ts";
import { senderIn, senderOf } from "../tables/message-rows.ts";
import { parseJson, requireRunKey } from "../tables/run-row.ts";

const EXCHANGES = "SELECT exchanges.*, step_path FROM exchanges JOIN run_steps USING (run_key, step_no)";
const EXCHANGES_AFTER = `${EXCHANGES} WHERE run_key = ? AND (step_no, exchange_no) > (?, ?)
   ORDER BY step_no, exchange_no LIMIT ?`;
const NEWEST = `${EXCHANGES} WHERE run_key = ? AND step_no = ? ORDER BY exchange_no DESC LIMIT 1`;
const STEP_NO = "SELECT step_no FROM run_steps WHERE run_key = ? AND step_path = ?";

export function* listExchanges(
  runId: string,
  { after, limit = Number.MAX_SAFE_INTEGER }: ExchangeRange = {},
): SqlScript<ExchangeRecord[]> {
  const key = yield* requireRunKey(runId);
  const step = after === undefined ? null : yield* get(STEP_NO, key, after.stepPath);
  const rows = yield* all(EXCHANGES_AFTER, key, step?.int("step_no") ?? 0, after?.exchange ?? 0, limit);
  return rows.map(exchangeRecord);
}

function exchangeRecord(row: Row): ExchangeRecord {
  const outcome = row.optionalText("outcome");
  return {
    stepPath: row.text("step_path"),
    exchange: row.int("exchange_no"),
    firstTurn: row.int("first_turn"),
    lastTurn: row.optionalInt("last_turn"),
    sentBy: senderIn(row.text("sent_by")),
    beganAt: row.int("began_at"),
    endedAt: row.optionalInt("ended_at"),
    outcome: outcome === null ? null : row.oneOf("outcome", EXCHANGE_OUTCOMES),
    why: row.optionalText("why"),
    stopRequestedBy: row.optionalText("stop_requested_by"),
  };
}

/** The most texts that are read at once: a turn rarely takes more than one. */
const MOST_TEXTS = 100;
const TEXTS = `SELECT message_no, mode, body, sent_by FROM messages
   WHERE run_key = ? AND status = 'waiting' AND event IS NULL ORDER BY message_no LIMIT ${MOST_TEXTS}`;
const LAST_MAIL_WAIT = `SELECT subject, status, answer FROM waits
   WHERE run_key = ? AND kind = 'message' AND call_no IS NULL ORDER BY wait_index DESC LIMIT 1`;

export function* readMailbox(runId: string, stepKey: number): SqlScript<Mailbox> {
  const key = yield* requireRunKey(runId);
  const newest = yield* get(NEWEST, key, stepKey);
  const exchange = newest === null ? null : exchangeRecord(newest);
  const openTo = exchange?.endedAt === null ? (newest?.text("sent_by") ?? null) : null;
  const texts = yield* all(TEXTS, key);
  const waiting = texts.map((row): WaitingText => {
    const mode = row.oneOf("mode", MESSAGE_MODES);
    return {
      messageNo: row.int("message_no"),
      mode,
      body: parseJson(row.text("body")),
      joins: mode !== "queue" && row.text("sent_by") === openTo,
    };
  });
  const isIdle = openTo === null && waiting.length === 0;
  const isClosed = isIdle && (yield* wasClosed(key, stepKey, exchange?.exchange ?? 0));
  return { exchange, waiting, isClosed };
}

/** True if the clock has ended the wait for a message after this exchange. */
function* wasClosed(key: RunKey, stepKey: number, after: number): SqlScript<boolean> {
  const wait = yield* get(LAST_MAIL_WAIT, key);
  if (wait === null || wait.text("status") !== "answered") return false;
  const step = yield* get("SELECT step_path FROM run_steps WHERE run_key = ? AND step_no = ?", key, stepKey);
  const answer = parseJson(wait.optionalText("answer"));
  const value = isJsonObject(answer) ? (answer.value ?? null) : null;
  const isAboutIt = wait.text("subject") === canonicalJson(mailSubject(step?.text("step_path") ?? "", after));
  return isAboutIt && isJsonObject(value) && value.closed === true;
}

const REQUESTS = `SELECT cancel_requested_at,
    (SELECT count(*) FROM exchanges WHERE exchanges.run_key = runs.run_key AND ended_at IS NULL
        AND stop_requested_at IS NOT NULL) AS stops,
    (SELECT count(*) FROM messages JOIN exchanges ON exchanges.run_key = messages.run_key AND ended_at IS NULL
        AND exchanges.sent_by = messages.sent_by
      WHERE messages.run_key = runs.run_key AND messages.status = 'waiting' AND mode = 'interrupt') AS interrupts
   FROM runs WHERE run_id = ?`;

export function* readRequests(runId: string): SqlScript<RunRequestsSeen> {
  const row = yield* get(REQUESTS, runId);
  return {
    cancel: row !== null && row.optionalInt("cancel_requested_at") !== null,
    stop: (row?.int("stops") ?? 0) > 0,
    interrupt: (row?.int("interrupts") ?? 0) > 0,
  };
}

// A request that is refused has the messages of its exchange and of those before: which one it was, nobody knows. Files are
// set aside with all turns so far, texts only if they were of the turn that was never answered.
const TAKEN = `SELECT message_no, message_id, body, sent_at, sent_by, taken_turn, exchange_no, texts_up_to,
    (SELECT max(exchange_no) FROM exchanges WHERE run_key = ? AND step_no = ? AND refused_files = 1) AS files_up_to
   FROM messages LEFT JOIN
    (SELECT coalesce(last_turn, first_turn - 1) + 1 AS refused_turn, max(exchange_no) AS texts_up_to FROM exchanges
      WHERE run_key = ? AND step_no = ? AND refused_texts = 1 GROUP BY refused_turn) AS refusals
     ON refused_turn = taken_turn
   WHERE run_key = ? AND taken_step = ? AND taken_turn BETWEEN ? AND ? ORDER BY taken_turn, exchange_no, message_no`;

/** How many messages each turn of a query has taken: most take none, and then none is read. */
export const TAKEN_COUNT = `(SELECT count(*) FROM messages WHERE messages.run_key = turns.run_key
      AND messages.taken_step = turns.step_no AND messages.taken_turn = turns.turn_index)`;

/** The messages that some turns of a step have taken, by their turns. */
export function* takenMessages(
  key: RunKey,
  stepNo: number,
  first: number,
  last: number,
): SqlScript<ReadonlyMap<number, readonly TakenMessage[]>> {
  const rows = yield* all(TAKEN, key, stepNo, key, stepNo, key, stepNo, first, last);
  const taken = new Map<number, TakenMessage[]>();
  for (const row of rows) {
    const turn = row.int("taken_turn");
    const messages = taken.get(turn) ?? [];
    messages.push({
      messageNo: row.int("message_no"),
      id: row.text("message_id"),
      body: parseJson(row.text("body")),
      sentBy: senderOf(row).name,
      sentAt: row.int("sent_at"),
      exchange: row.int("exchange_no"),
      ...refusedOf(row),
    });
    taken.set(turn, messages);
  }
  return taken;
}

function refusedOf(row: Row): Pick<TakenMessage, "refused"> {
  const exchange = row.int("exchange_no");
  if (exchange <= (row.optionalInt("texts_up_to") ?? 0)) return { refused: "texts" };
  return exchange <= (row.optionalInt("files_up_to") ?? 0) ? { refused: "files" } : {};
}

import { Quota } from "../../../core/usage/quota.ts";
import type { Amount } from "../../../core/usage/usage.ts";
import type { ExchangeEnd, ExchangeOutcome, TurnOpened, TurnOpening } from "../../store.ts";
import type { Row } from "../row.ts";
import type { GranularStateRow, RunHead } from "../run-head.ts";
import { all, exists, get, type SqlScript } from "../script.ts";
import { changeRow, insertRow, type Transaction } from "../transaction.ts";
import { starterText } from "./message-rows.ts";

// The exchanges of conversations, and the messages that their turns take.

const LAST_EXCHANGE = `SELECT * FROM exchanges WHERE run_key = ? AND step_no = ?
   ORDER BY exchange_no DESC LIMIT 1`;

/** The newest exchange of a step, open or not. */
export function lastExchange(run: Pick<RunHead, "key">, stepNo: number): SqlScript<Row | null> {
  return get(LAST_EXCHANGE, run.key, stepNo);
}

/** The exchange, if it is open. */
export function openOf(exchange: Row | null): Row | null {
  return exchange?.optionalInt("ended_at") === null ? exchange : null;
}

const FIRST_TEXT = `SELECT message_no, sent_by FROM messages
   WHERE run_key = ? AND status = 'waiting' AND event IS NULL ORDER BY message_no LIMIT 1`;

const JOINING = `SELECT message_no FROM messages
   WHERE run_key = ? AND status = 'waiting' AND event IS NULL AND mode IN ('steer', 'interrupt') AND sent_by = ?
   ORDER BY message_no LIMIT ?`;

/** True if a text waits that belongs to this exchange. */
export function* hasJoining(run: RunHead, exchange: Row): SqlScript<boolean> {
  return (yield* all(JOINING, run.key, exchange.text("sent_by"), 1)).length > 0;
}

/** What a turn takes, after it was compared with the mailbox. */
export type Taking = {
  readonly take: readonly number[];
  /** The exchange that is open; null if the turn begins one. */
  readonly open: Row | null;
  readonly exchangeNo: number;
  readonly sentBy: string;
};

/** What the turn takes; null if that is not what the mailbox has, or if the exchange is to stop. */
export function* checkTaking(tx: Transaction, run: RunHead, opening: TurnOpening): SqlScript<Taking | null> {
  const { take, begins } = opening.exchange ?? NOTHING;
  const last = yield* lastExchange(run, opening.stepKey);
  const open = openOf(last);
  if (!begins) {
    if (open === null || open.optionalInt("stop_requested_at") !== null) return null;
    const sentBy = open.text("sent_by");
    const joining = take.length === 0 ? [] : yield* all(JOINING, run.key, sentBy, take.length);
    const isThere = take.every((no, i) => joining[i]?.int("message_no") === no);
    return isThere ? { take, open, exchangeNo: open.int("exchange_no"), sentBy } : null;
  }
  if (open !== null) return null;
  if (take.length !== (last === null ? Math.min(take.length, 1) : 1))
    throw new Error(`An exchange begins with one message, not with ${take.length}.`);
  const exchangeNo = (last?.int("exchange_no") ?? 0) + 1;
  const [wanted] = take;
  if (wanted === undefined) return { take, open: null, exchangeNo, sentBy: yield* starterText(tx, run) };
  const first = yield* get(FIRST_TEXT, run.key);
  return first?.int("message_no") === wanted
    ? { take, open: null, exchangeNo, sentBy: first.text("sent_by") }
    : null;
}

const NOTHING = { take: [], begins: false };

/** The denial, if the turn would cost more than its exchange may. */
export function deniedByExchange(
  run: RunHead,
  { open }: Taking,
  { reserve, exchange }: TurnOpening,
): Extract<TurnOpened, { kind: "denied" }> | null {
  if (exchange === undefined) return null;
  const { charged } = run.quota;
  const before: Amount =
    open === null
      ? charged
      : { tokens: open.int("charged_tokens"), microDollars: open.int("charged_micro_dollars") };
  const used = {
    tokens: charged.tokens - before.tokens,
    microDollars: charged.microDollars - before.microDollars,
  };
  const reservation = new Quota(exchange.limit, used).reserve(reserve);
  return reservation.kind === "denied" ? { ...reservation, ofExchange: true } : null;
}

/** Takes the messages for the turn, and begins its exchange. Returns what the event says about it. */
export function* writeTaking(
  tx: Transaction,
  run: RunHead,
  { stepKey, turnIndex, exchange }: Pick<TurnOpening, "stepKey" | "turnIndex" | "exchange">,
  { take, open, exchangeNo, sentBy }: Taking,
): SqlScript<{ readonly exchange?: number; readonly took?: number[]; readonly uncompacted?: string }> {
  if (open === null) {
    insertRow(tx, run, "exchanges", {
      step_no: stepKey,
      exchange_no: exchangeNo,
      first_turn: turnIndex,
      sent_by: sentBy,
      began_at: tx.now,
      charged_tokens: run.quota.charged.tokens,
      charged_micro_dollars: run.quota.charged.microDollars,
      ...NOT_ENDED,
      stop_requested_at: null,
      stop_requested_by: null,
    });
    yield* withdrawMailWaits(tx, run);
  }
  for (const messageNo of take)
    changeRow(
      tx,
      run,
      "messages",
      { message_no: messageNo },
      {
        status: "taken",
        settled_at: tx.now,
        reason: null,
        call_no: null,
        taken_step: stepKey,
        taken_turn: turnIndex,
        exchange_no: exchangeNo,
      },
    );
  return {
    ...(open === null ? { exchange: exchangeNo } : {}),
    ...(take.length === 0 ? {} : { took: [...take] }),
    ...(exchange?.uncompacted === undefined ? {} : { uncompacted: exchange.uncompacted }),
  };
}

export const NOT_ENDED = {
  last_turn: null,
  ended_at: null,
  outcome: null,
  why: null,
  refused_files: null,
  refused_texts: null,
} as const;

type EndedExchange = Pick<ExchangeEnd, "refused"> & {
  readonly outcome: ExchangeOutcome;
  readonly why: string | null;
};

/** Ends an exchange, once. */
export function endExchangeRow(
  tx: Transaction,
  run: RunHead,
  exchange: Row,
  committed: number,
  { outcome, why, refused }: EndedExchange,
): void {
  const [stepNo, exchangeNo] = [exchange.int("step_no"), exchange.int("exchange_no")];
  if (openOf(exchange) === null)
    throw new Error(`Exchange ${exchangeNo} of step ${stepNo} has ended already.`);
  const end = {
    last_turn: committed >= exchange.int("first_turn") ? committed : null,
    ended_at: tx.now,
    outcome,
    why,
    ...(refused === "files" ? { refused_files: 1 } : {}),
    ...(refused === "texts" ? { refused_texts: 1 } : {}),
  };
  changeRow(tx, run, "exchanges", { step_no: stepNo, exchange_no: exchangeNo }, end);
}

const MAIL_WAITS = `SELECT wait_index FROM waits
   WHERE run_key = ? AND status = 'open' AND kind = 'message' AND call_no IS NULL ORDER BY wait_index`;

/** The open waits of conversations for the next message. */
export function* openMailWaits(run: Pick<RunHead, "key">): SqlScript<number[]> {
  return (yield* all(MAIL_WAITS, run.key)).map((row) => row.int("wait_index"));
}

/** The conversation no longer waits for a message: one is there. */
export function* withdrawMailWaits(tx: Transaction, run: RunHead): SqlScript<void> {
  for (const index of yield* openMailWaits(run)) {
    const answer = { status: "withdrawn", answered_at: tx.now, answered_by: null, answer: null };
    changeRow(tx, run, "waits", { wait_index: index }, answer);
  }
}

/** True if a text waits for a turn. */
export function hasText(run: Pick<RunHead, "key">): SqlScript<boolean> {
  return exists(
    "SELECT 1 AS found FROM messages WHERE run_key = ? AND status = 'waiting' AND event IS NULL LIMIT 1",
    run.key,
  );
}

const TAKEN_SINCE = `SELECT message_no FROM messages
   WHERE run_key = ? AND taken_step = ? AND (taken_turn > ? OR exchange_no = ?) ORDER BY message_no`;

/**
 * The step goes back to a turn: the messages that were taken since then wait again, and so do those of the exchange that
 * was open, whose history is gone. Returns their numbers.
 */
export function* putMessagesBack(
  tx: Transaction,
  run: RunHead,
  { stepNo, turnIndex }: Pick<GranularStateRow, "stepNo" | "turnIndex">,
  baseTurn: number,
): SqlScript<number[]> {
  const last = yield* lastExchange(run, stepNo);
  if (last === null) return [];
  const open = openOf(last);
  if (open !== null)
    endExchangeRow(tx, run, open, turnIndex, {
      outcome: "rolled_back",
      why: "The step went back to an earlier milestone.",
    });
  const taken = yield* all(TAKEN_SINCE, run.key, stepNo, baseTurn, open?.int("exchange_no") ?? 0);
  const numbers = taken.map((row) => row.int("message_no"));
  for (const messageNo of numbers)
    changeRow(
      tx,
      run,
      "messages",
      { message_no: messageNo },
      {
        status: "waiting",
        settled_at: null,
        reason: null,
        call_no: null,
        taken_step: null,
        taken_turn: null,
        exchange_no: null,
      },
    );
  return numbers;
}

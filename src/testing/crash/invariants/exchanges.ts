import type { Json } from "../../../core/json.ts";
import { storedParts, writtenIn } from "../../../core/message.ts";
import type { RefusedContents } from "../../../core/turn/model-retry.ts";
import { REFUSED_MESSAGE } from "../../../core/usage/said-file.ts";
import type { EventRecord, ExchangeRecord, MessageRecord } from "../../../store/store.ts";
import type { RunAccount } from "../evidence.ts";
import { checkEach, FINE, type Invariant, type Problem, wrong } from "../invariant.ts";
import { heardFile, type WitnessLine } from "../witness.ts";
import { allObservations, earlierAndLater, objectOf } from "./observations.ts";

// Conversations: each text is taken by one turn, in order, in an exchange of its sender.

/** The problems with a text that a turn has taken, as the model and the history have it. */
export function judgeTakenText(
  message: MessageRecord,
  account: RunAccount,
  witness: readonly WitnessLine[],
): readonly Problem[] {
  const { id, body, takenBy } = message;
  const { run, turns, modelCalls } = account;
  if (takenBy === null) return FINE;
  const again = judgeRefusedText(message, account, witness);
  if (again.length > 0) return again;
  const { stepPath, turn: turnIndex } = takenBy;
  const holding = turns.filter(({ taken }) => taken.some((each) => each.id === id));
  if (holding.some((turn) => turn.stepPath !== stepPath || turn.turnIndex !== turnIndex))
    return wrong(`Message ${id} was taken by turn ${turnIndex}, and another turn has it`);
  const answered = turns.find((turn) => turn.stepPath === stepPath && turn.turnIndex === turnIndex);
  // A turn whose exchange was stopped has no response.
  if (answered === undefined) return FINE;
  if (holding.length === 0)
    return wrong(`Message ${id} was taken by turn ${turnIndex}, which does not have it`);
  const attempts = modelCalls.filter((call) => call.stepPath === stepPath && call.turnIndex === turnIndex);
  const last = Math.max(...attempts.map(({ attempt }) => attempt));
  const shown = holding.flatMap(({ taken }) => taken).find((each) => each.id === id);
  const parts = saidIn(body, shown?.refused ?? null);
  // An attempt before the message came has heard none of it.
  const isTold = witness.every((line) => {
    const isOfTurn =
      line.kind === "asked" &&
      line.runId === run.runId &&
      line.stepPath === stepPath &&
      line.turnIndex === turnIndex;
    if (!isOfTurn) return true;
    const heard = parts.filter((part) => line.heard.some((each) => each.includes(part))).length;
    return heard === parts.length || (heard === 0 && line.attempt !== last);
  });
  return isTold ? FINE : wrong(`Message ${id} was taken by turn ${turnIndex}, whose model never saw it`);
}

/** A text that the provider refused, before any turn had answered it, is not sent again. */
function judgeRefusedText(
  { id, body, takenBy }: MessageRecord,
  { run, events }: RunAccount,
  witness: readonly WitnessLine[],
): readonly Problem[] {
  if (takenBy === null) return FINE;
  const { stepPath, turn, exchange } = takenBy;
  const ofStep = events
    .map(({ seq, type, data }) => ({ seq, type, facts: objectOf(data) }))
    .filter(({ facts }) => facts.step === stepPath);
  const answered = ofStep.find(({ type, facts }) => type === "turn.committed" && facts.turn === turn);
  const refusal = ofStep.find(
    ({ type, facts }) =>
      type === "exchange.ended" && facts.refused === "texts" && Number(facts.exchange) >= exchange,
  );
  if (refusal === undefined || refusal.seq > (answered?.seq ?? Number.POSITIVE_INFINITY)) return FINE;
  const next = ofStep.find(
    ({ seq, type, facts }) => type === "turn.opened" && facts.turn === turn && seq > refusal.seq,
  );
  const first = Number(next?.facts.attempt ?? Number.POSITIVE_INFINITY);
  const line = witness.find(
    (each) =>
      each.kind === "asked" &&
      each.runId === run.runId &&
      each.stepPath === stepPath &&
      each.turnIndex === turn &&
      each.attempt >= first &&
      each.heard.some((heard) => heard.includes(writtenIn(body))),
  );
  return line === undefined
    ? FINE
    : wrong(`Message ${id} was refused in exchange ${exchange}, and its model was sent it again`);
}

/** The texts and files of a message, as the witness records them, without what the provider refused. */
function saidIn(body: Json, refused: RefusedContents | null): readonly string[] {
  if (refused === "texts") return [REFUSED_MESSAGE];
  const parts = storedParts(body) ?? [{ type: "text", text: writtenIn(body) }];
  return parts.flatMap((part) =>
    part.type === "text" ? [part.text] : refused === "files" ? [] : [heardFile(part)],
  );
}

function textsOf({ messages }: RunAccount): readonly MessageRecord[] {
  return messages.filter(({ event }) => event === null);
}

export const messagesInOrder: Invariant = {
  name: "messages-in-order",
  promise: "The texts of one sender in one mode are taken in the order in which they came.",
  judge: (evidence) =>
    checkEach(
      allObservations(evidence).flatMap(({ account, when }) =>
        [...Map.groupBy(textsOf(account), ({ sentBy, mode }) => `${mode} of ${sentBy}`).values()].map(
          (messages) => ({ messages, when }),
        ),
      ),
      ({ messages, when }) => {
        const open = messages.filter(({ status }) => status === "taken" || status === "waiting");
        const late = open.findIndex((message, i) => i > 0 && placeOf(open[i - 1]) > placeOf(message));
        return late === -1
          ? FINE
          : wrong(
              `Message ${open[late]?.id} came after ${open[late - 1]?.id}, and was taken before it ${when}`,
            );
      },
    ),
};

/** Where a message was taken, as a number; one that waits is taken last. */
function placeOf(message: MessageRecord | undefined): number {
  const takenBy = message?.takenBy ?? null;
  return takenBy === null ? Number.POSITIVE_INFINITY : takenBy.turn * 1_000 + takenBy.exchange;
}

export const oneSenderAnExchange: Invariant = {
  name: "one-sender-an-exchange",
  promise: "An exchange has the messages of one sender, and begins with one of them.",
  judge: (evidence) =>
    checkEach(
      allObservations(evidence).flatMap(({ account, when }) =>
        account.exchanges.map((exchange) => ({ exchange, account, when })),
      ),
      ({ exchange, account, when }) => {
        const { exchange: number, sentBy, stepPath } = exchange;
        const others = textsOf(account).filter(
          (message) =>
            message.takenBy?.exchange === number &&
            message.takenBy.stepPath === stepPath &&
            message.sentBy !== sentBy,
        );
        return others.length === 0
          ? FINE
          : wrong(
              `Exchange ${number} of ${sentBy} has message ${others[0]?.id} of ${others[0]?.sentBy} ${when}`,
            );
      },
    ),
};

export const exchangeEndsOnce: Invariant = {
  name: "exchange-ends-once",
  promise: "An exchange ends once, stays as it ended, and ends no run: only the last one may be open.",
  judge: (evidence) => {
    const kept = checkEach(
      earlierAndLater(evidence).flatMap(({ account, later, when, laterWhen }) =>
        account.exchanges
          .filter(({ endedAt }) => endedAt !== null)
          .map((exchange) => ({ exchange, later: sameExchange(later, exchange), when, laterWhen })),
      ),
      ({ exchange, later, when, laterWhen }) =>
        later !== undefined && endText(later) === endText(exchange)
          ? FINE
          : wrong(`Exchange ${exchange.exchange} had ended ${when}, and has another end ${laterWhen}`),
    );
    const once = checkEach(
      evidence.again.accounts.flatMap((account) =>
        account.exchanges.map((exchange) => ({ exchange, account })),
      ),
      ({ exchange, account }) => judgeEnd(exchange, account),
    );
    return { looked: kept.looked + once.looked, problems: [...kept.problems, ...once.problems] };
  },
};

function sameExchange(account: RunAccount | null, { stepPath, exchange }: ExchangeRecord) {
  return account?.exchanges.find((other) => other.stepPath === stepPath && other.exchange === exchange);
}

function endText({ lastTurn, endedAt, outcome, why }: ExchangeRecord): string {
  return JSON.stringify([lastTurn, endedAt, outcome, why]);
}

function judgeEnd(exchange: ExchangeRecord, account: RunAccount): readonly Problem[] {
  const { run, exchanges, events } = account;
  const { exchange: number, stepPath, endedAt, outcome, stopRequestedBy, firstTurn } = exchange;
  const ofStep = exchanges.filter((other) => other.stepPath === stepPath);
  const isLast = ofStep.every((other) => other.exchange <= number);
  if (endedAt === null && !isLast) return wrong(`Exchange ${number} is open, and another one has begun`);
  const isEnded = run.status === "succeeded" || run.status === "failed" || run.status === "cancelled";
  const wasCancelled = events.some(({ type }) => type === "run.cancel_requested");
  if (endedAt === null && stopRequestedBy !== null && isEnded && !wasCancelled)
    return wrong(`Exchange ${number} was to stop, and the run is ${run.status} instead`);
  if (endedAt === null && run.status === "succeeded")
    return wrong(`Exchange ${number} is open, and the run has succeeded`);
  if (outcome === "complete" || outcome === null || outcome === "rolled_back" || run.forkedFrom !== null)
    return [...judgeTurns(exchange, ofStep, firstTurn), ...judgeOverlooked(exchange, account)];
  const ends = events.filter((event) => isEndOf(event, exchange)).length;
  return ends === 1 ? FINE : wrong(`Exchange ${number} ended as ${outcome} ${ends} times`);
}

function judgeTurns(
  { exchange, lastTurn, outcome }: ExchangeRecord,
  ofStep: readonly ExchangeRecord[],
  firstTurn: number,
): readonly Problem[] {
  const before = ofStep.find((other) => other.exchange === exchange - 1);
  if (outcome === "complete" && lastTurn === null)
    return wrong(`Exchange ${exchange} is complete, and has no turn`);
  return before?.lastTurn !== null && before !== undefined && before.lastTurn >= firstTurn
    ? wrong(`Exchange ${exchange} began with turn ${firstTurn}, which the one before it has, too`)
    : FINE;
}

/** An exchange is not complete while a text waits that is to join it. */
function judgeOverlooked(
  { exchange, stepPath, outcome, sentBy, lastTurn, stopRequestedBy }: ExchangeRecord,
  { messages, events }: RunAccount,
): readonly Problem[] {
  if (outcome !== "complete" || stopRequestedBy !== null) return FINE;
  const end = events.find(({ type, data }) => {
    const { step, turn } = objectOf(data);
    return type === "turn.committed" && step === stepPath && turn === lastTurn;
  });
  const overlooked = messages.find(
    ({ messageNo, mode, sentBy: by, takenBy }) =>
      mode !== null &&
      mode !== "queue" &&
      by === sentBy &&
      (takenBy?.exchange ?? 0) > exchange &&
      events.some(
        ({ type, data, seq }) =>
          type === "message.sent" && objectOf(data).message === messageNo && seq < (end?.seq ?? 0),
      ),
  );
  return overlooked === undefined
    ? FINE
    : wrong(
        `Exchange ${exchange} is complete, but message ${overlooked.id} was to join it, and had come before`,
      );
}

function isEndOf({ type, data }: EventRecord, { stepPath, exchange }: ExchangeRecord): boolean {
  const facts = objectOf(data);
  return type === "exchange.ended" && facts.step === stepPath && facts.exchange === exchange;
}

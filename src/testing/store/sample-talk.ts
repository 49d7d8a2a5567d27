import { NO_LIMIT } from "../../core/usage/quota.ts";
import { CLOSED, mailSubject, type NewMailWait } from "../../core/wait.ts";
import type {
  Compaction,
  ExchangeTurn,
  MessageMode,
  NewMessage,
  Store,
  SummaryOpening,
  TurnCommit,
  TurnCommitted,
  TurnOpened,
  TurnOpening,
} from "../../store/store.ts";
import { CHARGE, FINGERPRINT, FINGERPRINT_DOCUMENT, newReceipt, SampleRun } from "./sample-run.ts";

/** The shape of a pipeline that is one conversation. */
export const TALK_SHAPE = [{ path: "draft", kind: "conversation" }];

/** A text of ann, if it is not of another one. */
export function text(id: string, over: Partial<NewMessage> = {}): NewMessage {
  return { id, event: null, body: `Text ${id}.`, by: { by: "ann" }, ...over };
}

/** What a turn takes as it is opened. */
export function taking(
  take: readonly number[],
  over: Partial<ExchangeTurn> = {},
): Pick<TurnOpening, "exchange"> {
  return { exchange: { take, begins: false, limit: NO_LIMIT, ...over } };
}

/** A request for the summary before a turn. */
export function newSummary(stepKey: number, turnIndex: number): SummaryOpening {
  return { stepKey, turnIndex, reserve: { tokens: 100, microDollars: 1_000 } };
}

/** A compaction before a turn, by a function if no call is given. */
export function newCompaction(
  stepKey: number,
  turnIndex: number,
  over: Partial<Compaction> = {},
): Compaction {
  const fingerprint = { hash: FINGERPRINT, document: FINGERPRINT_DOCUMENT };
  return { stepKey, turnIndex, summary: "They talked.", fingerprint, call: null, ...over };
}

/** A conversation, held by this test. */
export class SampleTalk {
  readonly run: SampleRun;

  constructor(run: SampleRun) {
    this.run = run;
  }

  static async create(store: Store, runId = "run-1"): Promise<SampleTalk> {
    return new SampleTalk(await SampleRun.create(store, runId, { shape: TALK_SHAPE, input: null }));
  }

  get store(): Store {
    return this.run.store;
  }

  /** Sends a text. Returns its number. */
  async say(id: string, mode: MessageMode = "queue", by = "ann"): Promise<number> {
    const { messageNo } = await this.store.sendMessage(this.run.runId, text(id, { mode, by: { by } }));
    return messageNo;
  }

  /** Opens the first turn of an exchange. */
  begin(turn: number, ...take: readonly number[]): Promise<TurnOpened> {
    return this.run.open(turn, taking(take, { begins: true }));
  }

  /** Opens a further turn of the exchange. */
  go(turn: number, ...take: readonly number[]): Promise<TurnOpened> {
    return this.run.open(turn, taking(take));
  }

  /** Answers the open turn, completely if nothing else is said. */
  answer(turn: number, over: Partial<TurnCommit> = {}): Promise<TurnCommitted> {
    const { run } = this;
    const journal = run.journal(turn);
    return run.store.commitTurn(
      run.fence,
      run.commit(turn, { journal, isComplete: true, unlessMessages: true, messages: 2, ...over }),
    );
  }

  /** The wait for the next message. */
  mailWait(after: number, dueInMs?: number): NewMailWait {
    return {
      kind: "message",
      question: "It waits for a message.",
      subject: mailSubject(this.run.step.path, after),
      ...(dueInMs === undefined
        ? {}
        : { due: { inMs: dueInMs }, onDue: { action: "answer", value: CLOSED } }),
    };
  }

  mailbox() {
    return this.store.readMailbox(this.run.runId, this.run.stepKey);
  }

  /** The messages, each with its status and the turn and exchange that took it. */
  async messages(): Promise<unknown[]> {
    const messages = await this.store.listMessages(this.run.runId);
    return messages.map(({ id, status, takenBy }) => [
      id,
      status,
      ...(takenBy === null ? [] : [takenBy.turn, takenBy.exchange]),
    ]);
  }

  /** The exchanges, each with its turns and how it ended. */
  async exchanges(): Promise<unknown[]> {
    const exchanges = await this.store.listExchanges(this.run.runId);
    return exchanges.map(({ sentBy, firstTurn, lastTurn, outcome }) => [
      sentBy,
      firstTurn,
      lastTurn,
      outcome,
    ]);
  }
}

/**
 * A conversation with an exchange of each kind: "talk" has one that is complete, one that was stopped, and one that
 * is open. Before the last one its history was compacted.
 */
export async function talkScenario(store: Store): Promise<SampleTalk> {
  const talk = await SampleTalk.create(store, "talk");
  const { run } = talk;
  await talk.begin(1, await talk.say("one"));
  const more = await talk.say("more", "steer");
  await talk.answer(1, { isComplete: false, next: run.opening(2, taking([more])) });
  await talk.answer(2);
  await talk.begin(3, await talk.say("two"));
  await store.settleModelCall(run.fence, { stepKey: run.stepKey, turnIndex: 3, attempt: 1, charge: CHARGE });
  await store.requestStop("talk", { by: "ben" });
  const why = "stopped by ben";
  await store.endExchange(run.fence, { stepKey: run.stepKey, outcome: "stopped", why });
  await store.openSummary(run.fence, newSummary(run.stepKey, 3));
  const call = { stepKey: run.stepKey, turnIndex: 3, attempt: 2, charge: CHARGE };
  await store.compactHistory(run.fence, newCompaction(run.stepKey, 3, { call }));
  await talk.begin(3, await talk.say("three", "interrupt", "ben"));
  await store.journalResponse(run.fence, run.journal(3, ["running"], { attempt: 3 }));
  await store.commitTurn(
    run.fence,
    run.commit(3, { receipts: [newReceipt(1)], unlessMessages: true, messages: 4 }),
  );
  await talk.say("four", "steer");
  await talk.say("five", "steer", "ben");
  await talk.go(4);
  await store.interruptRun(run.fence);
  return talk;
}

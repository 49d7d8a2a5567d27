import type { Json } from "../../core/json.ts";
import type { Message } from "../../core/message.ts";
import { withoutDigests } from "../../core/secret/secret-mark.ts";
import { inTurns, withSaid } from "../../core/turn/conversation-view.ts";
import {
  type EarlierMessages,
  firstKept,
  type MessageGroup,
  truncateMiddleOut,
} from "../../core/turn/history-truncation.ts";
import { type Misfit, type MisfitStreaks, streaksAfter } from "../../core/turn/misfits.ts";
import type { StoredTurns } from "../../core/turn/turn-decision.ts";
import { resultLimits } from "../../core/usage/result-share.ts";
import { estimateMessageTokens, type TextEstimator } from "../../core/usage/token-estimate.ts";
import { type HistoryBeginning, headMessages } from "../../store/history.ts";
import type { Conversation, TakenMessage, TurnRecord } from "../../store/store.ts";
import { AbandonedCalls } from "../call/call-abandoned.ts";
import { CallOccurrences } from "../call/call-occurrences.ts";
import type { PreparedAgent } from "../definition/agent.ts";
import type { GranularOptions } from "../definition/step.ts";
import type { RunWith } from "../run/active-run.ts";
import { BlobHydrator } from "../run/blob-hydrator.ts";
import { storedMisfits } from "./turn-misfits.ts";
import { recordedContent, TurnView } from "./turn-view.ts";

/** A model call with a reservation in the store that is not settled yet. */
export type OpenModelCall = {
  readonly turnIndex: number;
  readonly attempt: number;
  readonly reserved: { readonly tokens: number; readonly microDollars: number };
};

/** `continue`: the open turn is completed. `abandon`: it is settled, and the step restarts from a milestone. */
export type OpenTurnMode = "continue" | "abandon";

/** Everything that a conversation is loaded from, beside the store. */
export type ConversationSource = {
  readonly stepKey: number;
  readonly agent: PreparedAgent;
  readonly input: Json;
  /** The rendered instructions. */
  readonly prompt: string;
  readonly options: GranularOptions;
  readonly mode: OpenTurnMode;
  /** True if its messages come from people, as it goes. */
  readonly isConversation: boolean;
};

type LoadedParts = {
  readonly turns: TurnView;
  readonly heads: Heads;
  readonly stored: Conversation;
  /** The turns that the model will see. Those before them are only counted. */
  readonly tail: MessageGroup[];
  readonly earlier: EarlierMessages;
  readonly misfits: MisfitStreaks;
};

/**
 * The conversation of one granular step, loaded by the worker that holds the run. Of the history it holds only as much as
 * the model may see; older turns are counted, not kept in memory.
 */
export class LoadedConversation {
  readonly stepKey: number;
  /** Renders its turns for the model. */
  readonly turns: TurnView;
  readonly #maxTokens: number;
  readonly #heads: Heads;
  #prompt: string;
  #head: MessageGroup;
  readonly #storedFingerprint: { readonly hash: string; readonly document: Json } | null;
  #tail: MessageGroup[];
  #earlier: EarlierMessages;
  #committed: number;
  #tokens: number;
  #isComplete: boolean;
  /** The response of the last committed turn. The final output is read from it. */
  #lastTurn: TurnRecord["response"] | null;
  journaled: TurnRecord | null;
  openCall: OpenModelCall | null = null;
  /** What the model sent last that did not fit a schema. */
  misfits: MisfitStreaks;
  /** The last committed turn when this was loaded. */
  readonly loadedTurn: number;
  readonly occurrences: CallOccurrences;
  /** Successful calls of the turns that this lineage abandoned. */
  readonly abandoned: AbandonedCalls;
  /** The first turn since the step last went back to a milestone. */
  readonly firstTurn: number;
  readonly isConversation: boolean;
  /** True if its history begins with a summary. */
  readonly isCompacted: boolean;
  /** The messages that the next turn has taken. */
  taken: readonly Pick<TakenMessage, "body" | "refused">[];
  /** What the opening of the next turn takes from the mailbox; null for a step that is no conversation. */
  taking: TurnTaking | null = null;

  private constructor(
    { stepKey, prompt, options, isConversation }: ConversationSource,
    { turns, heads, stored, tail, earlier, misfits }: LoadedParts,
    { runId, store }: RunWith<"runId" | "store">,
  ) {
    this.stepKey = stepKey;
    this.turns = turns;
    this.#heads = heads;
    this.#prompt = prompt;
    this.#head = heads.withPrompt(prompt);
    this.#maxTokens = options.historyMaxTokens;
    this.#storedFingerprint = stored.fingerprint;
    this.#committed = stored.turnIndex;
    this.#tokens = stored.tokens;
    this.isCompacted = stored.summary !== null;
    this.loadedTurn = stored.turnIndex;
    this.misfits = misfits;
    this.#isComplete = stored.isComplete;
    this.#tail = tail;
    this.#earlier = earlier;
    this.#lastTurn = stored.tail.at(-1)?.response ?? null;
    this.journaled = stored.journaled;
    this.isConversation = isConversation;
    this.taken = stored.taken;
    const isNew = stored.turnIndex === 0 && stored.journaled === null;
    this.occurrences = new CallOccurrences((key) => store.hasToolCall(runId, key), { knowsAll: isNew });
    this.abandoned = new AbandonedCalls(runId, store, stored.lineages);
    this.firstTurn = stored.lineages.at(-1)?.firstTurn ?? 1;
  }

  /** Reads everything that the next turn needs, including the large results that the model will see. */
  static async load(
    run: RunWith<"runId" | "store" | "observe">,
    source: ConversationSource,
  ): Promise<LoadedConversation> {
    const { stepKey, agent, input, prompt: text, options, mode, isConversation } = source;
    const { historyMaxTokens } = options;
    const { prompt, tools, estimate } = agent;
    const limits = resultLimits(historyMaxTokens, options.maxResultTokens);
    const stored = await run.store.readConversation(run.runId, stepKey, historyMaxTokens, limits);
    const isAbandoned = mode === "abandon";
    const turns = new TurnView(agent, limits);
    const heads = new Heads(
      { input, isConversation, summary: stored.summary, isInputRefused: stored.isInputRefused },
      estimate,
      prompt.isFixed ? text : "",
    );
    const read = stored.tail.map((turn) => ({ turn, tokens: turns.tokens(recordedContent(turn)) }));
    const first = isAbandoned ? read.length : firstKept(heads.smallest, read, historyMaxTokens);
    const hydrator = new BlobHydrator(run, (name) => {
      if (!options.degradedReplay) return false;
      const recovery = tools.get(name)?.recovery;
      return recovery === "repeat" || recovery === "keyed";
    });
    const tail: MessageGroup[] = [];
    // One turn at a time: of its large results, only the excerpt that is shown stays in memory.
    for (const { turn } of read.slice(first))
      tail.push(turns.group(recordedContent(await hydrator.turn(turn))));
    const earlier = {
      messages: stored.messages - tail.reduce((sum, group) => sum + group.messages.length, 0),
      // Turns that were not read need no count: the store stops reading only after the limit is exceeded.
      tokens: read.slice(0, first).reduce((sum, { tokens }) => sum + tokens, 0),
    };
    const journaled =
      stored.journaled === null || isAbandoned ? stored.journaled : await hydrator.turn(stored.journaled);
    const misfits = isAbandoned ? [] : await storedMisfits(agent, stored.tail);
    return new LoadedConversation(
      source,
      { turns, heads, stored: { ...stored, journaled }, tail, earlier, misfits },
      run,
    );
  }

  /** The instructions of the next request. */
  get prompt(): string {
    return this.#prompt;
  }

  set prompt(text: string) {
    if (text === this.#prompt) return;
    this.#prompt = text;
    this.#head = this.#heads.withPrompt(text);
  }

  get committed(): number {
    return this.#committed;
  }

  /** The size of the turns of this lineage, whether the model still sees them or not. */
  get tokens(): number {
    return this.#tokens;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  get lastResponse(): TurnRecord["response"] | null {
    return this.#lastTurn;
  }

  get storedFingerprint(): { readonly hash: string; readonly document: Json } | null {
    return this.#storedFingerprint;
  }

  /** The facts for `decideTurn`. */
  stored(): StoredTurns {
    return {
      committed: this.#committed,
      journaled: this.journaled?.turnIndex ?? null,
      isComplete: this.#isComplete,
      fingerprint: this.#storedFingerprint?.hash ?? null,
    };
  }

  /** The messages that the model sees, without the instructions and without the digests of hidden values. */
  view(): readonly Message[] {
    return this.#shown(withSaid(this.#tail, this.turns.said(this.#said())));
  }

  /** The same, without what the next turn is about. */
  past(): readonly Message[] {
    return this.#shown(this.#tail);
  }

  #shown(tail: readonly MessageGroup[]): readonly Message[] {
    const { messages } = this.#request(this.#head, tail);
    const shown = messages[0]?.role === "system" ? messages.slice(1) : messages;
    return this.isConversation ? inTurns(shown) : shown;
  }

  /** What the next turn answers: the messages that it has taken, and those that it takes as it is opened. */
  #said(): readonly Pick<TakenMessage, "body" | "refused">[] {
    return [...this.taken, ...(this.taking?.messages ?? [])];
  }

  /** The number of tokens that the model will see, with `pending` appended, and with these instructions. */
  viewTokens(pending: PendingTurn | null = null, prompt: string = this.#prompt): number {
    const tail =
      pending === null
        ? withSaid(this.#tail, this.turns.said(this.#said()))
        : withSaid([...this.#tail, pending.group], this.turns.said(pending.taken));
    const head = prompt === this.#prompt ? this.#head : this.#heads.withPrompt(prompt);
    return this.#request(head, tail).tokens;
  }

  #request(head: MessageGroup, tail: readonly MessageGroup[]): MessageGroup {
    return this.turns.withNewestFiles(truncateMiddleOut(head, tail, this.#maxTokens, this.#earlier));
  }

  /** The turn takes these messages: they are its own from now on. */
  take(): void {
    this.taken = this.#said();
    if (this.taking !== null) this.taking = NOTHING_TAKEN;
  }

  /** An exchange begins after the complete answer of the last one. What did not fit then no longer counts. */
  beginExchange(taking: TurnTaking): void {
    this.#isComplete = false;
    this.misfits = [];
    this.taking = taking;
  }

  /** An exchange has ended without a complete answer. */
  endExchange(): void {
    this.#isComplete = true;
    this.taking = null;
  }

  /** Adds a committed turn to the tail. Turns that the model can no longer see are dropped and only counted. */
  advance({ turnIndex, group, tokens: added, response, isComplete, misfits }: CommittedTurn): void {
    if (turnIndex !== this.#committed + 1)
      throw new Error(`Turn ${turnIndex} does not follow ${this.#committed}.`);
    this.#committed = turnIndex;
    this.#tokens += added;
    this.#isComplete = isComplete;
    this.#lastTurn = response;
    this.misfits = streaksAfter(this.misfits, misfits);
    this.journaled = null;
    this.taken = [];
    this.taking = null;
    this.#tail.push(group);
    const { smallest } = this.#heads;
    const dropped = this.#tail.splice(0, firstKept(smallest, this.#tail, this.#maxTokens, this.#earlier));
    for (const { messages, tokens } of dropped) {
      this.#earlier = {
        messages: this.#earlier.messages + messages.length,
        tokens: this.#earlier.tokens + tokens,
      };
    }
  }
}

/** A turn that is opened again takes nothing more. */
const NOTHING_TAKEN: TurnTaking = { messages: [], begins: false };

/** What a turn takes from the mailbox as it is opened. */
export type TurnTaking = {
  readonly messages: readonly { readonly messageNo: number; readonly body: Json }[];
  /** The turn begins an exchange. */
  readonly begins: boolean;
  /** Why the history was not compacted before the exchange, although it was to be. */
  readonly uncompacted?: string;
};

/** A turn that is about to be committed, and what the turn after it takes. */
type PendingTurn = {
  readonly group: MessageGroup;
  readonly taken: readonly Pick<TakenMessage, "body" | "refused">[];
};

/** A turn that has just been committed. */
type CommittedTurn = {
  readonly turnIndex: number;
  readonly group: MessageGroup;
  /** The size of the whole turn, as it is stored. */
  readonly tokens: number;
  readonly response: TurnRecord["response"];
  readonly isComplete: boolean;
  readonly misfits: readonly Misfit[];
};

type HeadInput = HistoryBeginning & Pick<ConversationSource, "input">;

/** The first messages of a conversation, instructions and input, with their token count. */
class Heads {
  readonly #given: HeadInput;
  readonly #estimate: TextEstimator;
  /** With the shortest possible instructions: a turn that does not fit beside them is never shown again. */
  readonly smallest: MessageGroup;

  constructor(given: HeadInput, estimate: TextEstimator, shortest: string) {
    this.#given = given;
    this.#estimate = estimate;
    this.smallest = this.withPrompt(shortest);
  }

  withPrompt(prompt: string): MessageGroup {
    const messages = headMessages(prompt, this.#given.input, this.#given);
    const tokens = messages.reduce((sum, each) => sum + estimateMessageTokens(each, this.#estimate), 0);
    return { messages: withoutDigests(messages), tokens };
  }
}

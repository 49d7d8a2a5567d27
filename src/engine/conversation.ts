import {
  type EarlierMessages,
  firstKept,
  type MessageGroup,
  PLACEHOLDER_TOKENS,
  truncateMiddleOut,
} from "../core/history-truncation.ts";
import type { Json } from "../core/json.ts";
import type { Message } from "../core/message.ts";
import { estimateMessageTokens, type TokenEstimator } from "../core/token-estimate.ts";
import type { StoredTurns } from "../core/turn-decision.ts";
import { headMessages, partsOf, turnMessages } from "../store/history.ts";
import type { Store, Conversation as StoredConversation, TurnRecord } from "../store/store.ts";
import { AbandonedCalls } from "./abandoned-calls.ts";
import type { PreparedAgent } from "./agent.ts";
import { CallOccurrences } from "./call-occurrences.ts";
import { Hydrator } from "./hydrator.ts";
import type { RunHandle } from "./run-handle.ts";
import type { GranularOptions } from "./step.ts";

/** A model call that is reserved for in the store and not yet settled. */
export type OpenModelCall = {
  readonly turnIndex: number;
  readonly attempt: number;
  readonly reserved: { readonly tokens: number; readonly microDollars: number };
};

/**
 * The conversation of one granular step while a worker has it: what the store holds, and beside it only as much of
 * the history as the model may see. What is older is counted, not kept.
 */
export class Conversation {
  readonly stepKey: number;
  readonly #maxTokens: number;
  readonly #heads: Heads;
  #prompt: string;
  #head: MessageGroup;
  readonly #storedFingerprint: { readonly hash: string; readonly document: Json } | null;
  #tail: MessageGroup[];
  #earlier: EarlierMessages;
  #committed: number;
  #isComplete: boolean;
  /** The response of the turn committed last: the final output is read from it. */
  #lastTurn: TurnRecord["response"] | null;
  journaled: TurnRecord | null;
  openCall: OpenModelCall | null = null;
  readonly occurrences: CallOccurrences;
  /** What the turns that this line of history left behind have had. */
  readonly abandoned: AbandonedCalls;
  /** The first turn of this line of history. */
  readonly firstTurn: number;

  private constructor(
    stepKey: number,
    heads: Heads,
    prompt: string,
    maxTokens: number,
    stored: StoredConversation,
    tail: MessageGroup[],
    store: Store,
  ) {
    this.stepKey = stepKey;
    this.#heads = heads;
    this.#prompt = prompt;
    this.#head = heads.of(prompt);
    this.#maxTokens = maxTokens;
    this.#storedFingerprint = stored.fingerprint;
    this.#committed = stored.turnIndex;
    this.#isComplete = stored.isComplete;
    this.#tail = tail;
    this.#earlier = tail.reduce(
      (rest, group) => ({
        messages: rest.messages - group.messages.length,
        tokens: rest.tokens - group.tokens,
      }),
      { messages: stored.messages, tokens: stored.tokens },
    );
    this.#lastTurn = stored.tail.at(-1)?.response ?? null;
    this.journaled = stored.journaled;
    const isNew = stored.turnIndex === 0 && stored.journaled === null;
    this.occurrences = new CallOccurrences((key) => store.hasToolCall(key), isNew);
    this.abandoned = new AbandonedCalls(store, stored.lineages);
    this.firstTurn = stored.lineages.at(-1)?.firstTurn ?? 1;
  }

  /**
   * Reads what the next turn needs, with the large results that the model will see. Without a prompt the conversation is one
   * that is to be left: nothing of it is shown any more.
   */
  static async load(
    run: RunHandle,
    stepKey: number,
    { prompt, tools }: PreparedAgent,
    input: Json,
    text: string | null,
    options: GranularOptions,
  ): Promise<Conversation> {
    const stored = await run.store.readConversation(stepKey, options.historyMaxTokens);
    const isLeft = text === null;
    const heads = new Heads(input, run.estimateTokens, prompt.isFixed ? (text ?? "") : "");
    const groups = stored.tail.map((turn) => ({ turn, tokens: turnTokens(turn, run.estimateTokens) }));
    const unread = {
      messages:
        stored.messages - stored.tail.reduce((sum, turn) => sum + turnMessages(partsOf(turn)).length, 0),
      tokens: stored.tokens - groups.reduce((sum, group) => sum + group.tokens, 0),
    };
    const seen = isLeft
      ? []
      : groups.slice(firstKept(heads.smallest, groups, options.historyMaxTokens, unread));
    const hydrator = new Hydrator(run, options.degradedReplay, (name) => {
      const recovery = tools.get(name)?.recovery;
      return recovery === "repeat" || recovery === "keyed";
    });
    const tail: MessageGroup[] = [];
    for (const { turn, tokens } of seen)
      tail.push({ messages: turnMessages(partsOf(await hydrator.turn(turn))), tokens });
    const journaled =
      stored.journaled === null || isLeft ? stored.journaled : await hydrator.turn(stored.journaled);
    const { historyMaxTokens } = options;
    return new Conversation(
      stepKey,
      heads,
      text ?? "",
      historyMaxTokens,
      { ...stored, journaled },
      tail,
      run.store,
    );
  }

  /** The instructions, as the next request will carry them. */
  get prompt(): string {
    return this.#prompt;
  }

  set prompt(text: string) {
    if (text === this.#prompt) return;
    this.#prompt = text;
    this.#head = this.#heads.of(text);
  }

  get committed(): number {
    return this.#committed;
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

  /** What `decideTurn` looks at. */
  stored(): StoredTurns {
    return {
      committed: this.#committed,
      journaled: this.journaled?.turnIndex ?? null,
      isComplete: this.#isComplete,
      fingerprint: this.#storedFingerprint?.hash ?? null,
    };
  }

  /** What the model sees, without the instructions. */
  view(): readonly Message[] {
    const messages = truncateMiddleOut(this.#head, this.#tail, this.#maxTokens, this.#earlier);
    return messages[0]?.role === "system" ? messages.slice(1) : messages;
  }

  /** How many tokens the model will see, with `pending` behind what is there, and with these instructions. */
  viewTokens(pending: MessageGroup | null = null, prompt: string = this.#prompt): number {
    const tail = pending === null ? this.#tail : [...this.#tail, pending];
    const head = prompt === this.#prompt ? this.#head : this.#heads.of(prompt);
    const first = firstKept(head, tail, this.#maxTokens, this.#earlier);
    const isTruncated = first > 0 || this.#earlier.messages > 0;
    let tokens = head.tokens + (isTruncated ? PLACEHOLDER_TOKENS : 0);
    for (let i = first; i < tail.length; i++) tokens += tail[i]?.tokens ?? 0;
    return tokens;
  }

  /** Follows a commit: the turn joins the tail, and what the model cannot see any more is only counted. */
  advance(
    turnIndex: number,
    group: MessageGroup,
    response: TurnRecord["response"],
    isComplete: boolean,
  ): void {
    if (turnIndex !== this.#committed + 1)
      throw new Error(`Turn ${turnIndex} does not follow ${this.#committed}.`);
    this.#committed = turnIndex;
    this.#isComplete = isComplete;
    this.#lastTurn = response;
    this.journaled = null;
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

/** The instructions and the first message, counted. */
class Heads {
  readonly #input: Json;
  readonly #estimate: TokenEstimator;
  /** With the shortest instructions there can be: what does not fit beside them is never seen again. */
  readonly smallest: MessageGroup;

  constructor(input: Json, estimate: TokenEstimator, shortest: string) {
    this.#input = input;
    this.#estimate = estimate;
    this.smallest = this.of(shortest);
  }

  of(prompt: string): MessageGroup {
    const messages = headMessages(prompt, this.#input);
    const tokens = messages.reduce((sum, each) => sum + estimateMessageTokens(each, this.#estimate), 0);
    return { messages, tokens };
  }
}

function turnTokens(turn: TurnRecord, estimate: TokenEstimator): number {
  const results = turn.calls.reduce((sum, call) => sum + (call.receipt?.tokens ?? 0), 0);
  const followUp =
    turn.followUp === null ? 0 : estimateMessageTokens({ role: "user", content: turn.followUp }, estimate);
  return turn.tokens + results + followUp;
}

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
import type { Conversation as StoredConversation, TurnRecord } from "../store/store.ts";
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
  readonly #head: MessageGroup;
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

  private constructor(
    stepKey: number,
    head: MessageGroup,
    maxTokens: number,
    stored: StoredConversation,
    tail: MessageGroup[],
    isTaken: (key: Buffer) => Promise<boolean>,
  ) {
    this.stepKey = stepKey;
    this.#head = head;
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
    this.occurrences = new CallOccurrences(isTaken, isNew);
  }

  /** Reads what the next turn needs, with the large results that the model will see. */
  static async load(
    run: RunHandle,
    stepKey: number,
    { agent, tools }: PreparedAgent,
    input: Json,
    options: GranularOptions,
  ): Promise<Conversation> {
    const stored = await run.store.readConversation(stepKey, options.historyMaxTokens);
    const headContent = headMessages(agent.instructions, input);
    const head = {
      messages: headContent,
      tokens: headContent.reduce(
        (sum, message) => sum + estimateMessageTokens(message, run.estimateTokens),
        0,
      ),
    };
    const groups = stored.tail.map((turn) => ({ turn, tokens: turnTokens(turn, run.estimateTokens) }));
    const unread = {
      messages:
        stored.messages - stored.tail.reduce((sum, turn) => sum + turnMessages(partsOf(turn)).length, 0),
      tokens: stored.tokens - groups.reduce((sum, group) => sum + group.tokens, 0),
    };
    const seen = groups.slice(firstKept(head, groups, options.historyMaxTokens, unread));
    const hydrator = new Hydrator(run, options.degradedReplay, (name) => {
      const recovery = tools.get(name)?.recovery;
      return recovery === "repeat" || recovery === "keyed";
    });
    const tail: MessageGroup[] = [];
    for (const { turn, tokens } of seen)
      tail.push({ messages: turnMessages(partsOf(await hydrator.turn(turn))), tokens });
    const journaled = stored.journaled === null ? null : await hydrator.turn(stored.journaled);
    return new Conversation(stepKey, head, options.historyMaxTokens, { ...stored, journaled }, tail, (key) =>
      run.store.hasToolCall(key),
    );
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

  /** How many tokens the model will see, with `pending` behind what is there. */
  viewTokens(pending: MessageGroup | null = null): number {
    const tail = pending === null ? this.#tail : [...this.#tail, pending];
    const first = firstKept(this.#head, tail, this.#maxTokens, this.#earlier);
    const isTruncated = first > 0 || this.#earlier.messages > 0;
    let tokens = this.#head.tokens + (isTruncated ? PLACEHOLDER_TOKENS : 0);
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
    const dropped = this.#tail.splice(0, firstKept(this.#head, this.#tail, this.#maxTokens, this.#earlier));
    for (const { messages, tokens } of dropped) {
      this.#earlier = {
        messages: this.#earlier.messages + messages.length,
        tokens: this.#earlier.tokens + tokens,
      };
    }
  }
}

function turnTokens(turn: TurnRecord, estimate: TokenEstimator): number {
  const results = turn.calls.reduce((sum, call) => sum + (call.receipt?.tokens ?? 0), 0);
  const followUp =
    turn.followUp === null ? 0 : estimateMessageTokens({ role: "user", content: turn.followUp }, estimate);
  return turn.tokens + results + followUp;
}

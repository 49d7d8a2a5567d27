import { outputForModel } from "../../core/call/duplicate-note.ts";
import { type ToolOutput, toolCallsOf } from "../../core/message.ts";
import { withoutDigests } from "../../core/secret/secret-mark.ts";
import type { MessageGroup } from "../../core/turn/history-truncation.ts";
import { type ShownOutput, shownOutput } from "../../core/usage/result-excerpt.ts";
import { type ResultLimits, shareOut } from "../../core/usage/result-share.ts";
import { withNewestFiles } from "../../core/usage/said-file.ts";
import { estimateMessageTokens } from "../../core/usage/token-estimate.ts";
import { turnMessages, userMessage } from "../../store/history.ts";
import type { Receipt, StoredResponse, TakenMessage, TurnRecord } from "../../store/store.ts";
import type { PreparedAgent } from "../definition/agent.ts";

/** The parts of a turn, with the token counts that were stored with them. */
export type TurnContent = FixedContent & {
  /** The results of the calls that Pawl ran, in call order. */
  readonly results: readonly CountedResult[];
};

/** The parts of a turn that are always shown in full. */
type FixedContent = {
  readonly response: StoredResponse;
  readonly tokens: number;
  readonly followUp: string | null;
  /** What a user said before the response. */
  readonly taken: readonly Pick<TakenMessage, "body" | "refused">[];
};

type CountedResult = { readonly output: ToolOutput; readonly tokens: number };

/** A result as the model sees it: cut to its share of the tokens. */
type VisibleResult = { readonly shown: ShownOutput; readonly tokens: number };

export function recordedContent({ response, tokens, calls, followUp, taken }: TurnRecord): TurnContent {
  const results = calls
    .slice(0, toolCallsOf(response.content).length)
    .flatMap(({ receipt }) => (receipt === null ? [] : [countedResult(receipt)]));
  return { response, tokens, results, followUp, taken };
}

/** The result of a call for the model, from its receipt: the same in the turn itself and after a restart. */
export function countedResult(
  receipt: Pick<Receipt, "status" | "output" | "errorCode" | "tokens">,
): CountedResult {
  return { output: outputForModel(receipt), tokens: receipt.tokens };
}

/** Renders turns for the model, with as much of their results as the limits allow. */
export class TurnView {
  readonly #agent: PreparedAgent;
  readonly #limits: ResultLimits;

  constructor(agent: PreparedAgent, limits: ResultLimits) {
    this.#agent = agent;
    this.#limits = limits;
  }

  /** The tokens of a turn as it is shown. Known without reading its large results. */
  tokens(turn: TurnContent): number {
    return this.#fixedTokens(turn) + sum(this.#shares(turn));
  }

  /** The tokens of the whole turn, as the store counts the history. */
  wholeTokens(turn: TurnContent): number {
    return this.#fixedTokens(turn) + sum(turn.results.map(({ tokens }) => tokens));
  }

  /** The messages of a turn. They outlive the turn, so they hold only the excerpts that are shown, not whole results. */
  group({ results, ...fixed }: TurnContent): MessageGroup {
    const names = toolCallsOf(fixed.response.content).map(({ toolName }) => toolName);
    const whole = results.map(({ output, tokens }, i) => ({
      shown: this.#whole(output, names[i] ?? ""),
      tokens,
    }));
    return this.#group(fixed, within(whole, this.#shares({ results })));
  }

  #group(fixed: FixedContent, results: readonly VisibleResult[]): MessageGroup {
    const { response, followUp, taken } = fixed;
    const fixedTokens = this.#fixedTokens(fixed);
    const counts = results.map(({ tokens }) => tokens);
    return {
      messages: withoutDigests(
        turnMessages({ response, outputs: results.map(({ shown }) => shown.output), followUp, taken }),
      ),
      tokens: fixedTokens + sum(counts),
      within: (maxTokens) => {
        const room = maxTokens - fixedTokens;
        return this.#group(fixed, within(results, shareOut(counts, { each: room, together: room })));
      },
    };
  }

  #shares({ results }: Pick<TurnContent, "results">): readonly number[] {
    return shareOut(
      results.map(({ tokens }) => tokens),
      this.#limits,
    );
  }

  #fixedTokens({ tokens, followUp, taken }: FixedContent): number {
    const said = tokens + this.#saidTokens(taken);
    if (followUp === null) return said;
    return said + estimateMessageTokens({ role: "user", content: followUp }, this.#agent.estimate);
  }

  #saidTokens(taken: FixedContent["taken"]): number {
    return sum(taken.map((message) => estimateMessageTokens(userMessage(message), this.#agent.estimate)));
  }

  /** What a user said before a response that has not come yet; null if nothing. */
  said(taken: FixedContent["taken"]): MessageGroup | null {
    if (taken.length === 0) return null;
    return { messages: withoutDigests(taken.map(userMessage)), tokens: this.#saidTokens(taken) };
  }

  /** The messages of a request, with no more files than it can have, and with their tokens. */
  withNewestFiles(shown: MessageGroup): MessageGroup {
    const messages = withNewestFiles(shown.messages);
    if (messages === shown.messages) return shown;
    const { estimate } = this.#agent;
    const changed = messages.map((message, i) => {
      const before = shown.messages[i] ?? message;
      return message === before
        ? 0
        : estimateMessageTokens(message, estimate) - estimateMessageTokens(before, estimate);
    });
    return { messages, tokens: shown.tokens + sum(changed) };
  }

  #whole(output: ToolOutput, toolName: string): ShownOutput {
    const { tools, estimate } = this.#agent;
    const tool = tools.get(toolName);
    const isRead = tool?.effect === "read_only" || tool?.recovery === "repeat";
    // Digests are removed before the cut: half a mark would leave part of a digest.
    return shownOutput(withoutDigests(output), { toolName, isRead, estimate });
  }
}

function within(results: readonly VisibleResult[], shares: readonly number[]): readonly VisibleResult[] {
  return results.map((result, i) => {
    const share = shares[i] ?? result.tokens;
    return share < result.tokens ? { shown: result.shown.within(share), tokens: share } : result;
  });
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

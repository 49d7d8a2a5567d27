import { type ToolOutput, toolCallsOf } from "../../core/message.ts";
import { withoutDigests } from "../../core/secret/secret-mark.ts";
import type { MessageGroup } from "../../core/turn/history-truncation.ts";
import { type ShownOutput, shownOutput } from "../../core/usage/result-excerpt.ts";
import { type ResultLimits, shareOut } from "../../core/usage/result-share.ts";
import { estimateMessageTokens } from "../../core/usage/token-estimate.ts";
import { turnMessages } from "../../store/history.ts";
import type { StoredResponse, TurnRecord } from "../../store/store.ts";
import type { PreparedAgent } from "../definition/agent.ts";

/** What a turn is made of, with the counts that were stored with its parts. */
export type TurnContent = TurnFrame & {
  /** Of the calls that Pawl ran, in their order. */
  readonly results: readonly CountedResult[];
};

/** What is always shown of a turn. */
type TurnFrame = {
  readonly response: StoredResponse;
  readonly tokens: number;
  readonly followUp: string | null;
};

type CountedResult = { readonly output: ToolOutput; readonly tokens: number };

/** A result as it is shown: never more than its share. */
type SharedResult = { readonly shown: ShownOutput; readonly tokens: number };

export function recordedContent({ response, tokens, calls, followUp }: TurnRecord): TurnContent {
  const results = calls
    .slice(0, toolCallsOf(response.content).length)
    .flatMap(({ receipt }) => (receipt === null ? [] : [{ output: receipt.output, tokens: receipt.tokens }]));
  return { response, tokens, results, followUp };
}

/** How turns are shown to the agent: as much of their results as the limits allow. */
export class TurnView {
  readonly #agent: PreparedAgent;
  readonly #limits: ResultLimits;

  constructor(agent: PreparedAgent, limits: ResultLimits) {
    this.#agent = agent;
    this.#limits = limits;
  }

  /** What a turn takes up. Known without reading its large results. */
  tokens(turn: TurnContent): number {
    return this.#fixedTokens(turn) + sumOf(this.#shares(turn));
  }

  /** What a turn takes up in the store's count of the history: all of it. */
  wholeTokens(turn: TurnContent): number {
    return this.#fixedTokens(turn) + sumOf(turn.results.map(({ tokens }) => tokens));
  }

  /** It outlives the turn, and must not hold on to its whole results: only to what is shown of them. */
  group({ results, ...frame }: TurnContent): MessageGroup {
    const names = toolCallsOf(frame.response.content).map(({ toolName }) => toolName);
    const whole = results.map(({ output, tokens }, i) => ({
      shown: this.#whole(output, names[i] ?? ""),
      tokens,
    }));
    return this.#group(frame, within(whole, this.#shares({ results })));
  }

  #group(frame: TurnFrame, results: readonly SharedResult[]): MessageGroup {
    const { response, followUp } = frame;
    const fixed = this.#fixedTokens(frame);
    const counts = results.map(({ tokens }) => tokens);
    return {
      messages: withoutDigests(
        turnMessages({ response, outputs: results.map(({ shown }) => shown.output), followUp }),
      ),
      tokens: fixed + sumOf(counts),
      within: (maxTokens) => {
        const room = maxTokens - fixed;
        return this.#group(frame, within(results, shareOut(counts, { each: room, together: room })));
      },
    };
  }

  #shares({ results }: Pick<TurnContent, "results">): readonly number[] {
    return shareOut(
      results.map(({ tokens }) => tokens),
      this.#limits,
    );
  }

  #fixedTokens({ tokens, followUp }: TurnFrame): number {
    if (followUp === null) return tokens;
    return tokens + estimateMessageTokens({ role: "user", content: followUp }, this.#agent.estimate);
  }

  #whole(output: ToolOutput, toolName: string): ShownOutput {
    const { tools, estimate } = this.#agent;
    const tool = tools.get(toolName);
    const isRead = tool?.effect === "read_only" || tool?.recovery === "repeat";
    // Before it is cut: half of a mark would be a part of a digest.
    return shownOutput(withoutDigests(output), { toolName, isRead, estimate });
  }
}

function within(results: readonly SharedResult[], shares: readonly number[]): readonly SharedResult[] {
  return results.map((result, i) => {
    const share = shares[i] ?? result.tokens;
    return share < result.tokens ? { shown: result.shown.within(share), tokens: share } : result;
  });
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

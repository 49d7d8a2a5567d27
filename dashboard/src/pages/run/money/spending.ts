import type { Answer } from "../../../api/client.ts";

export type ModelCall = Answer<"listModelCalls">["items"][number];
type Charge = NonNullable<ModelCall["charge"]>;

/** What was charged up to a time, in micro-dollars or tokens. */
export type SpendPoint = { readonly at: number; readonly spent: number };

export type SpendUnit = "microDollars" | "tokens";

/** The sum of the charges after each request, in the order in which they were settled. */
export function spendPoints(calls: readonly ModelCall[], unit: SpendUnit): readonly SpendPoint[] {
  const settled = calls
    .flatMap(({ charge, settledAt }) =>
      charge === null || settledAt === null
        ? []
        : [{ at: Date.parse(settledAt), amount: charge.amount[unit] }],
    )
    .sort((a, b) => a.at - b.at);
  let spent = 0;
  return settled.map(({ at, amount }) => {
    spent += amount;
    return { at, spent };
  });
}

/** The requests of one turn together. */
export type TurnSpend = {
  readonly stepPath: string;
  readonly turnIndex: number;
  readonly requests: number;
  /** Requests that are still open. */
  readonly open: number;
  /** Of its requests, each once: `baseline` is an estimate, `none` was free. */
  readonly bases: readonly Charge["basis"][];
  readonly usage: Charge["usage"];
  readonly charged: Charge["amount"];
};

const NOTHING: Pick<TurnSpend, "requests" | "open" | "bases" | "usage" | "charged"> = {
  requests: 0,
  open: 0,
  bases: [],
  usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
  charged: { tokens: 0, microDollars: 0 },
};

/** What each turn cost, in the order in which the turns were first asked for. */
export function turnSpends(calls: readonly ModelCall[]): readonly TurnSpend[] {
  const turns = new Map<string, TurnSpend>();
  for (const call of calls) {
    const { stepPath, turnIndex, charge } = call;
    const key = `${stepPath}#${turnIndex}`;
    const known = turns.get(key) ?? { stepPath, turnIndex, ...NOTHING };
    turns.set(
      key,
      charge === null
        ? { ...known, requests: known.requests + 1, open: known.open + 1 }
        : plus(known, charge),
    );
  }
  return [...turns.values()];
}

function plus(turn: TurnSpend, { basis, usage, amount }: Charge): TurnSpend {
  return {
    ...turn,
    requests: turn.requests + 1,
    bases: turn.bases.includes(basis) ? turn.bases : [...turn.bases, basis],
    usage: {
      inputTokens: turn.usage.inputTokens + usage.inputTokens,
      outputTokens: turn.usage.outputTokens + usage.outputTokens,
      cachedInputTokens: turn.usage.cachedInputTokens + usage.cachedInputTokens,
      reasoningTokens: turn.usage.reasoningTokens + usage.reasoningTokens,
    },
    charged: {
      tokens: turn.charged.tokens + amount.tokens,
      microDollars: turn.charged.microDollars + amount.microDollars,
    },
  };
}

/** Fewer points that look the same: the last one of each of `most` equal parts of the time. */
export function thinned(points: readonly SpendPoint[], most: number): readonly SpendPoint[] {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length <= most || first === undefined || last === undefined) return points;
  const part = Math.max(1, (last.at - first.at) / most);
  return points.filter((point, index) => {
    const next = points[index + 1];
    return (
      next === undefined || Math.floor((next.at - first.at) / part) > Math.floor((point.at - first.at) / part)
    );
  });
}

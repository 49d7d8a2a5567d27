import type { ToolCallKey } from "../../store/store.ts";
import type { RunWith } from "../run/active-run.ts";

type CorrelationRun = RunWith<"store" | "fence" | "policy">;
type CorrelatedCall = ToolCallKey & { readonly ownSecrets: readonly string[] };

/** The outside system's id of one call attempt: known in memory at once, durable when `keep` resolves. */
export class Correlation {
  readonly #run: CorrelationRun;
  readonly #call: CorrelatedCall;
  readonly #attempt: number;
  #id: string | null;

  constructor(run: CorrelationRun, call: CorrelatedCall, attempt: number, id: string | null) {
    this.#run = run;
    this.#call = call;
    this.#attempt = attempt;
    this.#id = id;
  }

  get id(): string | null {
    return this.#id;
  }

  keep(id: unknown): Promise<void> {
    const {
      store,
      fence,
      policy: { secrets },
    } = this.#run;
    const { stepKey, turnIndex, callIndex, ownSecrets } = this.#call;
    const correlationId = secrets.withTexts(ownSecrets).hideText(String(id).toWellFormed());
    this.#id = correlationId;
    const attemptKey = { stepKey, turnIndex, callIndex, attempt: this.#attempt };
    const kept = store.correlateToolCall(fence, { ...attemptKey, correlationId });
    // If the tool does not await it, the id is stored with the receipt.
    kept.catch(() => undefined);
    return kept;
  }
}

import { ModelCallError } from "../../core/errors.ts";
import { decideRetry, type FailedAttempts, isOutage, type ModelRetry } from "../../core/turn/model-retry.ts";
import type { ModelOutage } from "../../store/store.ts";
import type { RunWith } from "../run/active-run.ts";
import { assertMayBegin, runDeadlineError } from "../run/deadline.ts";

/** Attempts in a row that the provider refused without working on them. */
type Outage = {
  /** Wall-clock time of the first refusal. */
  readonly since: number;
  readonly sinceMonotonic: number;
  readonly refusals: number;
  readonly last: ModelCallError;
};

/** What follows a failed attempt. */
export type NextAttempt = {
  /** Null if there is no next attempt, and `error` is thrown. */
  readonly inMs: number | null;
  readonly error: ModelCallError;
  /** The outage that the attempt failed in; null if it failed otherwise. */
  readonly outage: ModelOutage | null;
};

/** The failed attempts at one turn, in this process: decides whether and when there is another one. */
export class ModelRetries {
  readonly #run: RunWith<"runId" | "model" | "time" | "stop" | "contract">;
  #failures = 0;
  #outage: Outage | null = null;

  constructor(run: RunWith<"runId" | "model" | "time" | "stop" | "contract">) {
    this.#run = run;
  }

  /** Throws if the run must stop. After an outage, an error about the run's time limit says what the run waited for. */
  assertMayAsk(): void {
    const late = this.#outage === null ? null : runDeadlineError(this.#run);
    if (this.#outage === null || late === null) return assertMayBegin(this.#run);
    late.message = `${late.message} ${waitedFor(this.#outage)}`;
    late.cause = this.#outage.last;
    throw late;
  }

  /** Counts a failed attempt. */
  after(error: ModelCallError): NextAttempt {
    const { model, time } = this.#run;
    if (isOutage(error.details)) this.#outage = this.#outageWith(error);
    else {
      this.#failures += 1;
      this.#outage = null;
    }
    const limits = { maxAttempts: model.maxAttempts, maxOutageMs: model.maxOutageMs };
    const retry = decideRetry(error.details, this.#attempts(), limits, time.random());
    switch (retry.kind) {
      case "again":
      case "outage":
        return { inMs: retry.inMs, error, outage: this.#storedOutage(retry.inMs) };
      case "end":
        return { inMs: null, error, outage: this.#storedOutage(null) };
      case "outage_too_long":
        return { inMs: null, error: outageTooLong(error, retry), outage: this.#storedOutage(null) };
    }
  }

  #storedOutage(inMs: number | null): ModelOutage | null {
    if (this.#outage === null) return null;
    const { since, last } = this.#outage;
    const retryAt = inMs === null ? null : Math.round(this.#run.time.clock.now() + inMs);
    return { since, retryAt, status: last.details.status };
  }

  /** Waits before the next attempt, up to the deadline. Ends at once when the run is released or cancelled. */
  async pause(ms: number): Promise<void> {
    const {
      time: { clock, deadline },
      stop: { signal, releasing, cuts },
    } = this.#run;
    const cut = new AbortController();
    const stopListening = cuts.onCut((reason) => cut.abort(reason));
    const left = deadline === null ? ms : Math.max(0, deadline - clock.now());
    try {
      await clock.sleep(Math.min(ms, left), AbortSignal.any([signal, releasing, cut.signal]));
    } finally {
      stopListening();
      signal.throwIfAborted();
      releasing.throwIfAborted();
      cuts.throwIfCut();
    }
  }

  #outageWith(last: ModelCallError): Outage {
    const { clock } = this.#run.time;
    const { since, sinceMonotonic, refusals } = this.#outage ?? {
      since: clock.now(),
      sinceMonotonic: clock.monotonic(),
      refusals: 0,
    };
    return { since, sinceMonotonic, refusals: refusals + 1, last };
  }

  #attempts(): FailedAttempts {
    const outageMs =
      this.#outage === null ? 0 : this.#run.time.clock.monotonic() - this.#outage.sinceMonotonic;
    return { failures: this.#failures, refusals: this.#outage?.refusals ?? 0, outageMs };
  }
}

function outageTooLong(
  error: ModelCallError,
  { maxOutageMs, askedMs }: Extract<ModelRetry, { kind: "outage_too_long" }>,
): ModelCallError {
  const limit = `maxOutageMs of the Runner (${maxOutageMs})`;
  const why =
    askedMs === null
      ? `The outage has lasted for ${limit}.`
      : `The provider asks for a pause of ${askedMs} ms, which is longer than ${limit} allows.`;
  return new ModelCallError(
    `${error.message} ${why} Nothing was charged for refused requests. Resume when the provider takes requests again, or raise maxOutageMs.`,
    error.details,
    { cause: error },
  );
}

function waitedFor({ since, refusals, last }: Outage): string {
  const requests = refusals === 1 ? "1 request was" : `${refusals} requests were`;
  return `The run waited for its model since ${new Date(since).toISOString()}: ${requests} refused, and nothing was charged for that. The last refusal: ${last.message}`;
}

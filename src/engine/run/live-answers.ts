import type { LiveListener, LivePart } from "../../core/turn/live-part.ts";
import type { LiveAttempt, LiveParts } from "../../store/store.ts";
import type { LiveEventListener } from "../ports/live-events.ts";
import type { ModelResponse } from "../ports/model-port.ts";
import { hiddenLive } from "./hidden-live.ts";

/** Where the pieces of a run's answers go. */
export type LiveTargets = {
  /** Viewers of other processes read them here; null if the store has no such place. */
  readonly store: LiveParts | null;
  /** Listeners of this process; null if there are none. */
  readonly listener: LiveEventListener | null;
  /** True if every answer is streamed, and not only those that somebody watches. */
  readonly isAlways: boolean;
  readonly secrets: Parameters<typeof hiddenLive>[0];
  readonly warn: (message: string) => void;
};

/** One attempt whose answer is shown while it is written. */
export interface LiveAnswer {
  readonly listener: LiveListener;
  /** The answer is whole, and is journaled next. */
  answered(response: ModelResponse): void;
  /** There is no answer: what was shown is withdrawn. */
  failed(why: "failed" | "interrupted"): void;
}

/** Shows the answers of one run while they are written. Warns once of each reason why that does not work well. */
export class LiveAnswers {
  readonly #targets: LiveTargets;
  readonly #warned = new Set<"trouble" | "usage">();

  constructor(targets: LiveTargets) {
    this.#targets = targets;
  }

  /** False if nobody would see it: then the model is asked for the whole answer. */
  async isWanted(runId: string): Promise<boolean> {
    const { store, listener, isAlways } = this.#targets;
    if (listener !== null || store === null) return listener !== null;
    return isAlways || (await store.isWatched(runId));
  }

  begin(attempt: LiveAttempt): LiveAnswer {
    const { store, listener, secrets } = this.#targets;
    const sink = store?.begin(attempt, (reason) => this.#warnOfTrouble(reason));
    const { epoch: _, ...place } = attempt;
    let hasShown = false;
    let isOver = false;
    const show = (part: LivePart) => {
      if (isOver) return;
      hasShown = true;
      sink?.part(part);
      listener?.({ type: "part", ...place, ...part });
    };
    const end = () => {
      isOver = true;
      sink?.end();
    };
    return {
      listener: guarded(hiddenLive(secrets, show)),
      answered: ({ usage }) => {
        end();
        if (hasShown && usage === null) this.#warnOfUsage();
      },
      failed: (why) => {
        end();
        if (hasShown) guarded(() => listener?.({ type: "attempt.withdrawn", ...place, why }))();
      },
    };
  }

  #warnOfTrouble(reason: string): void {
    this.#warnOnce(
      "trouble",
      `Its answers are not shown while they are written, the run itself is not affected. The reason: ${reason}.`,
    );
  }

  #warnOfUsage(): void {
    this.#warnOnce(
      "usage",
      "A streamed answer came without usage figures, so it is charged its whole reservation: ask the provider for figures (includeUsage: true, with many OpenAI-compatible ones), or give the Runner live: false.",
    );
  }

  #warnOnce(what: "trouble" | "usage", message: string): void {
    if (this.#warned.has(what)) return;
    this.#warned.add(what);
    this.#targets.warn(message);
  }
}

/** A port's stream must not fail because of those who watch it. */
function guarded<A extends readonly unknown[]>(call: (...args: A) => void): (...args: A) => void {
  return (...args) => {
    try {
      call(...args);
    } catch {
      // The listener's own error.
    }
  };
}

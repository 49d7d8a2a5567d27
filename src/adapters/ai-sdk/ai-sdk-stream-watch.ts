// When to stop waiting for a provider.

import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";

/** An answer that stopped arriving while the model wrote. */
export class StreamIdleError extends Error {
  override readonly name = "StreamIdleError";
  readonly idleMs: number;

  constructor(idleMs: number) {
    super(`Nothing came for ${idleMs} ms.`);
    this.idleMs = idleMs;
  }
}

/** Enforces an abort even if a provider with its own transport ignores the signal. */
export async function unlessAborted<T>(answer: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => {
    aborted.reject(reasonOf(signal));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([answer, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

export function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/** Aborts with the outer signal, and once nothing has come for too long while the model wrote. */
export class StreamWatch {
  readonly #stop = new AbortController();
  readonly #outer: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = () => this.#stop.abort(this.#outer.reason);
  #isWriting = false;

  constructor(outer: AbortSignal, idleMs: number) {
    this.#outer = outer;
    outer.addEventListener("abort", this.#onAbort, { once: true });
    this.#timer = setTimeout(() => {
      if (this.#isWriting) this.#stop.abort(new StreamIdleError(idleMs));
      else this.#timer.refresh();
    }, idleMs);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /**
   * A part came. Pauses count only while the model writes: before its first word, while it reasons and while the provider
   * runs a tool, minutes without a part are usual, and the time limit of the whole request applies.
   */
  saw(part: LanguageModelV4StreamPart): void {
    this.#timer.refresh();
    this.#isWriting = isWriting(part) ?? this.#isWriting;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener("abort", this.#onAbort);
  }
}

/** Null for a part that is not about the model's writing. */
function isWriting(part: LanguageModelV4StreamPart): boolean | null {
  switch (part.type) {
    case "text-start":
    case "text-delta":
    case "text-end":
    case "tool-input-delta":
      return true;
    case "tool-input-start":
    case "tool-call":
      return part.providerExecuted !== true;
    case "reasoning-start":
    case "reasoning-delta":
    case "reasoning-end":
    case "tool-result":
    case "tool-approval-request":
      return false;
    case "tool-input-end":
    case "stream-start":
    case "response-metadata":
    case "custom":
    case "file":
    case "reasoning-file":
    case "source":
    case "finish":
    case "error":
    case "ping":
    case "raw":
      return null;
  }
}

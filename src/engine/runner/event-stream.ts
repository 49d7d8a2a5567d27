import type { RunEvent, RunEventListener } from "../ports/run-events.ts";

/** Makes an async iterable of the events that a run emits. */
export class EventStream {
  readonly #start: (listener: RunEventListener, signal: AbortSignal) => Promise<unknown>;
  readonly #cancel: AbortSignal | undefined;

  constructor(
    start: (listener: RunEventListener, signal: AbortSignal) => Promise<unknown>,
    cancel: AbortSignal | undefined,
  ) {
    this.#start = start;
    this.#cancel = cancel;
  }

  /** Ends when the run ends, and throws the run's error. Cancels the run if the reader leaves the loop early. */
  async *events(): AsyncGenerator<RunEvent, void, undefined> {
    const queue: RunEvent[] = [];
    let wake = Promise.withResolvers<void>();
    let ended = false;
    const left = new AbortController();
    const signal = this.#cancel === undefined ? left.signal : AbortSignal.any([this.#cancel, left.signal]);
    const run = this.#start((event) => {
      queue.push(event);
      wake.resolve();
    }, signal).finally(() => {
      ended = true;
      wake.resolve();
    });
    run.catch(() => undefined); // Awaited below; until then a rejection must not count as unhandled.
    try {
      while (!ended || queue.length > 0) {
        const event = queue.shift();
        if (event !== undefined) {
          yield event;
          continue;
        }
        await wake.promise;
        wake = Promise.withResolvers<void>();
      }
      await run;
    } finally {
      left.abort(new Error("The reader of the stream left."));
      await run.catch(() => undefined);
    }
  }
}

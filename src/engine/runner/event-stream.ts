import type { LiveEvent } from "../ports/live-events.ts";
import type { RunEvent, RunEventListener } from "../ports/run-events.ts";

/** Puts an event into the stream, as long as somebody reads it. */
type Push<E> = (event: E) => void;

/** What an event stream needs to know about its run. */
export type StreamedRun = {
  readonly start: (
    listener: RunEventListener,
    signal: AbortSignal,
    onLive: Push<LiveEvent>,
  ) => Promise<unknown>;
  /** The caller's own signal, which cancels the run. */
  readonly cancel: AbortSignal | undefined;
  readonly cancelOnReturn: boolean;
  /** Gets the events after the reader has left. */
  readonly unread: RunEventListener;
  /** Called if the run fails after the reader has left: there is no one to throw its error to. */
  readonly onUnreadError: (runId: string, error: unknown) => void;
};

/** Makes an async iterable of the events that a run emits. */
export class EventStream {
  readonly #run: StreamedRun;

  constructor(run: StreamedRun) {
    this.#run = run;
  }

  /** Ends when the run ends, and throws the run's error. A run whose reader leaves continues, or is cancelled. */
  async *events(): AsyncGenerator<RunEvent | LiveEvent, void, undefined> {
    const { start, cancel, cancelOnReturn, unread, onUnreadError } = this.#run;
    const queue: (RunEvent | LiveEvent)[] = [];
    let wake = Promise.withResolvers<void>();
    let runId = "";
    let ended = false;
    let hasLeft = false;
    const left = new AbortController();
    const push = (event: RunEvent | LiveEvent) => {
      queue.push(event);
      wake.resolve();
    };
    const run = start(
      (event) => {
        if (hasLeft) return unread(event);
        runId = event.runId;
        push(event);
      },
      cancel === undefined ? left.signal : AbortSignal.any([cancel, left.signal]),
      (event) => {
        if (!hasLeft) push(event);
      },
    ).finally(() => {
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
      hasLeft = true;
      queue.length = 0;
      if (!ended && cancelOnReturn) {
        left.abort(new Error("The reader of the stream left."));
        await run.catch(() => undefined);
      } else if (!ended) run.catch((error: unknown) => onUnreadError(runId, error));
    }
  }
}

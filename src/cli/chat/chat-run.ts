import { hasEnded } from "../../account/run-status.ts";
import { MessageRefusedError, RunBusyError } from "../../core/errors.ts";
import type { Person } from "../../core/person.ts";
import { asksPeople } from "../../core/wait.ts";
import type { RunEventListener } from "../../engine/ports/run-events.ts";
import { Runner } from "../../engine/runner/runner.ts";
import { presentCursor } from "../../engine/watch/present-cursor.ts";
import type { WatchEvent } from "../../engine/watch/watch-event.ts";
import { watchRun } from "../../engine/watch/watch-run.ts";
import { type ExchangeStory, lastExchanges } from "../../export/exchanges.ts";
import type { MessageMode, RunRecord, StopOutcome, WaitRecord } from "../../store/store.ts";
import { type RunWork, runnerOptions } from "../run/run-work.ts";

/** How often it is looked whether there is something to do: another process may write to the run as well. */
const LOOK_MS = 1_000;
/** The most reads of a conversation until nothing has happened during one. */
const CALM_READS = 5;

/** A conversation that a command has with a run, new or not. */
export type ChatWork = Omit<RunWork, "pipeline"> & {
  readonly runId: string;
  /** Null if the run exists and a worker answers: it is only sent to. */
  readonly pipeline: RunWork["pipeline"] | null;
  readonly person: Person;
  /** The run as it was found; null before the first message of a new one. */
  readonly found: RunRecord | null;
  /** Only sends and watches: a worker answers. */
  readonly sendOnly: boolean;
};

/** A text to send. Its id is known before it is sent: another process may take it at once. */
export type OutgoingText = {
  readonly messageId: string;
  readonly text: string;
  /** By default what `whileBusy` of the conversation says. */
  readonly mode?: MessageMode;
};

/** A conversation as it is where the watch of it begins. */
type PresentChat = {
  readonly status: RunRecord["status"] | null;
  /** How many exchanges it has, and the last of them. */
  readonly count: number;
  readonly last: readonly ExchangeStory[];
};

/** Sends to a conversation, answers it in this process unless a worker does, and shows what happens. */
export class ChatRun {
  readonly work: ChatWork;
  readonly #runner: Runner | null;
  #hasBegun: boolean;
  /** The last durable event that was shown; null for the beginning of a new run. */
  #cursor: string | null = null;
  #news = new AbortController();

  constructor(work: ChatWork, onEvent: RunEventListener) {
    this.work = work;
    this.#hasBegun = work.found !== null;
    const { pipeline } = work;
    this.#runner =
      pipeline === null ? null : new Runner(pipeline, { ...runnerOptions({ ...work, pipeline }), onEvent });
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Durable when it resolves: from then on it is answered, by this process or by another one. */
  async send({ messageId: id, text, mode }: OutgoingText): Promise<void> {
    const { runId, person, store } = this.work;
    const modes = mode === undefined ? {} : { mode };
    const start = this.#hasBegun ? {} : { orStart: {} };
    const receipt =
      this.#runner === null
        ? await store.sendMessage(runId, { id, event: null, body: text, by: person, ...modes })
        : await this.#runner.send(runId, text, { id, by: person, ...modes, ...start });
    if (receipt.status === "returned") throw refused(runId, receipt.reason ?? "");
    this.#hasBegun = true;
    this.look();
  }

  /** Ends the present exchange. */
  stop(): Promise<StopOutcome> {
    const { store, runId, person } = this.work;
    return this.#runner === null
      ? store.requestStop(runId, person)
      : this.#runner.stop(runId, { by: person });
  }

  /** There may be something to do. */
  look(): void {
    this.#news.abort();
    this.#news = new AbortController();
  }

  /**
   * Reads what there is of a conversation that exists, and lets `events` begin there. The place is taken before anything is
   * read: so whatever the reader does not find here yet is among the events, also if it happens before they are watched.
   */
  async present(most: number): Promise<PresentChat> {
    const { store, runId } = this.work;
    for (let left = CALM_READS; ; left -= 1) {
      const cursor = await presentCursor(store, runId);
      const exchanges = await lastExchanges(store, runId, most);
      const run = await store.getRun(runId);
      this.#cursor = cursor;
      // Otherwise what happened meanwhile would be shown twice: as it was read, and by its events.
      if (left <= 1 || (await presentCursor(store, runId)) === cursor)
        return { status: run?.status ?? null, ...exchanges };
    }
  }

  /**
   * What happens from the place of `present` on; of a new run, from its beginning. After `signal`, what is durable by then
   * is the rest.
   */
  async *events(signal: AbortSignal): AsyncGenerator<WatchEvent, void, undefined> {
    const { store, runId } = this.work;
    for (const options of [{ signal }, { follow: false }]) {
      const after = this.#cursor === null ? {} : { after: this.#cursor };
      for await (const event of watchRun(store, runId, { ...options, ...after })) {
        if ("cursor" in event) this.#cursor = event.cursor;
        yield event;
      }
    }
  }

  /** Answers whatever there is to answer, until it is released or the run has ended. */
  async drive(release: AbortSignal): Promise<void> {
    const { context, sendOnly } = this.work;
    while (!release.aborted) {
      // Before the run is read: what comes later ends the sleep.
      const news = this.#news.signal;
      const run = await this.#awake();
      if (run === null || hasEnded(run)) return;
      if (!sendOnly && (await this.#isReady(run)) && (await this.#answer(release))) continue;
      await context.clock.sleep(LOOK_MS, AbortSignal.any([release, news])).catch(() => undefined);
    }
  }

  /** The run, after what is due in it. It is looked at every second: only what is due may take a transaction for writing. */
  async #awake(): Promise<RunRecord | null> {
    const { store, runId, context, sendOnly } = this.work;
    const run = await store.getRun(runId);
    const isDue = run !== null && run.wakeAt !== null && run.wakeAt <= context.clock.now();
    if (sendOnly || !isDue) return run;
    await store.wakeRun(runId);
    return store.getRun(runId);
  }

  async #isReady({ runId, status, wakeAt }: RunRecord): Promise<boolean> {
    const { store, context } = this.work;
    if (status === "queued") return wakeAt === null || wakeAt <= context.clock.now();
    return status === "running" && !(await store.isHeld(runId));
  }

  /** False if another process was faster: it answers. */
  async #answer(release: AbortSignal): Promise<boolean> {
    const { store, runId } = this.work;
    try {
      await this.#runner?.resume(runId, { release });
      return true;
    } catch (error) {
      if (RunBusyError.isInstance(error)) return false;
      const run = await store.getRun(runId);
      // A run that has failed says so in its log, which is shown.
      if (run?.status === "failed" || run?.status === "cancelled") return true;
      throw error;
    }
  }

  /** What people have to answer before the run can continue. */
  async questions(): Promise<readonly WaitRecord[]> {
    const open = await this.work.store.listWaits(this.work.runId, { open: true });
    return open.filter(({ kind }) => asksPeople(kind));
  }
}

function refused(runId: string, reason: string): MessageRefusedError {
  const why =
    reason === "no_conversation"
      ? `run ${runId} is no conversation, and takes no texts`
      : `run ${runId} has ${reason}`;
  return new MessageRefusedError(`The message was returned: ${why}; \`pawl show ${runId}\` shows it.`, {
    reason,
  });
}

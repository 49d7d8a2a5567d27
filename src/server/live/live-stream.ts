import { RunDeletedError, RunNotFoundError } from "../../core/errors.ts";
import type { EventRecord, RunChangeCursor } from "../../store/store.ts";
import { eventDocument } from "../documents/ledger-documents.ts";
import type { AccessScope } from "../principal.ts";
import { eventText } from "./live-event.ts";
import { livePlaceText } from "./live-place.ts";

/** What a reader that does not read may have waiting. */
const MOST_WAITING_CHARS = 1024 * 1024;

/** The run whose log a stream has, and the number of the last event that its reader knows. */
export type FollowedRun = { readonly runId: string; readonly after: number };

/** What a stream sends, and its name. */
export type NamedEvent = readonly [event: string, data: unknown];

/** A text that its reader has not taken; with a number if it is an event of the log. */
type UnreadText = { readonly text: string; readonly seq: number | null };

/** Reads some events of a run behind one. */
export type LogReading = (runId: string, after: number) => Promise<readonly EventRecord[]>;

/**
 * One connection: what it was given and its reader has not taken. Of the log it keeps only a number, and reads the events
 * when its reader gets there: so a long log is never in memory.
 */
export class LiveStream {
  readonly scope: AccessScope;
  #waiting: UnreadText[] = [];
  /** Of those that others gave it. */
  #chars = 0;
  /** While it catches up: what has come since, and has to come after. */
  #held: (() => void)[] | null = null;
  #cursor: RunChangeCursor;
  #followed: { readonly runId: string; seq: number; lastSeq: number } | null = null;
  #isOver = false;
  #failure: { readonly error: unknown } | null = null;
  #wake: () => void = () => undefined;

  constructor(scope: AccessScope, cursor: RunChangeCursor) {
    this.scope = scope;
    this.#cursor = cursor;
  }

  /** The run whose log it has. */
  get runId(): string | null {
    return this.#followed?.runId ?? null;
  }

  /** From now on it has the log of this run, which has events up to `lastSeq`. */
  follow({ runId, after }: FollowedRun, lastSeq: number): void {
    this.#followed = { runId, seq: after, lastSeq };
  }

  /** The followed run has more events. */
  logGrew(lastSeq: number): void {
    if (this.#followed === null || this.#followed.lastSeq >= lastSeq) return;
    this.#followed.lastSeq = lastSeq;
    this.#wake();
  }

  /** Something that is no place to continue from. */
  send(event: string, data: unknown): void {
    this.#later(() => this.#add(eventText(event, data, null)));
  }

  /**
   * Some events, after which the reader has everything up to the cursor. Only the last one has it as its id: a connection
   * that breaks between two of them continues before all of them.
   */
  sendUpTo(cursor: RunChangeCursor, events: readonly NamedEvent[]): void {
    this.#later(() => {
      this.#cursor = cursor;
      for (const [i, [event, data]] of events.entries())
        this.#add(eventText(event, data, i === events.length - 1 ? this.#place() : null));
    });
  }

  /** Keeps what comes until `release`. */
  hold(): void {
    this.#held = [];
  }

  /** Sends what the reader has missed, and after it what has come meanwhile. */
  release(cursor: RunChangeCursor, missed: readonly NamedEvent[]): void {
    const held = this.#held ?? [];
    this.#held = null;
    this.sendUpTo(cursor, missed);
    for (const act of held) act();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Breaks it: what has happened cannot be sent. */
  fail(error: unknown): void {
    this.#failure = { error };
    this.end();
  }

  /** The texts of its events. The reader is waited for. */
  async *events(readLog: LogReading): AsyncGenerator<string, void, undefined> {
    for (;;) {
      const text = this.#take();
      if (text !== undefined) yield text;
      else if (this.#failure !== null) throw this.#failure.error;
      else if (this.#isOver) return;
      else if (!(await this.#readLog(readLog))) await this.#news();
    }
  }

  #later(act: () => void): void {
    if (this.#held === null) act();
    else this.#held.push(act);
  }

  #place(): string {
    return livePlaceText({ cursor: this.#cursor, seq: this.#followed?.seq ?? null });
  }

  #add(text: string): void {
    if (this.#isOver) return;
    this.#waiting.push({ text, seq: null });
    this.#chars += text.length;
    if (this.#chars > MOST_WAITING_CHARS) this.#overflow();
    this.#wake();
  }

  /**
   * The reset has a place, behind everything that is dropped but the log: a reader that came back to its last place would get all
   * of it again, and again too much of it.
   */
  #overflow(): void {
    const dropped = this.#waiting.find(({ seq }) => seq !== null)?.seq ?? null;
    if (this.#followed !== null && dropped !== null) this.#followed.seq = dropped - 1;
    const why = "You read too slowly: fetch everything again.";
    this.#waiting = [{ text: eventText("reset", { why }, this.#place()), seq: null }];
    this.#isOver = true;
  }

  #take(): string | undefined {
    const next = this.#waiting.shift();
    if (next?.seq === null) this.#chars -= next.text.length;
    return next?.text;
  }

  /** Reads a page of the log behind what the reader has; false if there is none. */
  async #readLog(readLog: LogReading): Promise<boolean> {
    const followed = this.#followed;
    if (followed === null || followed.seq >= followed.lastSeq) return false;
    const { runId } = followed;
    try {
      const events = await readLog(runId, followed.seq);
      for (const event of events) {
        followed.seq = event.seq;
        const text = eventText("log", { runId, ...eventDocument(event) }, this.#place());
        this.#waiting.push({ text, seq: event.seq });
      }
      // A store that was restored has fewer events than were seen before.
      if (events.length === 0) followed.lastSeq = followed.seq;
    } catch (error) {
      if (!RunNotFoundError.isInstance(error) && !RunDeletedError.isInstance(error)) throw error;
      this.#followed = null;
      this.send("gone", { runId });
    }
    return true;
  }

  /** Resolves when there is something to do. */
  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = () => undefined;
        resolve();
      };
      const followed = this.#followed;
      const hasLog = followed !== null && followed.seq < followed.lastSeq;
      if (this.#waiting.length > 0 || this.#isOver || hasLog) this.#wake();
    });
  }
}

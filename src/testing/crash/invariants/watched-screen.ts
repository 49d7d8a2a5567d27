import type { Json } from "../../../core/json.ts";
import { type AssistantPart, textOf } from "../../../core/message.ts";
import type { AttemptPlace, LivePartEvent } from "../../../engine/ports/live-events.ts";
import type { WatchEvent } from "../../../engine/watch/watch-event.ts";
import type { ViewerRecord, ViewingSession } from "../viewers/simulated-viewer.ts";

/** What a viewer knows of a turn. */
type WatchedTurn = {
  content: readonly AssistantPart[];
  calls: readonly { readonly toolCallId: string; readonly tool: string; readonly input: Json }[];
  committedText: string | null;
};

type ShownAttempt = AttemptPlace & { text: string };

/**
 * What a viewer has before it, by what it was given, event by event. It follows docs/streaming.md alone, and shares no code
 * with the viewers that it judges.
 */
export class WatchedScreen {
  readonly turns = new Map<string, WatchedTurn>();
  readonly receipts = new Map<string, unknown>();
  end: unknown = null;
  /** The last epoch that it was given. */
  epoch = 0;
  /** The pieces that it was shown, with the epoch that it knew of. */
  readonly pieces: (LivePartEvent & { readonly knownEpoch: number })[] = [];
  /** What was shown of attempts that had no answer, and was not taken back. */
  readonly leftovers: string[] = [];
  readonly #shown = new Map<string, ShownAttempt>();
  readonly #withdrawn = new Set<string>();

  static of({ sessions }: ViewerRecord): WatchedScreen {
    let screen = new WatchedScreen();
    for (const session of sessions) {
      // One that begins again has an empty screen, and what it did wrong before stays wrong.
      if (session.after === null) screen = screen.#begunAgain();
      screen.#see(session);
    }
    return screen;
  }

  /** The text that is shown of answers under way. */
  get shown(): readonly ShownAttempt[] {
    return [...this.#shown.values()];
  }

  #begunAgain(): WatchedScreen {
    const next = new WatchedScreen();
    next.pieces.push(...this.pieces);
    next.leftovers.push(...this.leftovers);
    return next;
  }

  #see({ events }: ViewingSession): void {
    // Pieces are shown again to a viewer that comes back.
    this.#shown.clear();
    for (const event of events) this.#take(event);
  }

  /** Types that are not about answers, calls or the end are left out, and so are those of later versions. */
  #take(event: WatchEvent): void {
    if (event.type === "part") this.#show(event);
    else if (event.type === "attempt.withdrawn") {
      this.#withdrawn.add(attemptName(event));
      this.#shown.delete(attemptName(event));
    } else if (event.type.startsWith("run.")) this.#takeOfRun(event);
    else this.#takeOfTurn(event);
  }

  #takeOfRun(event: WatchEvent): void {
    if (event.type === "run.started" || event.type === "run.claimed") {
      this.#expectNothingShown(`when epoch ${event.epoch} began`);
      this.epoch = event.epoch;
      this.end = null;
    }
    if (event.type === "run.waiting") this.#expectNothingShown("when the run waited");
    if (event.type === "run.ended") {
      this.#expectNothingShown("when the run had ended");
      this.end = { status: event.status, output: event.output };
    }
  }

  #takeOfTurn(event: WatchEvent): void {
    if (event.type === "turn.opened") this.#expectOnly(event, `when attempt ${event.attempt} began`);
    if (event.type === "turn.journaled") {
      const { content, calls } = event;
      this.#replace(event, textOf(content));
      const own = calls.map(({ toolCallId, tool, input }) => ({ toolCallId, tool, input }));
      this.turns.set(turnPlace(event), { content, calls: own, committedText: null });
    }
    if (event.type === "turn.dropped") this.turns.delete(turnPlace(event));
    if (event.type === "turn.committed") {
      const turn = this.turns.get(turnPlace(event));
      if (turn !== undefined) turn.committedText = event.text;
    }
    if (event.type === "tool.receipt")
      this.receipts.set(event.toolCallId, { status: event.status, output: event.result });
  }

  #show(event: LivePartEvent): void {
    const name = attemptName(event);
    this.pieces.push({ ...event, knownEpoch: this.epoch });
    if (this.#withdrawn.has(name))
      this.leftovers.push(`was shown more of ${name} after it had been withdrawn`);
    this.#expectOnly(event, `when attempt ${event.attempt} was shown`);
    const { runId, step, turn, attempt } = event;
    const shown = this.#shown.get(name) ?? { runId, step, turn, attempt, text: "" };
    if (event.kind === "text") shown.text += event.delta;
    this.#shown.set(name, shown);
  }

  /** An answer replaces what was shown of it. */
  #replace(place: Pick<AttemptPlace, "step" | "turn">, text: string): void {
    for (const [name, shown] of this.#shown) {
      if (turnPlace(shown) !== turnPlace(place)) continue;
      if (!text.startsWith(shown.text))
        this.leftovers.push(`still had ${name} before it, which is no part of the answer`);
      this.#shown.delete(name);
    }
  }

  #expectOnly(place: AttemptPlace, when: string): void {
    for (const [name, shown] of this.#shown)
      if (turnPlace(shown) === turnPlace(place) && shown.attempt !== place.attempt) this.#leave(name, when);
  }

  #expectNothingShown(when: string): void {
    for (const name of this.#shown.keys()) this.#leave(name, when);
  }

  #leave(name: string, when: string): void {
    this.#shown.delete(name);
    this.leftovers.push(`still had ${name} before it ${when}`);
  }
}

export function turnPlace({ step, turn }: Pick<AttemptPlace, "step" | "turn">): string {
  return `turn ${turn} of ${step}`;
}

export function attemptName(place: Pick<AttemptPlace, "step" | "turn" | "attempt">): string {
  return `attempt ${place.attempt} of ${turnPlace(place)}`;
}

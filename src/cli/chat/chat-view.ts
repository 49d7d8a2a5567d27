import type { Json } from "../../core/json.ts";
import { textOf } from "../../core/message.ts";
import type { WatchEvent } from "../../engine/watch/watch-event.ts";
import { type ExchangeFigures, type ExchangeStory, saidText } from "../../export/exchanges.ts";
import { type AnswerText, answerAfter, withdrawnText } from "../screen/answer-text.ts";
import { counted, formatDuration, formatMoney } from "../screen/format.ts";
import { inside, type ProgressLine, shownInput } from "../screen/progress-lines.ts";
import type { OutgoingText } from "./chat-run.ts";

/** Something that stays on the screen. */
export type ChatLine =
  /** `by` is null for the person who is at the prompt. */
  | { readonly kind: "said"; readonly by: string | null; readonly text: string }
  | { readonly kind: "answer"; readonly text: string }
  | { readonly kind: "note"; readonly line: ProgressLine };

type RunningCall = { readonly tool: string; readonly input: Json; readonly since: number };

/** What a conversation is doing now. Made of what is durable, and of the answer that is being written. */
export class ChatView {
  /** Sent from here, and taken by no turn. */
  #waiting: readonly OutgoingText[] = [];
  readonly #own = new Set<string>();
  readonly #calls = new Map<string, RunningCall>();
  /** Turns whose answer is on the screen. */
  readonly #shown = new Set<string>();
  #answer: AnswerText | null = null;
  /** When the open exchange began. */
  #since: number | null = null;
  #isClaimed = false;

  get waiting(): readonly OutgoingText[] {
    return this.#waiting;
  }

  /** The answer that the model is writing. */
  get answer(): AnswerText | null {
    return this.#answer;
  }

  get calls(): readonly RunningCall[] {
    return [...this.#calls.values()];
  }

  /** An exchange is open. */
  get isAnswering(): boolean {
    return this.#since !== null;
  }

  get since(): number | null {
    return this.#since;
  }

  /** There is something to answer, or somebody is answering. */
  get isBusy(): boolean {
    return this.isAnswering || this.#waiting.length > 0;
  }

  /** A process works on the run, as far as it was watched. */
  get isClaimed(): boolean {
    return this.#isClaimed;
  }

  /** A text is sent from here. */
  sends(text: OutgoingText): void {
    this.#own.add(text.messageId);
    this.#waiting = [...this.#waiting, text];
  }

  /** It could not be sent, or was taken. */
  unsent({ messageId }: Pick<OutgoingText, "messageId">): void {
    this.#waiting = this.#waiting.filter((each) => each.messageId !== messageId);
  }

  /** What was there before it is watched. */
  begin(last: ExchangeStory | undefined): void {
    this.#since = last?.endedAt === null ? last.beganAt : null;
  }

  /** The lines that an event adds. */
  take(event: WatchEvent, now: number): readonly ChatLine[] {
    switch (event.type) {
      case "part":
        // What was said before a call stays until the answer is whole.
        if (event.kind !== "tool_input") this.#answer = answerAfter(this.#answer, event);
        return [];
      case "attempt.withdrawn":
        return this.#withdrawn(event);
      case "exchange.begun":
        this.#since = event.at;
        return [];
      case "message.taken":
        return [this.#taken(event)];
      case "turn.journaled":
        for (const { toolCallId, tool, input } of event.calls)
          this.#calls.set(toolCallId, { tool, input, since: now });
        return this.#whole(event, textOf(event.content));
      case "turn.dropped":
        this.#calls.clear();
        return this.#dropped(event);
      case "tool.receipt":
        return [this.#receipt(event, now)];
      case "turn.committed":
        this.#calls.clear();
        return this.#whole(event, event.text);
      case "exchange.ended":
        return this.#ended(event);
      case "run.waiting":
        this.#isClaimed = false;
        return [];
      case "run.claimed":
        this.#isClaimed = true;
        return [];
      case "run.ended":
        this.#since = null;
        this.#waiting = [];
        return [];
      case "message.withdrawn":
      case "run.started":
      case "turn.opened":
      case "wait.opened":
      case "wait.answered":
      case "step.finished":
      case "lineage.begun":
        return [];
    }
  }

  /** Only what was on the screen is taken back. */
  #withdrawn(event: Extract<WatchEvent, { type: "attempt.withdrawn" }>): readonly ChatLine[] {
    const hasShown = this.#answer !== null;
    this.#answer = null;
    return hasShown ? [note(inside("quiet", withdrawnText(event)))] : [];
  }

  #taken({ messageId, body, sentBy }: Extract<WatchEvent, { type: "message.taken" }>): ChatLine {
    this.unsent({ messageId });
    return { kind: "said", by: this.#own.has(messageId) ? null : sentBy, text: saidText(body) };
  }

  /** The answer of a turn is whole. It is shown once: by its journal, or by its commit after a crash. */
  #whole(
    { step, turn }: { readonly step: string; readonly turn: number },
    text: string,
  ): readonly ChatLine[] {
    this.#answer = null;
    const place = placeOf(step, turn);
    if (text.trim() === "" || this.#shown.has(place)) return [];
    this.#shown.add(place);
    return [{ kind: "answer", text: text.trim() }];
  }

  /** The turn gets another answer. */
  #dropped({ step, turn }: Extract<WatchEvent, { type: "turn.dropped" }>): readonly ChatLine[] {
    const hasShown = this.#shown.delete(placeOf(step, turn));
    return hasShown ? [note(inside("quiet", "(answer dropped: the model is asked again)"))] : [];
  }

  #receipt(
    { toolCallId, tool, status }: Extract<WatchEvent, { type: "tool.receipt" }>,
    now: number,
  ): ChatLine {
    const call = this.#calls.get(toolCallId);
    this.#calls.delete(toolCallId);
    const what = `${tool} ${shownInput(call?.input ?? null)}`.trimEnd();
    const took = call === undefined ? [] : [formatDuration(now - call.since)];
    if (status === "succeeded") return note(inside("good", what, took.join()));
    return note(inside("bad", what, [status.replaceAll("_", " "), ...took].join("  ")));
  }

  #ended({ outcome, why }: Extract<WatchEvent, { type: "exchange.ended" }>): readonly ChatLine[] {
    this.#since = null;
    this.#answer = null;
    this.#calls.clear();
    return outcome === "complete" ? [] : [note(inside("warning", why ?? outcome))];
  }
}

function placeOf(step: string, turn: number): string {
  return `${step}#${turn}`;
}

function note(line: ProgressLine): ChatLine {
  return { kind: "note", line };
}

/** The figures of an exchange that is over. */
export function figuresText({ turns, calls, charged, beganAt, endedAt }: ExchangeFigures): string {
  return [
    ...(turns > 1 ? [counted(turns, "turn")] : []),
    ...(calls.length === 0 ? [] : [counted(calls.length, "call")]),
    counted(charged.tokens, "token"),
    ...(charged.microDollars === 0 ? [] : [formatMoney(charged.microDollars)]),
    ...(endedAt === null ? [] : [formatDuration(endedAt - beganAt)]),
  ].join(" · ");
}

/** An exchange of before, as it was shown then. */
export function storyLines(story: ExchangeStory, me: string | null): readonly ChatLine[] {
  const said = story.said.map(({ sentBy, text }) => ({
    kind: "said" as const,
    by: sentBy === me ? null : sentBy,
    text,
  }));
  const calls = story.calls.map(({ tool, request, status }) =>
    note(inside(status === "succeeded" ? "good" : "quiet", `${tool} ${shownInput(request)}`)),
  );
  const answer = story.answer === null ? [] : [{ kind: "answer" as const, text: story.answer.trim() }];
  const ended =
    story.outcome === null
      ? []
      : story.outcome === "complete"
        ? [note(inside("quiet", figuresText(story)))]
        : [note(inside("warning", story.why ?? story.outcome))];
  return [...said, ...calls, ...answer, ...ended];
}

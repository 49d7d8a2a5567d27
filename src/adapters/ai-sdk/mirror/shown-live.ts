import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { AssistantPart } from "../../../core/message.ts";
import type { LiveEvent } from "../../../engine/ports/live-events.ts";
import { attemptWithdrawn } from "./mirror-errors.ts";

/** A part of the SDK's stream that is neither its end nor an error. */
export type StreamedPiece = Exclude<LanguageModelV4StreamPart, { type: "finish" | "error" }>;
type BegunText = {
  readonly kind: "text" | "reasoning";
  readonly part: number;
  readonly attempt: number;
  text: string;
};

/**
 * What was shown of one answer while the model wrote it: texts and reasoning; calls are shown once they are stored. The SDK
 * cannot take anything back, so an answer that turns out to be another one is an error.
 */
export class ShownLive {
  readonly #runId: string;
  readonly #shown: BegunText[] = [];

  constructor(runId: string) {
    this.#runId = runId;
  }

  /** The pieces of this turn, for the SDK. */
  add(turn: number, events: readonly LiveEvent[]): readonly StreamedPiece[] {
    const pieces: StreamedPiece[] = [];
    for (const event of events) {
      if (event.turn !== turn) continue;
      if (event.type === "attempt.withdrawn") this.#withdraw(turn, event.attempt);
      else if (event.kind !== "tool_input") pieces.push(...this.#show({ ...event, kind: event.kind }));
    }
    return pieces;
  }

  /** The rest of the texts that were begun, and the numbers of the parts of the answer that are still to be shown. */
  settle(
    turn: number,
    content: readonly AssistantPart[],
  ): { readonly pieces: readonly StreamedPiece[]; readonly rest: ReadonlySet<number> } {
    const rest = new Set(content.keys());
    const pieces: StreamedPiece[] = [];
    for (const { kind, part, text } of this.#shown) {
      const index = content.findIndex((each, i) => rest.has(i) && each.type === kind);
      const whole = content[index]?.text;
      if (typeof whole !== "string" || !whole.startsWith(text)) throw attemptWithdrawn(this.#runId, turn);
      rest.delete(index);
      const id = idOf(turn, part);
      if (whole.length > text.length)
        pieces.push({ type: `${kind}-delta`, id, delta: whole.slice(text.length) });
      pieces.push({ type: `${kind}-end`, id });
    }
    return { pieces, rest };
  }

  /** For an answer that is not shown after all. */
  assertNothingShown(turn: number): void {
    if (this.#shown.length > 0) throw attemptWithdrawn(this.#runId, turn);
  }

  #withdraw(turn: number, attempt: number): void {
    if (this.#shown.some((each) => each.attempt === attempt)) throw attemptWithdrawn(this.#runId, turn);
  }

  #show(event: {
    readonly turn: number;
    readonly part: number;
    readonly attempt: number;
    readonly kind: BegunText["kind"];
    readonly delta: string;
  }): readonly StreamedPiece[] {
    const { turn, part, attempt, kind, delta } = event;
    const id = idOf(turn, part);
    const known = this.#shown.find((each) => each.part === part);
    if (known !== undefined && known.attempt !== attempt) throw attemptWithdrawn(this.#runId, turn);
    if (known === undefined) this.#shown.push({ kind, part, attempt, text: delta });
    else known.text += delta;
    const begin: StreamedPiece[] = known === undefined ? [{ type: `${kind}-start`, id }] : [];
    return delta === "" ? begin : [...begin, { type: `${kind}-delta`, id, delta }];
  }
}

function idOf(turn: number, part: number): string {
  return `${turn}.live.${part}`;
}

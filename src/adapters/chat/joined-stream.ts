import type { UIMessage, UIMessageChunk } from "ai";

/** How much of a message a page has: the steps that are final, and whether another one has begun. */
export type ShownSteps = { readonly final: number; readonly isOpen: boolean };

/** The steps of a message that waited for answers of the user: its last one continues. */
export function stepsOf({ parts }: UIMessage): ShownSteps {
  const steps = parts.filter(({ type }) => type === "step-start").length;
  return { final: Math.max(0, steps - 1), isOpen: steps > 0 };
}

/**
 * Joins the streams of several connections into one. A new connection replays the answer from its beginning: of that, the
 * steps that the page has are left out, and what it has of an open step is taken back before it is given again.
 */
export class JoinedStream {
  #messageId: string | null = null;
  #final: number;
  #isOpen: boolean;
  /** How many ends of steps are still left out; null if nothing is. */
  #toSkip: number | null = null;
  /** The messages between two steps that the page has. */
  readonly #steering = new Set<string>();

  constructor(shown: ShownSteps | null) {
    this.#final = shown?.final ?? 0;
    this.#isOpen = shown?.isOpen ?? false;
  }

  /** The message that the page has the newest part of; null before the first one. */
  get messageId(): string | null {
    return this.#messageId;
  }

  /** True for the beginning of another answer than the one that the page has. */
  isOther(chunk: UIMessageChunk): boolean {
    return chunk.type === "start" && this.#messageId !== null && chunk.messageId !== this.#messageId;
  }

  /** What comes next is a replay. */
  replay(): void {
    this.#toSkip = this.#final;
  }

  /** What the page is given for a chunk. */
  take(chunk: UIMessageChunk): UIMessageChunk[] {
    if (chunk.type === "start") return this.#start(chunk);
    if (this.#toSkip !== null) return this.#skip(chunk, this.#toSkip);
    return this.#pass(chunk);
  }

  #start(chunk: Extract<UIMessageChunk, { type: "start" }>): UIMessageChunk[] {
    const { messageId = null } = chunk;
    const isSame = messageId === this.#messageId;
    if (isSame && this.#toSkip !== null) return [];
    // Another answer: what follows is all new.
    if (!isSame && this.#messageId !== null) [this.#final, this.#isOpen, this.#toSkip] = [0, false, null];
    this.#messageId = messageId;
    return [chunk];
  }

  #skip(chunk: UIMessageChunk, left: number): UIMessageChunk[] {
    if (isEnd(chunk)) return this.#pass(chunk);
    if (left > 0) {
      if (chunk.type === "finish-step") this.#toSkip = left - 1;
      return [];
    }
    if (!this.#isOpen) {
      this.#toSkip = null;
      return this.#pass(chunk);
    }
    // The page has the beginning of this step: it is taken back, and given again.
    if (chunk.type !== "start-step") return [];
    this.#toSkip = null;
    return [{ type: "reset-step" }];
  }

  #pass(chunk: UIMessageChunk): UIMessageChunk[] {
    if (chunk.type === "start-step") this.#isOpen = true;
    if (chunk.type === "finish-step") {
      this.#isOpen = false;
      this.#final += 1;
    }
    if (chunk.type === "steering-message" && !this.#isOpen) {
      if (this.#steering.has(chunk.id)) return [];
      this.#steering.add(chunk.id);
    }
    return [chunk];
  }
}

/** The last chunk of an answer. */
function isEnd({ type }: UIMessageChunk): boolean {
  return type === "finish" || type === "error" || type === "abort";
}

import { type MessageLimit, TooLargeError } from "./mcp-message-limit.ts";

/** Called for ignored output: what the server did, as a sentence without its subject, and the text. */
export type OnIgnored = (what: string, text: string) => void;

export const UNREQUESTED = "sent more than 64 KB that was not requested";

/** JSON is on one line, or on a few if it is formatted. */
const MOST_LINES = 10_000;

/**
 * An event stream whose events, each of them a message, are limited in size; the stream itself may be endless. It is written
 * again from the parsed events, so that the client cannot read two counted events as one.
 */
export function limitedEvents(
  limit: MessageLimit,
  onIgnored: OnIgnored,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const reader = new EventReader(limit);
  return new TransformStream({
    async transform(chunk, controller) {
      for (const { data, ...fields } of reader.read(decoder.decode(chunk, { stream: true }))) {
        const admitted = data === undefined || data === "" ? data : limit.admitted(data);
        if (admitted === null) onIgnored(UNREQUESTED, data ?? "");
        const event = admitted === undefined ? fields : { ...fields, data: admitted ?? "" };
        controller.enqueue(encoder.encode(written(event)));
        await limit.pace();
      }
      await limit.pace();
    },
  });
}

type Event = { [field in "event" | "id" | "retry" | "data"]?: string };

function written(event: Event): string {
  const lines = Object.entries(event).map(([field, value]) => `${field}: ${value}\n`);
  return `${lines.join("")}\n`;
}

class EventReader {
  readonly #limit: MessageLimit;
  #line: string[] = [];
  #size = 0;
  #endedWithReturn = false;
  #fields: Event = {};
  #data: string[] = [];

  constructor(limit: MessageLimit) {
    this.#limit = limit;
  }

  *read(text: string): Generator<Event> {
    for (const line of this.#lines(text)) {
      if (line !== "") this.#take(line);
      else {
        const event =
          this.#data.length === 0 ? this.#fields : { ...this.#fields, data: this.#data.join(" ") };
        this.#fields = {};
        this.#data = [];
        this.#size = 0;
        if (Object.keys(event).length > 0) yield event;
      }
    }
  }

  /** Line ends are those of the standard: `\n`, `\r\n` and `\r`; a chunk may end between the two of `\r\n`. */
  *#lines(given: string): Generator<string> {
    if (given === "") return;
    const text = this.#endedWithReturn && given.startsWith("\n") ? given.slice(1) : given;
    this.#endedWithReturn = given.endsWith("\r");
    let from = 0;
    for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/g)) {
      this.#grow(index - from);
      yield this.#line.join("") + text.slice(from, index);
      this.#line = [];
      from = index + end.length;
    }
    this.#grow(text.length - from);
    if (from < text.length) this.#line.push(text.slice(from));
  }

  #grow(by: number): void {
    this.#size += by;
    if (!this.#limit.allows(this.#size)) throw new TooLargeError(`it ${this.#limit.excess}`);
  }

  #take(line: string): void {
    const [, field = "", value = ""] = FIELD.exec(line) ?? [];
    if (field === "data") this.#data.push(value);
    else if (field === "event" || field === "id" || field === "retry") this.#fields[field] = value;
    if (this.#data.length > MOST_LINES)
      throw new TooLargeError(`it sent a message of more than ${MOST_LINES} lines`);
  }
}

const FIELD = /^(event|id|retry|data)(?:: ?(.*))?$/s;

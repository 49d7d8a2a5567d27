/** One event of a `text/event-stream`. */
export type ServerSentEvent = { readonly id: string; readonly event: string; readonly data: string };

/** Parses a stream that comes in pieces of any size. Comments and fields it does not know are left out. */
export class ServerSentEventParser {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];

  /** The events that this piece completes. */
  push(piece: string): readonly ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!\n|$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = line === "" ? this.#dispatch() : this.#take(line);
      if (event !== null) events.push(event);
    }
    return events;
  }

  #take(line: string): null {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return null;
  }

  /** An empty line ends an event. One without data is none, but its id counts. */
  #dispatch(): ServerSentEvent | null {
    const data = this.#data;
    const event = this.#event === "" ? "message" : this.#event;
    this.#data = [];
    this.#event = "";
    return data.length === 0 ? null : { id: this.#id, event, data: data.join("\n") };
  }
}

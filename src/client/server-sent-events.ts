/** One event of a stream. */
export type ServerSentEvent = { readonly event: string; readonly data: string; readonly id: string | null };

/** Reads the events of a body, as the standard says. Comments only show that the other side lives. */
export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id: string | null = null;

  /** The events that are whole after one more piece. */
  push(piece: Uint8Array): readonly ServerSentEvent[] {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): readonly ServerSentEvent[] {
    if (line === "") return this.#end();
    const [, name = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return [];
  }

  #end(): readonly ServerSentEvent[] {
    const [event, data] = [this.#event === "" ? "message" : this.#event, this.#data];
    this.#event = "";
    this.#data = [];
    return data.length === 0 ? [] : [{ event, data: data.join("\n"), id: this.#id }];
  }
}

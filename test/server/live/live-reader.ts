// Reads a stream of server-sent events, as a page does.

import { onTestFinished } from "vitest";
import type { Asked, ServerWorld } from "../handlers/server-world.ts";

export type ReadEvent = {
  readonly event: string;
  readonly id: string | null;
  readonly data: ReturnType<typeof JSON.parse>;
};

export class LiveReader {
  readonly all: ReadEvent[] = [];
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";
  #taken = 0;

  constructor(response: Response) {
    if (response.body === null) throw new Error("There is no stream.");
    this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    onTestFinished(() => this.leave());
  }

  /** The place to continue at: the last id. */
  get lastId(): string | null {
    return this.all.findLast(({ id }) => id !== null)?.id ?? null;
  }

  /** The next event; null at the end. Rejects if the stream is broken. */
  async next(): Promise<ReadEvent | null> {
    while (this.#taken === this.all.length) {
      const { value, done } = await this.#reader.read();
      if (done) return null;
      this.#add(value);
    }
    return this.all[this.#taken++] ?? null;
  }

  /** The first event from here on that is meant. */
  async until(event: string, is: (data: ReadEvent["data"]) => boolean = () => true): Promise<ReadEvent> {
    for (;;) {
      const next = await this.next();
      if (next === null) throw new Error(`The stream ended before a ${event} came.`);
      if (next.event === event && is(next.data)) return next;
    }
  }

  async leave(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined);
  }

  #add(piece: string): void {
    this.#text += piece;
    for (let end = this.#text.indexOf("\n\n"); end !== -1; end = this.#text.indexOf("\n\n")) {
      const lines = this.#text.slice(0, end).split("\n");
      this.#text = this.#text.slice(end + 2);
      const field = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const event = field("event");
      if (event === undefined) continue;
      this.all.push({ event, id: field("id") ?? null, data: JSON.parse(field("data") ?? "null") });
    }
  }
}

export async function openLive(world: Pick<ServerWorld, "call">, asked: Asked = {}): Promise<LiveReader> {
  const { response } = await world.call("stream", asked);
  if (response === null) throw new Error("There is no stream.");
  return new LiveReader(response);
}

import type { LiveEvent } from "../api/documents.ts";
import { ServerSentEventParser } from "./server-sent-events.ts";

/** How one connection ended. */
export type ReadEnd =
  | { readonly kind: "broken" }
  | { readonly kind: "silent" }
  | { readonly kind: "aborted" }
  | { readonly kind: "refused"; readonly status: number };

export type LiveReader<Event = LiveEvent> = {
  readonly fetch: typeof fetch;
  readonly path: string;
  /** The id of the last event that was received. */
  readonly cursor: string | null;
  readonly signal: AbortSignal;
  /** The server answered, or sent bytes: a comment will do. */
  readonly onSign: () => void;
  readonly onEvent: (event: Event, id: string) => void;
};

/** The server sends a sign each 15 seconds. A connection that is half open would never end by itself. */
const SILENCE_MS = 35_000;

/** Reads the stream once, until it ends. `EventSource` would give up for good at the first 502 of a proxy. */
export async function readLive<Event = LiveEvent>(reader: LiveReader<Event>): Promise<ReadEnd> {
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const sign = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
    reader.onSign();
  };
  try {
    return await readEvents(reader, AbortSignal.any([reader.signal, silence.signal]), sign);
  } catch {
    if (reader.signal.aborted) return { kind: "aborted" };
    return { kind: silence.signal.aborted ? "silent" : "broken" };
  } finally {
    clearTimeout(timer);
  }
}

async function readEvents<Event>(
  reader: LiveReader<Event>,
  signal: AbortSignal,
  sign: () => void,
): Promise<ReadEnd> {
  const response = await reader.fetch(reader.path, {
    signal,
    cache: "no-store",
    headers: {
      accept: "text/event-stream",
      ...(reader.cursor === null ? {} : { "last-event-id": reader.cursor }),
    },
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    return { kind: "refused", status: response.status };
  }
  sign();
  const parser = new ServerSentEventParser();
  const decoder = new TextDecoder();
  for await (const bytes of piecesOf(response.body)) {
    sign();
    for (const { event, data, id } of parser.push(decoder.decode(bytes, { stream: true }))) {
      // The server checks what it sends: the type is that of the path.
      reader.onEvent({ event, data: JSON.parse(data) } as Event, id);
    }
  }
  return { kind: "broken" };
}

/** Not every browser can iterate over a stream. */
async function* piecesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
}

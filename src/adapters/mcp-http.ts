import type { NetworkPolicy } from "../core/network-policy.ts";
import { type GuardedFetch, guardedFetch } from "./guarded-fetch.ts";
import type { MessageLimit } from "./mcp-message-limit.ts";
import type { ServerAddress } from "./mcp-server.ts";
import { contentTypeOf } from "./tools/response-text.ts";

/** What a server sent was more than is taken. */
export class TooLargeError extends Error {}

/**
 * The `fetch` of a server's connection: it reaches the host and port that were written down and nothing else, redirects
 * included, and breaks off a message that is too large.
 */
export function serverFetch(server: ServerAddress, limit: MessageLimit): GuardedFetch {
  const send = guardedFetch({ signal: new AbortController().signal, network: networkOf(server) });
  return async (input, init) => limited(await send(input, init), limit);
}

/** A name that resolves to a private address is refused, as everywhere, unless whoever wrote it down says so. */
function networkOf({ url, private: mayBePrivate = false }: ServerAddress): NetworkPolicy {
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === "https:" ? "443" : "80";
  const entry = `${hostname}:${port === "" ? usual : port}${mayBePrivate ? "!private" : ""}`;
  return { allowedDomains: [entry], allowPrivateAddresses: false };
}

function limited(response: Response, limit: MessageLimit): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isStream = contentTypeOf(response).type === "text/event-stream";
  const counter = isStream ? new EventSizes(limit) : new BodySize(limit);
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (counter.takes(chunk)) controller.enqueue(chunk);
        else controller.error(new TooLargeError(`it ${limit.excess}`));
      },
      flush: () => limit.received(counter.bytes),
    }),
  );
  return new Response(counted, { status, statusText, headers: [...headers] });
}

/** An answer in one piece is one message. */
class BodySize {
  readonly #limit: MessageLimit;
  bytes = 0;

  constructor(limit: MessageLimit) {
    this.#limit = limit;
  }

  takes(chunk: Uint8Array): boolean {
    this.bytes += chunk.byteLength;
    return this.#limit.allows(this.bytes);
  }
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** A stream may go on for ever; each of its events, up to an empty line, is one message. */
class EventSizes {
  readonly #limit: MessageLimit;
  bytes = 0;
  #isAtLineStart = true;

  constructor(limit: MessageLimit) {
    this.#limit = limit;
  }

  takes(chunk: Uint8Array): boolean {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
      const isEmpty = this.#isEmpty(chunk, from, at);
      this.bytes += at + 1 - from;
      from = at + 1;
      this.#isAtLineStart = true;
      if (!this.#limit.allows(this.bytes)) return false;
      if (!isEmpty) continue;
      this.#limit.received(this.bytes);
      this.bytes = 0;
    }
    const rest = chunk.subarray(from);
    if (rest.some((byte) => byte !== RETURN)) this.#isAtLineStart = false;
    this.bytes += rest.byteLength;
    return this.#limit.allows(this.bytes);
  }

  #isEmpty(chunk: Uint8Array, from: number, end: number): boolean {
    return this.#isAtLineStart && (end === from || (end === from + 1 && chunk[from] === RETURN));
  }
}

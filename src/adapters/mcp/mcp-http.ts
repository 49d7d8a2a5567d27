import { type GuardedFetch, guardedFetch } from "../net/guarded-fetch.ts";
import { hostNetwork } from "../net/host-network.ts";
import { contentTypeOf, readAtMost } from "../net/response-text.ts";
import { limitedEvents, type OnIgnored, UNREQUESTED } from "./mcp-event-stream.ts";
import { type MessageLimit, TooLargeError } from "./mcp-message-limit.ts";
import { outlineOf } from "./mcp-message-outline.ts";
import type { ServerAddress } from "./mcp-server.ts";

/** The longest response body that is not a message, such as an error page. */
const LARGEST_PAGE = 16 * 1024;

/** Answers to a server's own requests that may be in flight. */
const MOST_ANSWERS = 100;

export type ServerFetchOptions = {
  readonly limit: MessageLimit;
  readonly onIgnored: OnIgnored;
};

/**
 * The `fetch` of a server's connection: it reaches only the configured host and port, redirects included, and aborts a
 * message that is too large.
 */
export function serverFetch(server: ServerAddress, options: ServerFetchOptions): GuardedFetch {
  const send = guardedFetch({
    signal: new AbortController().signal,
    network: hostNetwork(server.url, server.private),
  });
  let answers = 0;
  return async (input, init) => {
    const kind = requestKind(init);
    if (kind !== "answer") return limited(await send(input, init), kind, options);
    if (answers === MOST_ANSWERS) throw new TooLargeError("it sends requests without accepting the answers");
    answers += 1;
    try {
      return await limited(await send(input, init), kind, options);
    } finally {
      answers -= 1;
    }
  };
}

/** The kind of a request: only "listening" and "question" are answered with messages. */
type RequestKind = "listening" | "question" | "answer" | "other";

function requestKind({ method = "GET", body }: RequestInit = {}): RequestKind {
  if (method === "GET") return "listening";
  if (method !== "POST" || typeof body !== "string") return "other";
  const { id, hasMethod } = outlineOf(body);
  if (!hasMethod) return "answer";
  return id === null ? "other" : "question";
}

async function limited(
  response: Response,
  kind: RequestKind,
  { limit, onIgnored }: ServerFetchOptions,
): Promise<Response> {
  const { body } = response;
  if (body === null) return response;
  switch (bodyKind(response, kind)) {
    case "stream":
      return withBody(response, body.pipeThrough(limitedEvents(limit, onIgnored)));
    case "message":
      return withBody(response, await wholeMessage(response, limit));
    case "page":
      return withBody(response, await shortPage(response));
  }
}

/** As the client reads it: to the client, every answer to a `GET` is a stream. */
function bodyKind(response: Response, request: RequestKind): "stream" | "message" | "page" {
  if (!response.ok) return "page";
  if (request === "listening") return "stream";
  if (request !== "question" || response.status === 202) return "page";
  const { type } = contentTypeOf(response);
  if (type === "text/event-stream") return "stream";
  return type === "application/json" ? "message" : "page";
}

async function wholeMessage(response: Response, limit: MessageLimit): Promise<string> {
  const { bytes, isBroken } = await readAtMost(response, limit.largest + 1);
  if (isBroken) throw new Error("the answer broke off");
  if (!limit.allows(bytes.byteLength)) throw new TooLargeError(`it ${limit.excess}`);
  const message = limit.admitted(new TextDecoder().decode(bytes));
  if (message === null) throw new TooLargeError(`it ${UNREQUESTED}`);
  await limit.pace();
  return message;
}

/** A long page is left out and not cut: half of a secret would not be recognized as one. */
async function shortPage(response: Response): Promise<string> {
  const { bytes, isWhole, isBroken } = await readAtMost(response, LARGEST_PAGE);
  return isWhole || isBroken ? new TextDecoder().decode(bytes) : "(a long page)";
}

function withBody({ status, statusText, headers }: Response, body: string | ReadableStream): Response {
  return new Response(body, { status, statusText, headers: [...headers] });
}

import type { NetworkPolicy } from "../../core/network-policy.ts";
import { type GuardedFetch, guardedFetch } from "../net/guarded-fetch.ts";
import { contentTypeOf, readAtMost } from "../net/response-text.ts";
import { limitedEvents, type OnPassedOver, UNASKED } from "./mcp-event-stream.ts";
import { type MessageLimit, TooLargeError } from "./mcp-message-limit.ts";
import { outlineOf } from "./mcp-message-outline.ts";
import type { ServerAddress } from "./mcp-server.ts";

/** What an answer says that is no message, such as the page of an error. Nobody reads more of it. */
const LARGEST_PAGE = 16 * 1024;

/** Answers to a server's own questions that may be on their way. */
const MOST_ANSWERS = 100;

export type ServerFetchOptions = {
  readonly limit: MessageLimit;
  readonly onPassedOver: OnPassedOver;
};

/**
 * The `fetch` of a server's connection: it reaches the host and port that were written down and nothing else, redirects
 * included, and breaks off a message that is too large.
 */
export function serverFetch(server: ServerAddress, options: ServerFetchOptions): GuardedFetch {
  const send = guardedFetch({ signal: new AbortController().signal, network: networkOf(server) });
  let answers = 0;
  return async (input, init) => {
    const what = sent(init);
    if (what !== "answer") return limited(await send(input, init), what, options);
    if (answers === MOST_ANSWERS) throw new TooLargeError("it asks without taking the answers");
    answers += 1;
    try {
      return await limited(await send(input, init), what, options);
    } finally {
      answers -= 1;
    }
  };
}

/** A name that resolves to a private address is refused, as everywhere, unless whoever wrote it down says so. */
function networkOf({ url, private: mayBePrivate = false }: ServerAddress): NetworkPolicy {
  const { hostname, port, protocol } = new URL(url);
  const usual = protocol === "https:" ? "443" : "80";
  const entry = `${hostname}:${port === "" ? usual : port}${mayBePrivate ? "!private" : ""}`;
  return { allowedDomains: [entry], allowPrivateAddresses: false };
}

/** What a request is: only two kinds of them are answered with messages. */
type Sent = "listening" | "question" | "answer" | "other";

function sent({ method = "GET", body }: RequestInit = {}): Sent {
  if (method === "GET") return "listening";
  if (method !== "POST" || typeof body !== "string") return "other";
  const { id, hasMethod } = outlineOf(body);
  if (!hasMethod) return "answer";
  return id === null ? "other" : "question";
}

async function limited(
  response: Response,
  what: Sent,
  { limit, onPassedOver }: ServerFetchOptions,
): Promise<Response> {
  const { body } = response;
  if (body === null) return response;
  switch (kindOf(response, what)) {
    case "stream":
      return withBody(response, body.pipeThrough(limitedEvents(limit, onPassedOver)));
    case "message":
      return withBody(response, await wholeMessage(response, limit));
    case "page":
      return withBody(response, await shortPage(response));
  }
}

/** As the client reads it: whatever answers a `GET` is a stream to it. */
function kindOf(response: Response, what: Sent): "stream" | "message" | "page" {
  if (!response.ok) return "page";
  if (what === "listening") return "stream";
  if (what !== "question" || response.status === 202) return "page";
  const { type } = contentTypeOf(response);
  if (type === "text/event-stream") return "stream";
  return type === "application/json" ? "message" : "page";
}

async function wholeMessage(response: Response, limit: MessageLimit): Promise<string> {
  const { bytes, isBroken } = await readAtMost(response, limit.largest + 1);
  if (isBroken) throw new Error("the answer broke off");
  if (!limit.allows(bytes.byteLength)) throw new TooLargeError(`it ${limit.excess}`);
  const message = limit.admitted(new TextDecoder().decode(bytes));
  if (message === null) throw new TooLargeError(`it ${UNASKED}`);
  await limit.pace();
  return message;
}

/** Left out rather than cut: half of a secret would not be known as one. */
async function shortPage(response: Response): Promise<string> {
  const { bytes, isWhole, isBroken } = await readAtMost(response, LARGEST_PAGE);
  return isWhole || isBroken ? new TextDecoder().decode(bytes) : "(a long page)";
}

function withBody({ status, statusText, headers }: Response, body: string | ReadableStream): Response {
  return new Response(body, { status, statusText, headers: [...headers] });
}

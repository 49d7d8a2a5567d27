import { z } from "zod";
import { NotApplied } from "../../core/errors.ts";
import { type Tool, type ToolCallContext, tool } from "../../engine/definition/tool.ts";
import { guardedFetch } from "../net/guarded-fetch.ts";
import { settingSecrets } from "../net/hiding-secrets.ts";
import { beginningOf, contentTypeOf, decoded, isTextType, readAtMost } from "../net/response-text.ts";
import { assertAccepted, type Hider, hostOf, requestOnce } from "./request-outcome.ts";
import { checkSettings, type SettingsOf } from "./settings.ts";

const MOST_BYTES = 2_000_000;
const MOST_CHARACTERS = 30_000;
const MOST_ERROR_CHARACTERS = 2_000;

/** Headers that a model may not set: they belong to the connection, or name its host. */
const FORBIDDEN_HEADERS =
  /^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*)$/i;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** True for methods that change nothing, so that repeating one is harmless. */
function isSafe(method: (typeof METHODS)[number]): boolean {
  return method === "GET" || method === "HEAD";
}

const requestInput = z
  .object({
    method: z.enum(METHODS),
    url: z.url({ protocol: /^https?$/ }).describe("An absolute http or https URL."),
    headers: z
      .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "is not a header name"), z.string())
      .optional()
      .describe("Headers to send. Configured credentials and the idempotency key are added."),
    body: z
      .string()
      .optional()
      .describe("The body as text. It is sent as JSON if it is JSON, unless a content-type says otherwise."),
  })
  .refine(({ method, body }) => body === undefined || !isSafe(method), "GET and HEAD have no body")
  .refine(
    ({ headers = {} }) => !Object.keys(headers).some((name) => FORBIDDEN_HEADERS.test(name)),
    "leave out headers of the connection, such as Host and Content-Length",
  );

type HttpInput = z.output<typeof requestInput>;

/** The result of `http_request`. */
export type HttpAnswer = {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
  readonly note?: string;
};

/**
 * Any HTTP request. It counts as external whatever its method; a page is better read with `fetch_page`. Redirects are not
 * followed: the caller must decide whether a request that changes something may go to another address.
 */
export function httpRequest(
  given: SettingsOf<"http_request"> = {},
): Tool<z.input<typeof requestInput>, HttpAnswer> {
  const { settings, secrets } = checkSettings("http_request", given);
  const { keyed = false, idempotencyHeader = "Idempotency-Key" } = settings;
  const credentials = byOrigin(settings.credentials ?? {});
  return tool({
    name: "http_request",
    description: `Make one HTTP request. Redirects are not followed: the response then has a location. At most ${MOST_CHARACTERS} characters of the body are returned. To read a web page, use fetch_page instead.`,
    inputSchema: requestInput,
    effect: "external",
    recovery: keyed ? "keyed" : "opaque",
    timeoutMs: 60_000,
    secrets: settingSecrets([
      ...secrets,
      ...[...credentials.values()].flatMap((headers) => Object.values(headers)),
    ]),
    urls: ({ url }) => [url],
    execute: async (wanted: HttpInput, call) => {
      const known = credentials.get(new URL(wanted.url).origin);
      const headers = headersOf(wanted, known, isSafe(wanted.method) ? null : idempotencyHeader, call);
      const { method, url, body = null } = wanted;
      const request = () => guardedFetch(call)(url, { method, headers, body, redirect: "manual" });
      const ask = isSafe(method) ? readOnce : requestOnce;
      const response = await ask(url, call, request);
      const answer = await answerOf(response, call);
      const message = answer.body.slice(0, MOST_ERROR_CHARACTERS);
      if (!isSafe(method)) assertAccepted(url, response, { message, keyed });
      return answer;
    },
  });
}

async function readOnce(url: string, call: Hider, request: () => Promise<Response>): Promise<Response> {
  try {
    const response = await requestOnce(url, call, request);
    if (response.status < 500 && response.status !== 429) return response;
    await response.body?.cancel().catch(() => undefined);
    throw new Error(`${hostOf(url)} answered ${response.status}.`);
  } catch (error) {
    throw new NotApplied(error instanceof Error ? error.message : String(error), {}, { cause: error });
  }
}

function byOrigin(credentials: { readonly [url: string]: { readonly [name: string]: string } }) {
  return new Map(Object.entries(credentials).map(([url, headers]) => [new URL(url).origin, headers]));
}

function headersOf(
  { headers: wanted = {}, body }: HttpInput,
  credentials: { readonly [name: string]: string } | undefined,
  keyHeader: string | null,
  call: ToolCallContext,
): Headers {
  const headers = new Headers(wanted);
  if (body !== undefined && !headers.has("content-type"))
    headers.set("content-type", isJsonText(body) ? "application/json" : "text/plain; charset=utf-8");
  // Ids of the run are sent only to services with configured credentials.
  const known = credentials === undefined ? {} : { ...call.traceHeaders, ...credentials };
  for (const [name, value] of Object.entries(known)) headers.set(name, value);
  if (keyHeader !== null) headers.set(keyHeader, call.idempotencyKey);
  return headers;
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The response headers that are returned; the others are about the connection. */
const RETURNED_HEADERS =
  /^(?:content-type|location|etag|last-modified|link|retry-after|x-request-id|x-ratelimit-.*)$/;

async function answerOf(response: Response, call: ToolCallContext): Promise<HttpAnswer> {
  const { bytes, isWhole, isBroken } = await readAtMost(response, MOST_BYTES);
  const { type, charset } = contentTypeOf(response);
  const headers = Object.fromEntries([...response.headers].filter(([name]) => RETURNED_HEADERS.test(name)));
  const isText = type === "" || isTextType(type);
  const { text, rest } = beginningOf(
    isText ? await call.hideLong(decoded(bytes, charset), { end: !isWhole }) : "",
    0,
    MOST_CHARACTERS,
  );
  const notes = [
    ...(isText || bytes.length === 0 ? [] : [`The body is ${type}, which is not text: it was left out.`]),
    ...(isBroken ? [`The connection broke after ${bytes.length} bytes of the body.`] : []),
    ...(isWhole || isBroken ? [] : [`Only the first ${MOST_BYTES} bytes were read.`]),
    ...(rest > 0 ? [`${rest} more characters of the body were left out.`] : []),
  ];
  return {
    status: response.status,
    headers,
    body: text,
    ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
  };
}

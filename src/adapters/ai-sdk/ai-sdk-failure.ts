import { ModelCallError } from "../../core/errors.ts";
import type { ModelResponse } from "../../engine/ports/model-port.ts";
import { causesOf, messageOf, type UnknownError } from "../net/error-causes.ts";
import type { NetworkProgress } from "../net/network-attempt.ts";
import { readableText } from "../net/readable-text.ts";
import { retryAfterMs } from "../net/retry-after.ts";

/** How far a call came before it failed. */
export type CallProgress = {
  /** The provider was called at all. */
  readonly began: boolean;
  readonly network: NetworkProgress;
  readonly signal: AbortSignal;
};

type Details = ModelCallError["details"];
/** What is stored, and the two halves of the message: what happened, and what to do about it. */
type Failure = Details & { readonly what: string; readonly next: string };

/** What a provider answered instead of an answer. */
type HttpAnswer = { readonly status: number; readonly text: string; readonly headers: unknown };

/** Raised while a request is still being put together. `AI_` is the SDK's prefix. */
const RAISED_BEFORE_DISPATCH = new Set([
  "AI_LoadAPIKeyError",
  "AI_LoadSettingError",
  "AI_InvalidPromptError",
  "AI_InvalidArgumentError",
  "AI_MissingToolResultsError",
  "AI_NoSuchModelError",
  "AI_NoSuchProviderError",
  "AI_NoSuchProviderReferenceError",
  "AI_UnsupportedFunctionalityError",
  "AI_UnsupportedModelVersionError",
  "GatewayAuthenticationError",
]);

const NO_CONNECTION_CODES = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
const NO_CONNECTION_SYSCALLS = new Set(["connect", "getaddrinfo"]);

/** The connection broke. */
const BROKEN_CONNECTION_CODES = new Set([
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
  "UND_ERR_SOCKET",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
]);

/** Node's own limits on waiting, 300 seconds each unless the provider was given another `fetch`. */
const FETCH_TIMEOUT_CODES = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

/** The provider answered, but not with what its protocol says: also how a body that was cut may look. */
const UNUSABLE_BODY = new Set([
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
]);

/** The error of a failed call: how far it came, whether to try again, and one sentence for a person. */
export function modelCallFailed(model: string, error: unknown, progress: CallProgress): ModelCallError {
  return asError(model, judge(error, progress), withoutSecrets(error));
}

/** A provider that answered with nothing: `finishReason` says whether asking again can help. */
export function emptyAnswer(
  model: string,
  { finishReason, usage }: Pick<ModelResponse, "finishReason" | "usage">,
): ModelCallError {
  const outOfTokens = finishReason === "length";
  return asError(model, {
    ...noAnswer,
    ...(usage === null ? {} : { usage }),
    retryable: !outOfTokens && finishReason !== "content-filter",
    what: `answered with neither text nor a tool call (finish reason "${finishReason}")`,
    next: outOfTokens
      ? "Raise maxOutputTokens: reasoning used all of them up"
      : "Try again, or rephrase the request",
  });
}

/** A provider that answered with more than can be taken. */
export function excessiveAnswer(
  model: string,
  excess: string,
  { usage }: Pick<ModelResponse, "usage">,
): ModelCallError {
  return asError(model, {
    ...noAnswer,
    ...(usage === null ? {} : { usage }),
    retryable: true,
    what: excess,
    next: "Nothing of it was taken: try again, or have the agent do less at a time",
  });
}

function asError(model: string, failure: Failure, cause?: Error): ModelCallError {
  const { what, next, ...details } = failure;
  return new ModelCallError(`${model} ${what}. ${next}.`, details, cause === undefined ? {} : { cause });
}

/** The whole judgement: what was certainly not sent, then what the provider said, then what cut the call short. */
function judge(error: unknown, progress: CallProgress): Failure {
  const causes = [...causesOf(error)];
  const { signal } = progress;
  if (!wasSent(causes, progress)) return signal.aborted ? notSentAborted(signal) : notSent(error, causes);
  const answer = httpAnswer(causes);
  if (answer !== null && answer.status >= 400) return refused(answer);
  if (signal.aborted) return cutShort(signal);
  if (hasCode(causes, FETCH_TIMEOUT_CODES)) return fetchTimedOut(error);
  return unanswered(error, causes, answer);
}

/**
 * Where undici was seen, it knows. Where it was not, the provider uses a transport of its own, and a call that
 * began counts as sent unless the error proves that it was not: what is nobody's knowledge is charged.
 */
function wasSent(causes: readonly UnknownError[], { began, network }: CallProgress): boolean {
  if (!began) return false;
  if (network !== "unseen") return network === "sent";
  return !hasName(causes, RAISED_BEFORE_DISPATCH) && !isWithoutConnection(causes);
}

const noAnswer = { kind: "no_answer", status: null, retryAfterMs: null, retryable: false } as const;

function notSent(error: unknown, causes: readonly UnknownError[]): Failure {
  const unreachable = isWithoutConnection(causes) || hasCode(causes, BROKEN_CONNECTION_CODES);
  return {
    ...noAnswer,
    kind: "not_sent",
    retryable: unreachable,
    what: `was not asked, nothing was sent: ${readableText(rootMessage(error, causes, unreachable))}`,
    next: unreachable ? "Check the address and the network, then try again" : "Correct that, then resume",
  };
}

function notSentAborted(signal: AbortSignal): Failure {
  const timedOut = isTimeout(signal);
  return {
    ...noAnswer,
    kind: "not_sent",
    retryable: timedOut,
    what: timedOut
      ? "could not be reached within the time limit, nothing was sent"
      : `was not asked, nothing was sent: the call was aborted (${abortReason(signal)})`,
    next: timedOut ? "Check the network, then try again" : "Resume to ask again",
  };
}

function refused(answer: HttpAnswer): Failure {
  const { status } = answer;
  const said = answer.text === "" ? "" : `: ${answer.text}`;
  const wait = retryAfterMs(answer.headers);
  if (status === 429) {
    const next = wait === null ? "Wait a while, then try again" : `Try again in ${Math.ceil(wait / 1000)} s`;
    return {
      kind: "rate_limited",
      status,
      retryAfterMs: wait,
      retryable: true,
      what: `refused the request for now (429)${said}`,
      next,
    };
  }
  if (status >= 500) {
    const next = "The trouble is on the provider's side: try again later";
    return {
      kind: "server_error",
      status,
      retryAfterMs: wait,
      retryable: true,
      what: `failed (${status})${said}`,
      next,
    };
  }
  return {
    kind: "rejected",
    status,
    retryAfterMs: wait,
    // 408: the server gave up waiting for the request, so it did nothing.
    retryable: status === 408,
    what: `rejected the request (${status})${said}`,
    next: afterRejection(answer),
  };
}

/** How providers say that a request is longer than the model's window; there is no code that they share. */
const TOO_LONG =
  /context.{0,12}(length|window|size|limit)|(prompt|input|request|messages?).{0,24}too (long|large)|too many input tokens|input token count|maximum prompt length/i;

function afterRejection({ status, text }: HttpAnswer): string {
  if (status === 401 || status === 403) return "Check the API key and what it is allowed to do";
  if (status === 404) return "Check the model id and the provider's address";
  if (status === 408) return "Try again";
  if (status === 413 || TOO_LONG.test(text))
    return "Show the model less, then resume: lower maxResultTokens of the agent or its step; any run takes another one";
  return "Correct the request, then resume";
}

function cutShort(signal: AbortSignal): Failure {
  if (isTimeout(signal)) {
    return {
      ...noAnswer,
      kind: "timeout",
      what: "was asked and did not answer within the time limit",
      next: "It may have been charged; raise the timeout or resume to ask again",
    };
  }
  return {
    ...noAnswer,
    what: `was asked, but the call was aborted before the answer came (${abortReason(signal)})`,
    next: "It may have been charged; resume to ask again",
  };
}

function fetchTimedOut(error: unknown): Failure {
  return {
    ...noAnswer,
    kind: "timeout",
    what: `was asked and did not answer before Node's fetch gave up: ${readableText(messageOf(error))}`,
    next: "It may have been charged; for long answers give the provider a fetch with longer timeouts",
  };
}

function unanswered(error: unknown, causes: readonly UnknownError[], answer: HttpAnswer | null): Failure {
  const broken = hasCode(causes, BROKEN_CONNECTION_CODES);
  const retryable = broken || hasName(causes, UNUSABLE_BODY);
  return {
    ...noAnswer,
    status: answer?.status ?? null,
    retryable,
    what: `was asked and gave no usable answer: ${readableText(rootMessage(error, causes, broken))}`,
    next: retryable
      ? "It may have been charged; try again"
      : "It may have been charged; look into that, then resume",
  };
}

/** Outer messages such as "fetch failed" say nothing; the root of a broken connection says which. */
function rootMessage(error: unknown, causes: readonly UnknownError[], connection: boolean): string {
  if (!connection) return messageOf(error);
  const root = causes.findLast((cause) => typeof cause.code === "string");
  return messageOf(root === undefined || messageOf(root) === "" ? error : root);
}

/**
 * The status that came over the wire. AI Gateway errors have a `statusCode` of their own, which is 500 even for a
 * refused connection, so the SDK's error for an HTTP answer comes first.
 */
function httpAnswer(causes: readonly UnknownError[]): HttpAnswer | null {
  const found =
    causes.find((cause) => cause.name === "AI_APICallError" && typeof cause.statusCode === "number") ??
    (hasCode(causes, BROKEN_CONNECTION_CODES) || hasCode(causes, FETCH_TIMEOUT_CODES)
      ? undefined
      : causes.find((cause) => typeof cause.statusCode === "number"));
  if (found === undefined || typeof found.statusCode !== "number") return null;
  // Without `data` the SDK could not read the error, and its message is the bare status text.
  const body = found.data === undefined && typeof found.responseBody === "string" ? found.responseBody : "";
  const text = readableText(body.trim() === "" ? messageOf(found) : body);
  return { status: found.statusCode, text, headers: found.responseHeaders };
}

function isWithoutConnection(causes: readonly UnknownError[]): boolean {
  return (
    hasCode(causes, NO_CONNECTION_CODES) ||
    causes.some(({ syscall }) => typeof syscall === "string" && NO_CONNECTION_SYSCALLS.has(syscall))
  );
}

function hasCode(causes: readonly UnknownError[], codes: ReadonlySet<string>): boolean {
  return causes.some(({ code }) => typeof code === "string" && codes.has(code));
}

function hasName(causes: readonly UnknownError[], names: ReadonlySet<string>): boolean {
  return causes.some(({ name }) => typeof name === "string" && names.has(name));
}

/** The engine aborts with this when its own time limit is over; everything else is somebody's wish. */
function isTimeout(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
}

function abortReason(signal: AbortSignal): string {
  return readableText(messageOf(signal.reason));
}

/** The SDK's errors carry the prompt, the response headers and the URL; a cause ends up in logs. */
function withoutSecrets(error: unknown): Error {
  const cause = new Error(readableText(messageOf(error)));
  if (error instanceof Error) {
    cause.name = error.name;
    cause.stack = `${cause.name}: ${cause.message}\n${(error.stack ?? "")
      .split("\n")
      .filter((line) => /^\s+at /.test(line))
      .join("\n")}`;
  }
  return cause;
}

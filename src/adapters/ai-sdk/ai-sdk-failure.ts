import { ModelCallError } from "../../core/errors.ts";
import type { ModelResponse } from "../../engine/ports/model-port.ts";
import { causesOf, messageOf, type UnknownError } from "../net/error-causes.ts";
import type { NetworkProgress } from "../net/network-attempt.ts";
import { readableText } from "../net/readable-text.ts";
import { retryAfterMs } from "../net/retry-after.ts";
import { StreamIdleError } from "./ai-sdk-stream-watch.ts";

/** How far a model call got before it failed. */
export type RequestProgress = {
  /** The provider was called. */
  readonly began: boolean;
  readonly network: NetworkProgress;
  readonly signal: AbortSignal;
};

type Details = ModelCallError["details"];
/** The stored details, and the two halves of the message: what happened, and what to do. In an outage the run just waits. */
type ModelFailure = Details & { readonly what: string; readonly next: string | null };

/** An HTTP response with a status. `text` is for people, `body` is all of it. */
type HttpStatusAnswer = {
  readonly status: number;
  readonly text: string;
  readonly body: string;
  readonly headers: unknown;
};

/** Raised while a request is being built. `AI_` is the SDK's prefix. */
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

/** Raised for a part of a message that the provider does not take, such as a file of another type. */
const UNSUPPORTED_CONTENTS = new Set(["AI_UnsupportedFunctionalityError"]);

/** The host does not exist: most often a typing mistake in an address, which no waiting corrects. */
const NO_SUCH_HOST_CODES = new Set(["ENOTFOUND"]);
const NO_CONNECTION_CODES = new Set(["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);
const NO_CONNECTION_SYSCALLS = new Set(["connect", "getaddrinfo"]);

/** Reasons of `fetch` for an address that it does not connect to: a blocked port, another scheme, no address at all. */
const REFUSED_BY_FETCH = /^(bad port|unknown scheme|Failed to parse URL from )/;

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

/** The provider answered, but not as its protocol specifies. A truncated body may look like this too. */
const UNUSABLE_BODY = new Set([
  "AI_JSONParseError",
  "AI_TypeValidationError",
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
  // A stream without the provider's own end.
  "UnfinishedAnswerError",
]);

/** The error of a failed call: how far it got, whether to try again, and a message for a person. */
export function modelCallFailed(model: string, error: unknown, progress: RequestProgress): ModelCallError {
  return asError(model, classify(error, progress), withoutSecrets(error));
}

/** An empty answer: `finishReason` decides whether asking again can help. */
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

/** An answer that exceeds a limit. */
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
    next: "None of it was used: try again, or have the agent do less at a time",
  });
}

function asError(model: string, failure: ModelFailure, cause?: Error): ModelCallError {
  const { what, next, ...details } = failure;
  const options = cause === undefined ? {} : { cause };
  if (next === null) return new ModelCallError(`${model} ${what}.`, details, options);
  const advice = `${next}.`;
  const told = details.kind === "rejected" ? { ...details, advice } : details;
  return new ModelCallError(`${model} ${what}. ${advice}`, told, options);
}

/** Checks in order: was it certainly not sent, did the provider answer, was the call cut short. */
function classify(error: unknown, progress: RequestProgress): ModelFailure {
  const causes = [...causesOf(error)];
  const { signal } = progress;
  if (!wasSent(causes, progress)) return signal.aborted ? notSentAborted(signal) : notSent(error, causes);
  const answer = httpStatusAnswer(causes);
  if (answer !== null && answer.status >= 400) return refused(answer);
  if (signal.aborted) return cutShort(signal);
  if (error instanceof StreamIdleError) return stoppedArriving(error);
  if (hasCode(causes, FETCH_TIMEOUT_CODES)) return fetchTimedOut(error);
  return unanswered(error, causes, answer);
}

/**
 * If undici was seen, it knows. If not, the provider uses its own transport, and a call that began counts as sent
 * unless the error proves that it was not: in doubt, it is charged.
 */
function wasSent(causes: readonly UnknownError[], { began, network }: RequestProgress): boolean {
  if (!began) return false;
  if (network !== "unseen") return network === "sent";
  return !hasName(causes, RAISED_BEFORE_DISPATCH) && !neverConnected(causes) && !isRefusedByFetch(causes);
}

const noAnswer = { kind: "no_answer", status: null, retryAfterMs: null, retryable: false } as const;

function notSent(error: unknown, causes: readonly UnknownError[]): ModelFailure {
  const isUnknownHost = hasCode(causes, NO_SUCH_HOST_CODES);
  const isWrongAddress = isUnknownHost || isRefusedByFetch(causes);
  const isUnreachable = neverConnected(causes) || hasCode(causes, BROKEN_CONNECTION_CODES);
  const message = isUnreachable ? connectionMessage(error, causes) : messageOf(error);
  const retryable = isUnreachable && !isUnknownHost;
  const fix = isWrongAddress
    ? "Check the provider's address (baseURL) and the network, then resume"
    : "Fix that, then resume";
  return {
    ...noAnswer,
    kind: "not_sent",
    retryable,
    ...(hasName(causes, UNSUPPORTED_CONTENTS) ? { contents: true } : {}),
    what: retryable
      ? `cannot be reached, nothing was sent: ${readableText(message)}`
      : `was not called, nothing was sent: ${readableText(message)}`,
    next: retryable ? null : fix,
  };
}

function notSentAborted(signal: AbortSignal): ModelFailure {
  const timedOut = isTimeout(signal);
  return {
    ...noAnswer,
    kind: "not_sent",
    retryable: timedOut,
    what: timedOut
      ? "could not be reached within the time limit, nothing was sent"
      : `was not called, nothing was sent: the call was aborted (${abortReason(signal)})`,
    next: timedOut ? null : "Resume to call it again",
  };
}

function refused(answer: HttpStatusAnswer): ModelFailure {
  const { status, headers } = answer;
  const reason = answer.text === "" ? "" : `: ${answer.text}`;
  const wait = retryAfterMs(headers);
  if (status < 500 && isOutOfCredit(answer))
    return {
      kind: "rejected",
      status,
      retryAfterMs: null,
      retryable: false,
      account: true,
      what: `rejected the request, the account's quota or credit is used up (${status})${reason}`,
      next: "Waiting does not help: raise the limit or add credit in the provider's account, then resume",
    };
  const refusal = { status, retryAfterMs: wait, retryable: true, next: null };
  if (status === 429)
    return { ...refusal, kind: "rate_limited", what: `refused the request for now (429)${reason}` };
  if (status === 503 || status === 529)
    return { ...refusal, kind: "server_error", what: `is unavailable (${status})${reason}` };
  if (status >= 500) {
    const next = "The problem is on the provider's side: resume later";
    return { ...refusal, kind: "server_error", what: `failed (${status})${reason}`, next };
  }
  return {
    kind: "rejected",
    status,
    retryAfterMs: wait,
    ...(isWrongKey(answer) ? { account: true } : {}),
    // 408: the server timed out waiting for the request, so it did nothing.
    retryable: status === 408,
    what: `rejected the request (${status})${reason}`,
    next: afterRejection(answer),
  };
}

/**
 * Codes and sentences of providers for an account without credit. "You exceeded your current quota" is not among them:
 * Gemini answers so for limits per minute too.
 */
const OUT_OF_CREDIT =
  /insufficient[_ ](balance|credits?|funds)|credit_balance_exhausted|exceeded_current_quota_error|billing_(hard_limit|not_active|error)|credit balance is too low|(out of|used all available) credits/i;
/** Azure uses OpenAI's code for limits per minute as well, and then says when to try again. */
const OUT_OF_QUOTA = /insufficient_quota/i;

function isOutOfCredit({ status, body, text, headers }: HttpStatusAnswer): boolean {
  const whole = `${body} ${text}`;
  if (status === 402 || OUT_OF_CREDIT.test(whole)) return true;
  return OUT_OF_QUOTA.test(whole) && retryAfterMs(headers) === null;
}

/** Gemini reports a wrong key as 400. */
const WRONG_KEY = /\bAPI_KEY_INVALID\b|\bAPI key (not valid|expired)\b/;

function isWrongKey({ status, body, text }: HttpStatusAnswer): boolean {
  return status === 401 || status === 403 || WRONG_KEY.test(`${body} ${text}`);
}

/** Providers' messages for a request that is longer than the context window; there is no common code for it. */
const TOO_LONG =
  /context.{0,12}(length|window|size|limit)|(prompt|input|request|messages?).{0,24}too (long|large)|too many input tokens|input token count|maximum prompt length/i;

function afterRejection(answer: HttpStatusAnswer): string {
  const { status, text } = answer;
  if (isWrongKey(answer)) return "Check the API key and its permissions, then resume";
  if (status === 404)
    return "Check the model id and the provider's address, then resume; with another model id, resume with acceptDivergence";
  if (status === 408) return "Try again";
  if (status === 413 || TOO_LONG.test(text))
    return "Show the model less: lower maxResultTokens of the agent or its step if tool results are long, and resume; or lower historyMaxTokens of its step (Step.granular) if the conversation is, and resume with acceptDivergence";
  return "Fix the request, then resume";
}

function cutShort(signal: AbortSignal): ModelFailure {
  if (isTimeout(signal)) {
    return {
      ...noAnswer,
      kind: "timeout",
      what: "was called and did not answer within the time limit",
      next: "It may have been charged; raise modelTimeoutMs of the Runner, or resume to call it again",
    };
  }
  return {
    ...noAnswer,
    what: `was called, but the call was aborted before the answer arrived (${abortReason(signal)})`,
    next: "It may have been charged; resume to call it again",
  };
}

/** Like a connection that broke: nothing tells the two apart. */
function stoppedArriving({ idleMs }: StreamIdleError): ModelFailure {
  return {
    ...noAnswer,
    kind: "timeout",
    retryable: true,
    what: `stopped in the middle of its answer, and nothing more came for ${idleMs} ms`,
    next: "It may have been charged; try again, or raise modelIdleTimeoutMs of the Runner",
  };
}

function fetchTimedOut(error: unknown): ModelFailure {
  return {
    ...noAnswer,
    kind: "timeout",
    what: `was called and did not answer before Node's fetch timed out: ${readableText(messageOf(error))}`,
    next: "It may have been charged; for long answers give the provider a fetch with longer timeouts",
  };
}

function unanswered(
  error: unknown,
  causes: readonly UnknownError[],
  answer: HttpStatusAnswer | null,
): ModelFailure {
  const broken = hasCode(causes, BROKEN_CONNECTION_CODES);
  const message = broken ? connectionMessage(error, causes) : messageOf(error);
  const retryable = broken || hasName(causes, UNUSABLE_BODY);
  return {
    ...noAnswer,
    status: answer?.status ?? null,
    retryable,
    what: `was called and gave no usable answer: ${readableText(message)}${broken ? "" : bodyStart(causes)}`,
    next: retryable
      ? "It may have been charged; try again"
      : "It may have been charged; check that, then resume",
  };
}

const SHOWN_BODY = 120;

/** The beginning of a body that could not be parsed: it shows, for example, that a proxy answered with a page. */
function bodyStart(causes: readonly UnknownError[]): string {
  const body = causes.map(({ responseBody }) => responseBody).find((each) => typeof each === "string");
  const text = typeof body === "string" ? readableText(body) : "";
  if (text === "") return "";
  const shown = text.length > SHOWN_BODY ? `${text.slice(0, SHOWN_BODY).toWellFormed()}…` : text;
  return `, which begins with ${JSON.stringify(shown)}`;
}

/** The message of the root cause: the outer message is only "fetch failed". */
function connectionMessage(error: unknown, causes: readonly UnknownError[]): string {
  const root = causes.findLast((cause) => typeof cause.code === "string");
  return messageOf(root === undefined || messageOf(root) === "" ? error : root);
}

/**
 * The HTTP status that was received. AI Gateway errors have their own `statusCode`, which is 500 even for a refused
 * connection, so the SDK's error for an HTTP response is preferred.
 */
function httpStatusAnswer(causes: readonly UnknownError[]): HttpStatusAnswer | null {
  const found =
    causes.find((cause) => cause.name === "AI_APICallError" && typeof cause.statusCode === "number") ??
    (hasCode(causes, BROKEN_CONNECTION_CODES) || hasCode(causes, FETCH_TIMEOUT_CODES)
      ? undefined
      : causes.find((cause) => typeof cause.statusCode === "number"));
  if (found === undefined || typeof found.statusCode !== "number") return null;
  const body = typeof found.responseBody === "string" ? found.responseBody : "";
  // Without `data` the SDK could not parse the error, and its message is only the status text.
  const isParsed = found.data !== undefined || body.trim() === "";
  const text = readableText(isParsed ? messageOf(found) : body);
  return { status: found.statusCode, text, body, headers: found.responseHeaders };
}

function neverConnected(causes: readonly UnknownError[]): boolean {
  return (
    hasCode(causes, NO_CONNECTION_CODES) ||
    hasCode(causes, NO_SUCH_HOST_CODES) ||
    causes.some(({ syscall }) => typeof syscall === "string" && NO_CONNECTION_SYSCALLS.has(syscall))
  );
}

function isRefusedByFetch(causes: readonly UnknownError[]): boolean {
  return causes.some(({ message }) => typeof message === "string" && REFUSED_BY_FETCH.test(message));
}

function hasCode(causes: readonly UnknownError[], codes: ReadonlySet<string>): boolean {
  return causes.some(({ code }) => typeof code === "string" && codes.has(code));
}

function hasName(causes: readonly UnknownError[], names: ReadonlySet<string>): boolean {
  return causes.some(({ name }) => typeof name === "string" && names.has(name));
}

/** The engine aborts with a TimeoutError at its own time limit; any other reason is a request to stop. */
function isTimeout(signal: AbortSignal): boolean {
  return signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
}

function abortReason(signal: AbortSignal): string {
  return readableText(messageOf(signal.reason));
}

/** The SDK's errors carry the prompt, the response headers and the URL, and a cause ends up in logs. */
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

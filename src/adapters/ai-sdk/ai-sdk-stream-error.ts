import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { causesOf, messageOf } from "../net/error-causes.ts";
import { readableText } from "../net/readable-text.ts";

/** A stream without the provider's own end. `reported` is the error in it, if there was one. */
export class UnfinishedAnswerError extends Error {
  override readonly name = "UnfinishedAnswerError";

  constructor(what: string, reported?: unknown, options?: ErrorOptions) {
    super(reported === undefined ? what : `${what}: ${readableText(reportedText(reported))}`, options);
  }
}

/**
 * Why an end is none, or null. Providers' packages end a stream that was cut off with `interrupted`; older ones with `other`
 * and no reason of the provider. An answer that ends for a reason of the provider's own has that reason.
 */
export function unfinishedProblem({
  unified,
  raw,
}: LanguageModelV4GenerateResult["finishReason"]): string | null {
  if (unified === "error") return "the stream ended with an error";
  if (unified === "interrupted" || (unified === "other" && raw === undefined))
    return "the stream ended without the provider's reason for the end";
  return null;
}

/** The status that an error in a stream stands for: its response had the status 200 before. */
const STATUS_OF_TYPE: { readonly [type: string]: number } = {
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  overloaded_error: 529,
  service_unavailable: 503,
  service_unavailable_error: 503,
  timeout_error: 504,
  server_error: 500,
  internal_error: 500,
  internal_server_error: 500,
  api_error: 500,
  billing_error: 402,
  authentication_error: 401,
  invalid_api_key: 401,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  invalid_request_error: 400,
  invalid_prompt: 400,
  bad_request_error: 400,
  content_filter: 400,
  context_length_exceeded: 400,
};

/**
 * An error that came instead of an answer: with the status that it names, or else one that may pass, like an error in the
 * middle of an answer. A package may pass it on as the server sent it.
 */
export function errorBeforeAnswer(error: unknown): unknown {
  const causes = [...causesOf(error)];
  if (causes.some((cause) => typeof cause.statusCode === "number")) return error;
  const statusCode = causes.map(statusIn).find((status) => status !== null);
  if (statusCode === undefined)
    // Its causes show whether anything was sent.
    return new UnfinishedAnswerError("the provider reported an error instead of an answer", error, {
      cause: error,
    });
  const about = { statusCode, responseBody: causes.map(bodyOf).join(" "), data: error };
  return Object.assign(new Error(reportedText(error)), about);
}

/** What the server sent, or what is left of it in an error: anything else of an error may be large, and may be a circle. */
function bodyOf(cause: { readonly code?: unknown; readonly type?: unknown }): string {
  return cause instanceof Error ? `${String(cause.code)} ${String(cause.type)}` : JSON.stringify(cause);
}

function statusIn(error: object): number | null {
  const { code, type, status }: { code?: unknown; type?: unknown; status?: unknown } = error;
  for (const given of [status, code, type]) {
    const number = typeof given === "string" ? (STATUS_OF_TYPE[given] ?? Number(given)) : given;
    if (typeof number === "number" && Number.isInteger(number) && number >= 400 && number < 600)
      return number;
  }
  return null;
}

function reportedText(error: unknown): string {
  if (error instanceof Error || typeof error !== "object" || error === null) return messageOf(error);
  return "message" in error ? messageOf(error) : JSON.stringify(error);
}

import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { causesOf, messageOf } from "../net/error-causes.ts";
import { readableText } from "../net/readable-text.ts";

/** A stream without the provider's own end. `reported` is the error in it, if there was one. */
export class UnfinishedAnswerError extends Error {
  override readonly name = "UnfinishedAnswerError";

  constructor(what: string, reported?: unknown) {
    super(reported === undefined ? what : `${what}: ${readableText(reportedText(reported))}`);
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
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  invalid_request_error: 400,
  context_length_exceeded: 400,
};

/** An error in a stream with the status that it names: a package may pass it on as the server sent it. */
export function withStatus(error: unknown): unknown {
  for (const cause of causesOf(error)) if (typeof cause.statusCode === "number") return error;
  if (typeof error !== "object" || error === null || error instanceof Error) return error;
  const statusCode = statusIn(error);
  const found = new Error(reportedText(error));
  return statusCode === null
    ? found
    : Object.assign(found, { statusCode, responseBody: JSON.stringify(error), data: error });
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

import { PawlError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { type ProblemKind, problemKind } from "../error-problems.ts";
import { HttpProblem, internalProblem } from "../http-problem.ts";

/** An error by RFC 9457, as it is sent. */
export type ProblemDocument = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly recoverable: boolean;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  readonly details?: { readonly [name: string]: Json };
};

/** The same request may succeed later, unchanged. */
const PASSING: readonly number[] = [408, 429, 503];

/** The document of anything that was thrown. Of an unexpected error it has nothing: that is for the log. */
export function problemOf(error: unknown, requestId: string): ProblemDocument {
  if (error instanceof HttpProblem) return httpProblem(error, requestId);
  if (PawlError.isInstance(error)) {
    const kind = problemKind(error.code);
    if (kind !== undefined) return pawlProblem(error, kind, requestId);
  }
  const { code, ...internal } = internalProblem(requestId);
  return { ...named(code, requestId), title: "The server failed.", ...internal, recoverable: false };
}

/** True if what was thrown is in no table: a fault of the server, which belongs in its log. */
export function isUnexpected({ status }: ProblemDocument): boolean {
  return status === 500;
}

export function problemResponse(
  problem: ProblemDocument,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const sent = new Headers(headers);
  sent.set("content-type", "application/problem+json");
  sent.set("cache-control", "no-store");
  if (problem.status === 401) sent.set("www-authenticate", "Bearer");
  if (problem.status === 503 && !sent.has("retry-after")) sent.set("retry-after", "1");
  if (problem.status === 429 && !sent.has("retry-after")) sent.set("retry-after", "60");
  const allowed = problem.details?.allow;
  if (problem.status === 405 && typeof allowed === "string") sent.set("allow", allowed);
  return new Response(JSON.stringify(problem), { status: problem.status, headers: sent });
}

function httpProblem(error: HttpProblem, requestId: string): ProblemDocument {
  const { status, code, message, errors, details } = error;
  return {
    ...named(code, requestId),
    title: message,
    status,
    detail: message,
    recoverable: PASSING.includes(status),
    ...(errors.length === 0 ? {} : { errors }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
  };
}

function pawlProblem(error: PawlError, { status, title }: ProblemKind, requestId: string): ProblemDocument {
  return {
    ...named(error.code, requestId),
    title,
    status,
    detail: error.message,
    recoverable: error.recoverable,
    ...(Object.keys(error.details).length === 0 ? {} : { details: error.details }),
  };
}

function named(code: string, requestId: string) {
  return { type: `urn:pawl:problem:${code}`, code, instance: `/v1/requests/${requestId}` };
}

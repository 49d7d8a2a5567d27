import type { Json } from "../core/json.ts";

/** What a client is answered of an error that no part of Pawl expected: the error itself is in the log of the server. */
export function internalProblem(requestId: string) {
  return {
    status: 500,
    code: "internal",
    detail: `The server failed to answer: look for ${requestId} in its log.`,
  } as const;
}

/** Something that is wrong with a request, which no other part of Pawl has an error for. Answered by RFC 9457. */
export class HttpProblem extends Error {
  override readonly name = "HttpProblem";
  readonly status: number;
  readonly code: string;
  readonly details: { readonly [name: string]: Json };
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];

  /** The message says what happened, to what, and what to do next. */
  constructor(
    status: number,
    code: string,
    message: string,
    more: {
      readonly details?: { readonly [name: string]: Json };
      readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
    } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = more.details ?? {};
    this.errors = more.errors ?? [];
  }
}

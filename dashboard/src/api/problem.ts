import type { z } from "zod";
import type { problem } from "../../../src/server/api/schemas/field-schemas.ts";

type ProblemDocument = z.output<typeof problem>;

/** An error that the server answered with, by RFC 9457. */
export class PawlProblem extends Error {
  override readonly name = "PawlProblem";
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** The request, as the server's log names it. */
  readonly requestId: string | null;
  readonly details: ProblemDocument["details"];

  constructor(given: {
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly requestId?: string | null;
    readonly details?: ProblemDocument["details"];
  }) {
    super(given.detail);
    this.status = given.status;
    this.code = given.code;
    this.detail = given.detail;
    this.requestId = given.requestId ?? null;
    this.details = given.details;
  }
}

/** What an answer says is wrong. A proxy in front of the server answers with something else than a problem. */
export async function problemOf(response: Response): Promise<PawlProblem> {
  const document = await response.json().catch(() => null);
  const { code, detail, instance, details } = (document ?? {}) as Partial<ProblemDocument>;
  return new PawlProblem({
    status: response.status,
    code: code ?? "unexpected_answer",
    detail:
      detail ?? `The server answered ${response.status}. It may be starting: wait a moment, then try again.`,
    requestId: instance?.split("/").at(-1) ?? response.headers.get("x-request-id"),
    details,
  });
}

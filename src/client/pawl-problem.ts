/** What the server answers in the place of a result: an error by RFC 9457. */
export class PawlProblem extends Error {
  override readonly name = "PawlProblem";
  /** Stable: `run_not_found`, `already_settled`, `role_too_low`. */
  readonly code: string;
  /** The status of HTTP. */
  readonly status: number;
  /** True if the same request may succeed later, unchanged. */
  readonly recoverable: boolean;
  /** What is wrong with which part of the request. */
  readonly errors: readonly { readonly pointer: string; readonly detail: string }[];
  /** More about it, by code. */
  readonly details: { readonly [name: string]: unknown };
  /** How the log of the server names the request; null if another program has answered in its place. */
  readonly requestId: string | null;

  constructor(status: number, problem: { readonly [name: string]: unknown }, requestId: string | null) {
    const { code, detail, recoverable, errors, details } = problem;
    super(
      typeof detail === "string"
        ? detail
        : `Another program answered ${status} in the place of the server. The server may be starting: try again, or look at what is in front of it.`,
    );
    this.status = status;
    this.code = typeof code === "string" ? code : `http_${status}`;
    this.recoverable =
      typeof recoverable === "boolean" ? recoverable : [408, 429, 502, 503, 504].includes(status);
    this.errors = Array.isArray(errors) ? errors : [];
    this.details = typeof details === "object" && details !== null ? { ...details } : {};
    this.requestId = requestId;
  }

  /** From an answer. A proxy in front of the server answers with a page of its own. */
  static async of(response: Response): Promise<PawlProblem> {
    const problem: unknown = await response.json().catch(() => null);
    const fields = typeof problem === "object" && problem !== null ? { ...problem } : {};
    return new PawlProblem(response.status, fields, response.headers.get("x-request-id"));
  }

  /** An answer that no Pawl server gives: the address is that of something else. */
  static async notPawl({ status, headers, body }: Response): Promise<PawlProblem> {
    await body?.cancel();
    const detail = `That is not a Pawl server: it answered ${headers.get("content-type") ?? "something"}. Check the baseUrl.`;
    return new PawlProblem(status, { code: "not_pawl", detail }, null);
  }
}

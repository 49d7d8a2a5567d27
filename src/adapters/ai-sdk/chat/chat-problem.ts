/** A request that is not answered: its status, and one sentence that a page can show. */
export class ChatProblem extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** Plain text: `useChat` shows the body as the error's message. */
  toResponse(): Response {
    const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
    return new Response(this.message, { status: this.status, headers });
  }
}

export function notFound(): ChatProblem {
  return new ChatProblem(404, "There is no such chat: begin one, or check its id.");
}

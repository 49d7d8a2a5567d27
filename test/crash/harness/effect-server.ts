// An outside system that takes bookings over HTTP and keeps its own log: the witness of what really happened.
//
//   POST /effects        has the effect; in a keyed server, a second one with the same Idempotency-Key has none
//   GET /effects/:key    what was answered under the key, or 404

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

export type ServerOptions = {
  /** Drops a second effect with the same key, and answers as before. */
  readonly keyed?: boolean;
  /** Accepts requests without an answer, and has the effect only after the first look-up. */
  readonly isSlow?: boolean;
};

export type ServerEntry =
  | { readonly did: "effect"; readonly key: string; readonly what: string }
  | { readonly did: "dropped"; readonly key: string; readonly what: string }
  | { readonly did: "looked up"; readonly key: string; readonly found: boolean };

/** A server for one test. */
export async function effectServer(options: ServerOptions = {}): Promise<EffectServer> {
  const server = await EffectServer.listen(options);
  onTestFinished(() => server.close());
  return server;
}

export class EffectServer {
  readonly log: ServerEntry[] = [];
  readonly #options: ServerOptions;
  readonly #answers = new Map<string, string>();
  readonly #late = new Map<string, string>();
  readonly #server: Server;

  private constructor(options: ServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  static async listen(options: ServerOptions): Promise<EffectServer> {
    const server = new EffectServer(options);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The effects, in order. */
  get effects(): string[] {
    return this.log.flatMap((entry) => (entry.did === "effect" ? [entry.what] : []));
  }

  /** The number of requests, whatever their outcome. */
  get requests(): number {
    return this.log.filter(({ did }) => did !== "looked up").length;
  }

  get lookUps(): boolean[] {
    return this.log.flatMap((entry) => (entry.did === "looked up" ? [entry.found] : []));
  }

  /** Accepted bookings that have had no effect so far. */
  get pending(): number {
    return this.#late.size;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") this.#take(request, await text(request), response);
    else this.#lookUp(request.url?.split("/").at(-1) ?? "", response);
  }

  #take({ headers }: IncomingMessage, what: string, response: ServerResponse): void {
    const key = String(headers["idempotency-key"]);
    const before = this.#answers.get(key);
    if (this.#options.isSlow === true) this.#late.set(key, what);
    else if (this.#options.keyed === true && before !== undefined) {
      this.log.push({ did: "dropped", key, what });
      response.end(before);
    } else response.end(this.#effect(key, what));
  }

  #effect(key: string, what: string): string {
    this.log.push({ did: "effect", key, what });
    const answer = `${what} is booking ${this.effects.length}`;
    this.#answers.set(key, answer);
    return answer;
  }

  #lookUp(key: string, response: ServerResponse): void {
    const answer = this.#answers.get(key);
    this.log.push({ did: "looked up", key, found: answer !== undefined });
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
    const late = this.#late.get(key);
    this.#late.delete(key);
    if (late !== undefined) this.#effect(key, late);
  }
}

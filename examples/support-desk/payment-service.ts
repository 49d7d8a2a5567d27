/**
 * A stand-in for a payment service. It drops a repeated key, keeps its own log of what it did, and sends each webhook until
 * it is accepted. For the tests it may also send one several times.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

type Refund = { readonly ticket: string; readonly order: string; readonly cents: number };

type PaymentEntry =
  | { readonly did: "refund" | "repeated"; readonly key: string; readonly ticket: string }
  /** The status is null if the desk's server did not answer. */
  | { readonly did: "webhook"; readonly id: string; readonly ticket: string; readonly status: number | null };

type PaymentOptions = {
  /** Where webhooks go. */
  readonly webhook: string;
  /** How long a refund takes to settle. */
  readonly settleMs: number;
  /** How long after a refund it is answered, in milliseconds; at once by default. */
  readonly answerMs?: () => number;
  /** How many copies of a webhook are sent, one after the other and also at once; one by default. */
  readonly copies?: () => number;
};

export class PaymentService {
  readonly log: PaymentEntry[] = [];
  readonly #options: PaymentOptions;
  readonly #ids = new Map<string, string>();
  readonly #sending = new Set<Promise<void>>();
  readonly #server: Server;
  #isClosed = false;

  private constructor(options: PaymentOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#refund(request, response));
  }

  static async listen(port: number, options: PaymentOptions): Promise<PaymentService> {
    const service = new PaymentService(options);
    await new Promise<void>((resolve) => service.#server.listen(port, "127.0.0.1", resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The tickets that were refunded, one entry for each time that money moved. */
  get refunds(): readonly string[] {
    return this.log.flatMap(({ did, ticket }) => (did === "refund" ? [ticket] : []));
  }

  /** Resolves once each webhook was accepted. */
  async delivered(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.delivered();
  }

  async #refund(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refund = (await json(request)) as Refund;
    const key = request.headers["idempotency-key"];
    if (typeof key !== "string") {
      response.writeHead(400).end("Send an Idempotency-Key.");
      return;
    }
    const known = this.#ids.get(key);
    const id = known ?? `re-${this.#ids.size + 1}`;
    this.#ids.set(key, id);
    this.log.push({ did: known === undefined ? "refund" : "repeated", key, ticket: refund.ticket });
    if (known === undefined) this.#settle(id, refund);
    await sleep(this.#options.answerMs?.() ?? 0);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ refund: id }));
  }

  #settle(refund: string, { ticket, cents }: Refund): void {
    const id = `evt-${refund}`;
    const body = JSON.stringify({ id, type: "refund.settled", ticket, cents });
    const copies = this.#options.copies?.() ?? 1;
    for (let copy = 1; copy <= copies; copy++) {
      const delivery = this.#deliver({ id, ticket, body }, this.#options.settleMs * copy);
      const sending = delivery.finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }
  }

  async #deliver({ id, ticket, body }: { [name in "id" | "ticket" | "body"]: string }, afterMs: number) {
    for (let pauseMs = afterMs; !this.#isClosed; pauseMs = Math.min(1_000, pauseMs * 2)) {
      await sleep(pauseMs);
      const response = await fetch(this.#options.webhook, { method: "POST", body }).catch(() => null);
      await response?.text().catch(() => undefined);
      this.log.push({ did: "webhook", id, ticket, status: response?.status ?? null });
      if (response?.ok === true) return;
    }
  }
}

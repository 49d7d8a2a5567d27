/** The shop's own system, which the agent calls over HTTP. It knows what was refunded, whatever happens to the chat. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const ORDERS: { readonly [order: string]: { readonly what: string; readonly price: string } } = {
  "A-17": { what: "a blue kettle", price: "€39.00" },
  "B-4": { what: "a teapot for six", price: "€52.00" },
};

export type ShopOptions = {
  /** Resolves when the answer about a refund may be sent; the money has moved by then. */
  readonly answers?: () => Promise<unknown>;
};

export class Shop {
  /** The orders that were refunded, one entry for each time that money moved. */
  readonly refunds: string[] = [];
  /** How often a refund was asked for again with the key of an earlier one. */
  repeated = 0;
  readonly #keys = new Set<string>();
  readonly #options: ShopOptions;
  readonly #server: Server;

  private constructor(options: ShopOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async listen(options: ShopOptions = {}): Promise<Shop> {
    const shop = new Shop(options);
    shop.#server.listen(0, "127.0.0.1");
    await once(shop.#server, "listening");
    return shop;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , order = "", action] = (request.url ?? "").split("/").map(decodeURIComponent);
    const found = ORDERS[order];
    if (action === "refund") {
      this.#refund(order, String(request.headers["idempotency-key"]));
      await this.#options.answers?.();
    }
    const body = found === undefined ? { found: false } : { found: true, order, ...found };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  /** A key that is known moves no money. */
  #refund(order: string, key: string): void {
    if (this.#keys.has(key)) this.repeated++;
    else this.refunds.push(order);
    this.#keys.add(key);
  }
}

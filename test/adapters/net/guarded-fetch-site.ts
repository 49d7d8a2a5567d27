import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { guardedFetch, NetworkRefusedError, type Resolve } from "../../../src/adapters/net/guarded-fetch.ts";
import type { NetworkPolicy } from "../../../src/core/network-policy.ts";

type Seen = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};
type Answer = (response: ServerResponse) => void;

/** A server on the loopback interface that records its requests. */
export class Site {
  origin = "";
  port = 0;
  readonly seen: Seen[] = [];
  connections = 0;
  readonly answers = new Map<string, Answer>();
  readonly #arrivals: (() => void)[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const { method = "", url: path = "", headers } = request;
      const answer = this.answers.get(path.split("?")[0] ?? "") ?? (() => response.end(`hello from ${path}`));
      const take = (body: string) => {
        this.seen.push({ method, path, headers, body });
        for (const arrived of this.#arrivals.splice(0)) arrived();
        answer(response);
      };
      // A client that disconnects while it sends is ignored.
      readText(request).then(take, () => {});
    });
    // The server would keep idle connections forever: the client must close them.
    this.#server.keepAliveTimeout = 600_000;
    this.#server.on("connection", () => this.connections++);
  }

  static async start(): Promise<Site> {
    const site = new Site();
    site.#server.listen(0, "127.0.0.1");
    await once(site.#server, "listening");
    // A listening TCP server always has an AddressInfo; only pipes have a string.
    site.port = (site.#server.address() as AddressInfo).port;
    site.origin = `http://127.0.0.1:${site.port}`;
    return site;
  }

  redirect(path: string, status: number, location: string): void {
    this.answers.set(path, (response) => response.writeHead(status, { location }).end("moved"));
  }

  nextRequest(): Promise<void> {
    return new Promise((resolve) => this.#arrivals.push(resolve));
  }

  get requests(): readonly string[] {
    return this.seen.map(({ method, path }) => `${method} ${path}`);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

export const domains = (...allowedDomains: string[]): NetworkPolicy => ({
  allowedDomains,
  allowPrivateAddresses: false,
});
export const callWith = (network: NetworkPolicy, signal = new AbortController().signal) => ({
  signal,
  network,
});
export const LOOPBACK = domains("127.0.0.1:*");
export const fetchLoopback = (input: string | URL, init?: RequestInit) =>
  guardedFetch(callWith(domains("127.0.0.1:*")))(input, init);

/** The refusal of a request; fails if the request ends in any other way. */
export async function refusalOf(response: Promise<Response>): Promise<NetworkRefusedError> {
  const error: unknown = await response.then(
    () => "it was answered",
    (reason: unknown) => reason,
  );
  if (!NetworkRefusedError.isInstance(error)) throw new Error("It was not refused.", { cause: error });
  return error;
}

/** A name server that knows these addresses for every name. */
export const resolveTo =
  (...addresses: LookupAddress[]): Resolve =>
  (_hostname, _options, callback) =>
    callback(null, addresses);
export const toLoopback = resolveTo({ address: "127.0.0.1", family: 4 });

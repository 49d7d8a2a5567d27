import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** What a company has in front of its servers: while one is replaced, it answers for it. */
export class Proxy {
  /** 502 for everything, and what was open is broken. */
  isBad = false;
  /** The version that the server behind it seems to have; null for its own. */
  version: string | null = null;
  readonly #target: URL;
  readonly #server = createServer((asked, answer) => this.#pass(asked, answer));
  readonly #sockets = new Set<Socket>();

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  static async listen(target: string): Promise<Proxy> {
    const proxy = new Proxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Breaks every connection, as a proxy does when the server behind it is replaced. */
  breakAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.breakAll();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(asked: IncomingMessage, answer: ServerResponse): void {
    if (this.isBad) {
      answer.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>");
      return;
    }
    const headers = { ...asked.headers, host: this.#target.host };
    const { method, url: path } = asked;
    const passed = request(this.#target, { method, path, headers, agent: false }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      given.on("data", (bytes: Buffer) => answer.write(this.#changed(bytes)));
      given.on("end", () => answer.end());
      given.on("error", () => answer.destroy());
    });
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    asked.pipe(passed);
  }

  #changed(bytes: Buffer): Buffer | string {
    const isHello = this.version !== null && bytes.subarray(0, 12).toString() === "event: hello";
    return isHello ? bytes.toString().replace(/"version":"[^"]*"/, `"version":"${this.version}"`) : bytes;
  }
}

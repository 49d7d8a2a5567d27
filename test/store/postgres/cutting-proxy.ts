// A proxy between a store and its server that cuts connections, or leads to another server.

import { connect, createServer, type Server, type Socket } from "node:net";

export type Cut =
  /** The COMMIT never arrives. */
  | "before"
  /** It arrives and is done, and its answer is lost. */
  | "after"
  /** The connection is cut at once, and the COMMIT arrives 20 to 80 ms later. */
  | "late";

export class CuttingProxy {
  readonly #server: Server;
  #target: number;
  readonly #sockets = new Set<Socket>();
  #next: Cut | null = null;
  /** A connection that sends this is cut. */
  #refused: string | null = null;
  /** The clients' ends of the connections, and what each has sent that may be refused later. */
  readonly #sent = new Map<Socket, Buffer[]>();
  /** How many connections were cut. */
  cuts = 0;
  /** How often a client that had all of its answers has sent something: the number of round trips. */
  roundTrips = 0;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
  }

  static async start(target: number): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server, target);
    server.on("connection", (client) => proxy.#serve(client));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("The proxy does not listen.");
    return address.port;
  }

  /** Cuts the next connection that sends a COMMIT after a write; null for none. */
  cutNext(how: Cut | null): void {
    this.#next = how;
  }

  /** Cuts all connections; new ones lead to this port. */
  switchTo(target: number): void {
    this.#target = target;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts every connection on which this text was sent or is sent; null for none. */
  refuse(text: string | null): void {
    this.#refused = text;
    for (const [client, sent] of this.#sent) if (this.#isRefused(sent)) client.destroy();
  }

  #isRefused(sent: readonly Buffer[]): boolean {
    return this.#refused !== null && sent.some((bytes) => bytes.includes(this.#refused ?? ""));
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(client: Socket): void {
    const server = connect(this.#target, "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    let [isCut, hasWritten, isReader] = [false, false, false];
    const counter = new RoundTrips();
    const sent: Buffer[] = [];
    this.#sent.set(client, sent);
    client.on("data", (bytes: Buffer) => {
      // Statements that are sent again have a name: their texts are in the first messages.
      if (sent.length < 100) sent.push(bytes);
      if (this.#isRefused([bytes])) client.destroy();
      if (client.destroyed) return;
      this.roundTrips += counter.sent(bytes);
      hasWritten ||= bytes.includes("INSERT INTO events") || bytes.includes("pawl_");
      isReader ||= bytes.includes("READ ONLY");
      const at = bytes.indexOf("COMMIT\0");
      if (isCut) return;
      if (at === -1 || this.#next === null || !hasWritten || isReader) {
        server.write(bytes);
        return;
      }
      isCut = true;
      this.#cut(this.#next, client, server, { bytes, at });
    });
    server.on("data", (bytes: Buffer) => {
      counter.answered(bytes);
      if (!isCut) client.write(bytes);
    });
    client.on("close", () => {
      this.#sent.delete(client);
      if (!isCut) server.destroy();
    });
    server.on("close", () => client.destroy());
  }

  #cut(how: Cut, client: Socket, server: Socket, { bytes, at }: { bytes: Buffer; at: number }): void {
    this.#next = null;
    this.cuts += 1;
    switch (how) {
      case "before":
        // A message begins with its type and its length: five bytes before the text, or six with an empty name.
        server.write(bytes.subarray(0, Math.max(0, at - 6)));
        setTimeout(() => server.destroy(), 5);
        client.destroy();
        return;
      case "after":
        server.once("data", () => {
          setTimeout(() => {
            client.destroy();
            server.destroy();
          }, 5);
        });
        server.write(bytes);
        return;
      case "late":
        client.destroy();
        setTimeout(
          () => {
            server.write(bytes);
            setTimeout(() => server.destroy(), 50);
          },
          20 + Math.random() * 60,
        );
    }
  }
}

/** Counts round trips by the protocol's messages: a Sync or a Query asks for one ReadyForQuery each. */
class RoundTrips {
  readonly #client = new MessageTypes();
  readonly #server = new MessageTypes();
  #outstanding = 0;
  /** Before the session is ready its messages have another form. */
  #isReady = false;

  /** The round trips that begin with these bytes. */
  sent(bytes: Buffer): number {
    if (!this.#isReady) return 0;
    const asked = this.#client.read(bytes).filter((type) => type === "S" || type === "Q").length;
    const begun = asked > 0 && this.#outstanding === 0 ? 1 : 0;
    this.#outstanding += asked;
    return begun;
  }

  answered(bytes: Buffer): void {
    // The answers to the password have the form of all later ones.
    const ready = this.#server.read(bytes).filter((type) => type === "Z").length;
    if (this.#isReady) this.#outstanding -= ready;
    else this.#isReady = ready > 0;
  }
}

/** The types of the messages in a stream of bytes, each of which has a type and a length. */
class MessageTypes {
  #rest = Buffer.alloc(0);

  read(bytes: Buffer): string[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const types: string[] = [];
    while (this.#rest.length >= 5) {
      const length = 1 + this.#rest.readUInt32BE(1);
      if (this.#rest.length < length) break;
      types.push(String.fromCharCode(this.#rest[0] ?? 0));
      this.#rest = this.#rest.subarray(length);
    }
    return types;
  }
}

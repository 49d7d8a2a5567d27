import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../core/backoff.ts";
import type { OnPassedOver } from "./mcp-event-stream.ts";
import { type Hide, type LinkOptions, McpLink, NoLinkError, untilAborted } from "./mcp-link.ts";
import { loadMcp } from "./mcp-package.ts";
import type { McpServer } from "./mcp-server.ts";

/** The pauses between them come to four to eight seconds. */
const MOST_TRIES = 5;
const PATIENCE_MS = 10_000;

/** Somebody for whom a server is there. */
export type ConnectionUser = {
  /** Hides what the server was given, in a text that it wrote. */
  readonly hide: Hide;
  /** The server wrote something that is no message, or none that is of use. */
  readonly onPassedOver: OnPassedOver;
};

/** The way to one server, for all who use it: made when the first one needs it, and gone when the last one has left. */
export class McpConnection {
  readonly #server: McpServer;
  readonly #handshakeMs: number;
  readonly #users = new Set<ConnectionUser>();
  /** Of no use for a new call; but calls wait for their answers on them. */
  readonly #retired = new Set<McpLink>();
  #link: Promise<McpLink> | null = null;
  #stop = new AbortController();
  /** What is still to be cleaned up after. */
  #ending: Promise<unknown> = Promise.resolve();

  constructor(server: McpServer, handshakeMs: number) {
    this.#server = server;
    this.#handshakeMs = handshakeMs;
  }

  join(user: ConnectionUser): void {
    this.#users.add(user);
  }

  /** Resolves when nothing is left of the server, if this was the last who used it. Never rejects. */
  async leave(user: ConnectionUser): Promise<void> {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#stop.abort(new Error("Nobody needs the server any more."));
    const link = this.#link;
    this.#link = null;
    if (link !== null) this.#endsWith(link.then((made) => made.close()));
    for (const retired of this.#retired) this.#end(retired);
    await this.#ending;
  }

  /** The link as it is, or a new one, after several tries where that is what it takes. Rejects with a `NoLinkError`. */
  async link(signal: AbortSignal): Promise<McpLink> {
    const known = this.#link;
    const link = known === null ? null : await untilAborted(known, signal);
    if (link !== null && !link.isLost) return link;
    if (link !== null && this.#link === known) {
      this.#link = null;
      this.#retire(link);
    }
    // Whatever is left of the last one must not be there beside the next.
    await untilAborted(this.#ending, signal);
    return untilAborted(this.#link ?? this.#make(), signal);
  }

  #make(): Promise<McpLink> {
    if (this.#stop.signal.aborted) this.#stop = new AbortController();
    const making = this.#connect(this.#stop.signal);
    this.#link = making;
    making.catch(() => {
      if (this.#link === making) this.#link = null;
    });
    return making;
  }

  async #connect(stop: AbortSignal): Promise<McpLink> {
    const mcp = await loadMcp();
    const options = this.#linkOptions();
    const begunAt = performance.now();
    for (let tries = 1; ; tries++) {
      stop.throwIfAborted();
      try {
        return await McpLink.open(mcp, options, stop);
      } catch (error) {
        const isFinal = !(error instanceof NoLinkError) || error.isFinal;
        if (isFinal || tries === MOST_TRIES || performance.now() - begunAt > PATIENCE_MS) throw error;
      }
      await sleep(backoffMs(tries, Math.random()), undefined, { signal: stop });
    }
  }

  #linkOptions(): LinkOptions {
    return {
      server: this.#server,
      handshakeMs: this.#handshakeMs,
      // Each of them knows what the server was given. Nobody is told anything where there is none.
      hide: (text, torn) => [...this.#users][0]?.hide(text, torn) ?? "",
      onPassedOver: (what, text) => {
        for (const user of this.#users) user.onPassedOver(what, text);
      },
    };
  }

  #retire(link: McpLink): void {
    if (!link.deliveries.areOpen) return this.#end(link);
    this.#retired.add(link);
    void link.deliveries.settled().then(() => this.#end(link));
  }

  #end(link: McpLink): void {
    this.#retired.delete(link);
    this.#endsWith(link.close());
  }

  #endsWith(end: Promise<unknown>): void {
    this.#ending = Promise.all([this.#ending, end.catch(() => undefined)]);
  }
}

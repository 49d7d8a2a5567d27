import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../core/backoff.ts";
import type { OnIgnored } from "./mcp-event-stream.ts";
import { type Hide, type LinkOptions, McpLink, NoLinkError, untilAborted } from "./mcp-link.ts";
import { loadMcp } from "./mcp-package.ts";
import type { McpServer } from "./mcp-server.ts";

/** The pauses between them add up to four to eight seconds. */
const MOST_ATTEMPTS = 5;
const MOST_CONNECT_MS = 10_000;

/** A run that uses a server. */
export type ConnectionUser = {
  /** Hides the server's secrets in a text that it wrote. */
  readonly hide: Hide;
  /** Called when the server wrote something that is ignored: not a message, or one that is too large. */
  readonly onIgnored: OnIgnored;
};

/** The connection to one server, shared by its users: opened for the first one, closed after the last one. */
export class McpConnection {
  readonly #server: McpServer;
  readonly #handshakeMs: number;
  readonly #users = new Set<ConnectionUser>();
  /** Lost links, not for new calls, on which calls still wait for their answers. */
  readonly #retired = new Set<McpLink>();
  #link: Promise<McpLink> | null = null;
  #stop = new AbortController();
  /** The clean-up of earlier links. */
  #closing: Promise<unknown> = Promise.resolve();

  constructor(server: McpServer, handshakeMs: number) {
    this.#server = server;
    this.#handshakeMs = handshakeMs;
  }

  join(user: ConnectionUser): void {
    this.#users.add(user);
  }

  /** Resolves when the server is completely closed, if this was its last user. Never rejects. */
  async leave(user: ConnectionUser): Promise<void> {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#stop.abort(new Error("The server is no longer in use."));
    const link = this.#link;
    this.#link = null;
    if (link !== null) this.#waitFor(link.then((made) => made.close()));
    for (const retired of this.#retired) this.#close(retired);
    await this.#closing;
  }

  /** The open link, or a new one, after several attempts if needed. Rejects with a `NoLinkError`. */
  async link(signal: AbortSignal): Promise<McpLink> {
    const known = this.#link;
    const link = known === null ? null : await untilAborted(known, signal);
    if (link !== null && !link.isLost) return link;
    if (link !== null && this.#link === known) {
      this.#link = null;
      this.#retire(link);
    }
    // The last link must be completely closed before the next one is opened.
    await untilAborted(this.#closing, signal);
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
    for (let attempts = 1; ; attempts++) {
      stop.throwIfAborted();
      try {
        return await McpLink.open(mcp, options, stop);
      } catch (error) {
        const isFinal = !(error instanceof NoLinkError) || error.isFinal;
        if (isFinal || attempts === MOST_ATTEMPTS || performance.now() - begunAt > MOST_CONNECT_MS)
          throw error;
      }
      await sleep(backoffMs(attempts, Math.random()), undefined, { signal: stop });
    }
  }

  #linkOptions(): LinkOptions {
    return {
      server: this.#server,
      handshakeMs: this.#handshakeMs,
      // Each user knows the server's secrets. Without a user, nothing is shown.
      hide: (text, torn) => [...this.#users][0]?.hide(text, torn) ?? "",
      onIgnored: (what, text) => {
        for (const user of this.#users) user.onIgnored(what, text);
      },
    };
  }

  #retire(link: McpLink): void {
    if (!link.deliveries.areOpen) return this.#close(link);
    this.#retired.add(link);
    void link.deliveries.settled().then(() => this.#close(link));
  }

  #close(link: McpLink): void {
    this.#retired.delete(link);
    this.#waitFor(link.close());
  }

  #waitFor(closed: Promise<unknown>): void {
    this.#closing = Promise.all([this.#closing, closed.catch(() => undefined)]);
  }
}

import type { Transport } from "@modelcontextprotocol/client";
import { type NetworkProgress, watchNetwork } from "../net/network-attempt.ts";

/** How far the requests of one attempt got: there are several if the server asks for the request again. */
export type RequestDelivery = {
  /** False only if it is certain that the server has seen nothing of any of them. */
  readonly mayHaveArrived: boolean;
  /** Aborts when the answer can no longer arrive although the connection is still open. */
  readonly lost: AbortSignal;
  end(): void;
};

const CALL_METHOD = "tools/call";

type TrackedCall = { mayHaveArrived: boolean; readonly lost: AbortController };

/**
 * Tracks the requests of calls on one transport. The client reports neither whether a request was sent nor, over HTTP,
 * that the response stream ended without an answer: it would wait forever.
 */
export class Deliveries {
  /** By the arguments object of a request: ids may be those of another run in another store. */
  readonly #tracked = new Map<unknown, TrackedCall>();
  readonly #waiting: (() => void)[] = [];

  constructor(transport: Transport) {
    const send = transport.send.bind(transport);
    // A pipe refuses before anything is written; a connection that was never made has carried nothing.
    const unsent = "pid" in transport ? "unseen" : "created";
    transport.send = (message, options) => {
      if (!("method" in message) || message.method !== CALL_METHOD) return send(message, options);
      const tracked = this.#tracked.get(message.params?.arguments);
      if (tracked === undefined) {
        this.#doubtAll();
        return send(message, options);
      }
      const onRequestStreamEnd = () => tracked.lost.abort(new Error("The answer broke off."));
      return deliver(tracked, unsent, () => send(message, { ...options, onRequestStreamEnd }));
    };
  }

  /** Tracks the call with these arguments: this very object, not a copy. */
  track(args: object): RequestDelivery {
    const tracked: TrackedCall = { mayHaveArrived: false, lost: new AbortController() };
    this.#tracked.set(args, tracked);
    return {
      get mayHaveArrived() {
        return tracked.mayHaveArrived;
      },
      lost: tracked.lost.signal,
      end: () => this.#end(args),
    };
  }

  /** True if calls are waiting for their answers. */
  get areOpen(): boolean {
    return this.#tracked.size > 0;
  }

  /** Resolves when no call is waiting. */
  settled(): Promise<void> {
    return this.areOpen ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }

  /** A request that cannot be matched to a call may belong to any of them. */
  #doubtAll(): void {
    for (const tracked of this.#tracked.values()) tracked.mayHaveArrived = true;
  }

  #end(args: object): void {
    this.#tracked.delete(args);
    if (this.areOpen) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function deliver(tracked: TrackedCall, unsent: NetworkProgress, send: () => Promise<void>): Promise<void> {
  // An earlier request of the same attempt may have arrived already.
  const hadArrived = tracked.mayHaveArrived;
  tracked.mayHaveArrived = true;
  return watchNetwork(async (attempt) => {
    try {
      await send();
    } catch (error) {
      tracked.mayHaveArrived = hadArrived || attempt.progress !== unsent;
      throw error;
    }
  });
}

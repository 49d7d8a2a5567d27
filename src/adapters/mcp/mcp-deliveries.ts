import type { Transport } from "@modelcontextprotocol/client";
import { type NetworkProgress, watchNetwork } from "../net/network-attempt.ts";

/** How far the requests of one try have come: there are several where a server wants to be asked again. */
export type Delivery = {
  /** False only where it is certain that the server has seen nothing of any. */
  readonly mayHaveArrived: boolean;
  /** Aborts when the answer cannot come any more although the connection is still there. */
  readonly lost: AbortSignal;
  end(): void;
};

const CALL_METHOD = "tools/call";

type Tracked = { mayHaveArrived: boolean; readonly lost: AbortController };

/**
 * What became of the requests of calls on one transport. The client tells neither whether a request went out nor, over
 * HTTP, that the stream which was to bring the answer has ended without one: it would wait for ever.
 */
export class Deliveries {
  /** By the object itself that a request carries as its arguments: ids may be those of another run in another store. */
  readonly #tracked = new Map<unknown, Tracked>();
  readonly #waiting: (() => void)[] = [];

  constructor(transport: Transport) {
    const send = transport.send.bind(transport);
    // A pipe refuses before anything is written; a connection that was not made has carried nothing.
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

  /** Of the call that is made with these arguments: this object, and no copy of it. */
  track(args: object): Delivery {
    const tracked: Tracked = { mayHaveArrived: false, lost: new AbortController() };
    this.#tracked.set(args, tracked);
    return {
      get mayHaveArrived() {
        return tracked.mayHaveArrived;
      },
      lost: tracked.lost.signal,
      end: () => this.#end(args),
    };
  }

  /** Whether calls wait for their answers. */
  get areOpen(): boolean {
    return this.#tracked.size > 0;
  }

  /** Resolves when no call waits any more. */
  settled(): Promise<void> {
    return this.areOpen ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve();
  }

  /** A call that cannot be told from the others may be any of them. */
  #doubtAll(): void {
    for (const tracked of this.#tracked.values()) tracked.mayHaveArrived = true;
  }

  #end(args: object): void {
    this.#tracked.delete(args);
    if (this.areOpen) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function deliver(tracked: Tracked, unsent: NetworkProgress, send: () => Promise<void>): Promise<void> {
  // What an earlier request of the same try has done is not undone by this one.
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

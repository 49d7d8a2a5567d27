import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isJsonObject } from "../core/json.ts";
import { type NetworkProgress, watchNetwork } from "./network-attempt.ts";

/** The call that a message is for, in the `_meta` of its parameters: a prefix of ours, as the protocol wants it. */
export const CALL_ID_KEY = "pawl/tool_call_id";
export const ATTEMPT_KEY = "pawl/attempt";

/** How far the request of one try has come. */
export type Delivery = {
  /** False only where it is certain that the server has seen nothing of it. */
  readonly mayHaveArrived: boolean;
  /** Aborts when the answer cannot come any more although the connection is still there. */
  readonly lost: AbortSignal;
  end(): void;
};

type Tracked = { mayHaveArrived: boolean; readonly lost: AbortController };

/**
 * What became of the requests of calls on one transport. The client tells neither whether a request went out nor, over
 * HTTP, that the stream which was to bring the answer has ended without one: it would wait for ever.
 */
export class Deliveries {
  readonly #tracked = new Map<string, Tracked>();
  readonly #waiting: (() => void)[] = [];

  constructor(transport: Transport) {
    const send = transport.send.bind(transport);
    // A pipe refuses before anything is written; a connection that was not made has carried nothing.
    const unsent = "pid" in transport ? "unseen" : "created";
    transport.send = (message, options) => {
      const tracked = this.#tracked.get(keyOf(message) ?? "");
      if (tracked === undefined) return send(message, options);
      const onRequestStreamEnd = () => tracked.lost.abort(new Error("The answer broke off."));
      return deliver(tracked, unsent, () => send(message, { ...options, onRequestStreamEnd }));
    };
  }

  track(call: { readonly toolCallId: string; readonly attempt: number }): Delivery {
    const key = keyFrom(call.toolCallId, call.attempt);
    const tracked: Tracked = { mayHaveArrived: false, lost: new AbortController() };
    this.#tracked.set(key, tracked);
    return {
      get mayHaveArrived() {
        return tracked.mayHaveArrived;
      },
      lost: tracked.lost.signal,
      end: () => this.#end(key),
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

  #end(key: string): void {
    this.#tracked.delete(key);
    if (this.areOpen) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function deliver(tracked: Tracked, unsent: NetworkProgress, send: () => Promise<void>): Promise<void> {
  tracked.mayHaveArrived = true;
  return watchNetwork(async (attempt) => {
    try {
      await send();
    } catch (error) {
      tracked.mayHaveArrived = attempt.progress !== unsent;
      throw error;
    }
  });
}

function keyOf(message: JSONRPCMessage): string | null {
  const params: unknown = "params" in message ? message.params : null;
  const meta = isJsonObject(params) ? params._meta : null;
  return isJsonObject(meta) ? keyFrom(meta[CALL_ID_KEY], meta[ATTEMPT_KEY]) : null;
}

function keyFrom(toolCallId: unknown, attempt: unknown): string {
  return JSON.stringify([toolCallId, attempt]);
}

import { ConfigurationError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import type { SessionEvent } from "../core/session-event.ts";
import { callHarmlessly } from "./harmless-call.ts";

/** The events on a session's bus. */
export type BusEvents = {
  /** A tool call has its receipt; `events` are those that it dispatched. */
  ToolInvoked: {
    readonly runId: string;
    readonly toolCallId: string;
    readonly tool: string;
    readonly status: string;
    readonly result: Json;
    readonly events: readonly SessionEvent[];
  };
  PromptRendered: {
    readonly runId: string;
    readonly step: string;
    readonly turn: number;
    readonly prompt: string;
    readonly text: string;
  };
  /** The agent is done with its step. */
  PromptExecuted: { readonly runId: string; readonly step: string; readonly output: Json };
  TurnCommitted: {
    readonly runId: string;
    readonly step: string;
    readonly turn: number;
    readonly isComplete: boolean;
  };
  CheckpointSaved: {
    readonly runId: string;
    readonly step: string;
    readonly checkpoint: number;
    readonly turn: number;
  };
  SessionRolledBack: { readonly runId: string; readonly step: string; readonly checkpoint: number | null };
  /** An observer or a handler threw. */
  ObserverFailed: { readonly message: string };
};

type BusHandlers = { readonly [K in keyof BusEvents]: Set<{ handle(event: BusEvents[K]): void }> };

/** Notifies subscribers. It keeps no state: a later subscriber does not get earlier events. */
export class EventBus {
  readonly #handlers: BusHandlers = {
    ToolInvoked: new Set(),
    PromptRendered: new Set(),
    PromptExecuted: new Set(),
    TurnCommitted: new Set(),
    CheckpointSaved: new Set(),
    SessionRolledBack: new Set(),
    ObserverFailed: new Set(),
  };
  #isClosed = false;

  /** Returns a function that ends the subscription. */
  subscribe<K extends keyof BusEvents>(type: K, handler: (event: BusEvents[K]) => void): () => void {
    if (this.#isClosed) throw new ConfigurationError(`Cannot subscribe to ${type}: the session is closed.`);
    const handlers = this.#handlersOf(type);
    const subscription = { handle: handler };
    handlers.add(subscription);
    return () => {
      handlers.delete(subscription);
    };
  }

  /** A handler that throws affects no other: its error is published as `ObserverFailed`. */
  publish<K extends keyof BusEvents>(type: K, event: BusEvents[K]): void {
    const handlers = this.#handlersOf(type);
    for (const subscription of Array.from(handlers)) {
      // Another handler may have unsubscribed this one meanwhile.
      if (!handlers.has(subscription)) continue;
      callHarmlessly(
        () => subscription.handle(event),
        (why) => this.#failed(type, why),
      );
    }
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#isClosed = true;
    for (const handlers of Object.values(this.#handlers)) handlers.clear();
  }

  #handlersOf<K extends keyof BusEvents>(type: K): BusHandlers[K] {
    if (Object.hasOwn(this.#handlers, type)) return this.#handlers[type];
    const known = Object.keys(this.#handlers).join(", ");
    throw new ConfigurationError(`The bus has no event ${JSON.stringify(type)}: use one of ${known}.`);
  }

  #failed(type: keyof BusEvents, why: string): void {
    // Publishing it again would never end.
    if (type === "ObserverFailed") return;
    this.publish("ObserverFailed", { message: `A handler of ${type} failed: ${why}` });
  }
}

import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { outlineOf } from "./mcp-message-outline.ts";

/** A server sent more than is accepted. */
export class TooLargeError extends Error {}

const MEGABYTE = 1024 * 1024;

/** A larger message takes more than a tenth of a second to read, and would be kept in memory until its end. */
const LARGEST_MESSAGE = 4 * MEGABYTE;
/** More values than these take as long, in however few bytes. */
const MOST_VALUES = 30_000;

/** Limits of a server's description of itself, all pages of a list of tools together. Each value is read several times. */
const LARGEST_LIST = MEGABYTE;
const MOST_LISTED_VALUES = 20_000;

/** The limit for everything that was not requested: notifications, requests, and lines that are not messages. */
const LARGEST_UNREQUESTED = 64 * 1024;

/** Further messages are read in the next second; the server waits meanwhile. */
const MOST_A_SECOND = 5_000;
/** The longest that messages are read before other work gets its turn. */
const LONGEST_BURST_MS = 10;

/** The code of the error that replaces an unusable answer. */
const UNUSABLE = -32_000;

/** Limits how much a server may send, and how fast. Messages are matched to requests by id before they are parsed. */
export class MessageLimit {
  /** Requests without an answer yet. An aborted call stays: its answer may still arrive. */
  readonly #pending = new Map<string, string>();
  #listed = { bytes: 0, values: 0 };
  /** Called if the excess is not the answer of a call; with a sentence without its subject. */
  onExcess: (excess: string) => void = () => undefined;
  #wasExceeded = false;
  #second = { since: 0, messages: 0 };
  #burstSince = 0;

  /** Records the requests that are sent, to know which answers are awaited. */
  watch(transport: Pick<Transport, "send">): void {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      this.recordRequest(message);
      return send(message, options);
    };
  }

  recordRequest(message: JSONRPCMessage): void {
    if ("method" in message && "id" in message) this.#pending.set(keyOf(message.id), message.method);
  }

  readonly largest = LARGEST_MESSAGE;

  /** True if a message may have so many bytes, so far. */
  allows(bytes: number): boolean {
    if (bytes > LARGEST_MESSAGE) this.#exceed(this.excess);
    return bytes <= LARGEST_MESSAGE;
  }

  /** What a server did that sent more, as the end of a sentence. */
  readonly excess = `sent a message of more than ${LARGEST_MESSAGE / MEGABYTE} MB`;

  /** True if a limit was exceeded, as it would be on another attempt. */
  get wasExceeded(): boolean {
    return this.#wasExceeded;
  }

  /** One list at a time: its size is counted from here. */
  beginList(): void {
    this.#listed = { bytes: 0, values: 0 };
  }

  /**
   * The text to parse for a message: itself, or an error in place of an unusable answer; null if it is ignored. Throws a
   * `TooLargeError` if the connection cannot continue.
   */
  admitted(text: string): string | null {
    const { id, hasMethod, values } = outlineOf(text);
    const key = id === null || hasMethod ? null : keyIn(id);
    const method = key === null ? undefined : this.#pending.get(key);
    if (key === null || method === undefined) return text.length <= LARGEST_UNREQUESTED ? text : null;
    this.#pending.delete(key);
    if (method !== "tools/call") this.#count(method, text.length, values);
    else if (values > MOST_VALUES) return unusable(id ?? "null", values);
    return text;
  }

  #count(method: string, bytes: number, values: number): void {
    this.#listed = { bytes: this.#listed.bytes + bytes, values: this.#listed.values + values };
    const what = method === "tools/list" ? "sent a list of tools" : `answered ${method} with a message`;
    const excess =
      this.#listed.bytes > LARGEST_LIST
        ? `${what} of more than ${LARGEST_LIST / MEGABYTE} MB`
        : this.#listed.values > MOST_LISTED_VALUES
          ? `${what} of more than ${MOST_LISTED_VALUES} values`
          : null;
    if (excess === null) return;
    this.#exceed(excess);
    throw new TooLargeError(`it ${excess}`);
  }

  #exceed(excess: string): void {
    this.#wasExceeded = true;
    // A call gets an error of its own; a list in a stream that breaks off would be awaited until its timeout.
    if (![...this.#pending.values()].includes("tools/call")) this.onExcess(excess);
  }

  /** Resolves when the next message may be read: a server that floods us leaves time for everything else. */
  async pace(): Promise<void> {
    const now = performance.now();
    if (now - this.#second.since >= 1_000) this.#second = { since: now, messages: 0 };
    this.#second.messages += 1;
    if (this.#second.messages > MOST_A_SECOND)
      await sleep(this.#second.since + 1_000 - now, undefined, { ref: false });
    else if (now - this.#burstSince > LONGEST_BURST_MS) await setImmediate();
    else return;
    this.#burstSince = performance.now();
  }
}

/** As the client compares ids: `3` and `"3"` are the same. */
function keyOf(id: unknown): string {
  const number = Number(id);
  return Number.isNaN(number) ? String(id) : String(number);
}

function keyIn(json: string): string | null {
  try {
    return keyOf(JSON.parse(json));
  } catch {
    return null;
  }
}

function unusable(id: string, values: number): string {
  const message = `it answered with ${values} values, and the maximum is ${MOST_VALUES}: have it return less at a time`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${UNUSABLE},"message":${JSON.stringify(message)}}}`;
}

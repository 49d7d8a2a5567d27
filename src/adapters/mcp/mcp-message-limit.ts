import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { outlineOf } from "./mcp-message-outline.ts";

/** What a server sent was more than is taken. */
export class TooLargeError extends Error {}

const MEGABYTE = 1024 * 1024;

/** A larger one takes more than a tenth of a second to read, and would be kept in memory until it ends. */
const LARGEST_MESSAGE = 4 * MEGABYTE;
/** So do more values than these, in however few bytes. */
const MOST_VALUES = 30_000;

/** What a server says of itself, all pages of a list of tools together. Each value is looked at several times. */
const LARGEST_LIST = MEGABYTE;
const MOST_LISTED_VALUES = 20_000;

/** Nobody waits for it: news, questions, and lines that are no message at all. */
const LARGEST_UNASKED = 64 * 1024;

/** More are read when the second is over: the server waits meanwhile. */
const MOST_A_SECOND = 5_000;
/** So long at a time; then it is the turn of everything else. */
const LONGEST_TURN_MS = 10;

/** The code of an error that we put in the place of an answer. */
const UNUSABLE = -32_000;

/** How much a server may send, and how fast. Messages are told apart by their ids before anything is made of them. */
export class MessageLimit {
  /** What was asked for and is not answered yet. A call that was given up on stays: its answer may still come. */
  readonly #asked = new Map<string, string>();
  #listed = { bytes: 0, values: 0 };
  /** Told where no call is meant by what was too much; as the end of a sentence. */
  onExcess: (excess: string) => void = () => undefined;
  #wasExceeded = false;
  #second = { since: 0, messages: 0 };
  #turnSince = 0;

  /** Learns by what goes out which answers are awaited. */
  watch(transport: Pick<Transport, "send">): void {
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      this.asks(message);
      return send(message, options);
    };
  }

  asks(message: JSONRPCMessage): void {
    if ("method" in message && "id" in message) this.#asked.set(keyOf(message.id), message.method);
  }

  readonly largest = LARGEST_MESSAGE;

  /** Whether a message of so many bytes, so far, may be taken. */
  allows(bytes: number): boolean {
    if (bytes > LARGEST_MESSAGE) this.#exceed(this.excess);
    return bytes <= LARGEST_MESSAGE;
  }

  /** What it did who sent more, as the end of a sentence. */
  readonly excess = `sent a message of more than ${LARGEST_MESSAGE / MEGABYTE} MB`;

  /** Another try would bring as much. */
  get wasExceeded(): boolean {
    return this.#wasExceeded;
  }

  /** One list at a time: what it may have is counted from here. */
  beginList(): void {
    this.#listed = { bytes: 0, values: 0 };
  }

  /**
   * What is to be read of a message: itself, or an error in the place of an answer that nobody could use; null where it is passed
   * over. Throws a `TooLargeError` where there is no going on with the server.
   */
  admitted(text: string): string | null {
    const { id, hasMethod, values } = outlineOf(text);
    const key = id === null || hasMethod ? null : keyIn(id);
    const method = key === null ? undefined : this.#asked.get(key);
    if (key === null || method === undefined) return text.length <= LARGEST_UNASKED ? text : null;
    this.#asked.delete(key);
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
    // A call hears of its own answer; a list in a stream that breaks off would be waited for until its time is over.
    if (![...this.#asked.values()].includes("tools/call")) this.onExcess(excess);
  }

  /** Resolves when the next message may be read: a server that sends without end leaves time for everything else. */
  async pace(): Promise<void> {
    const now = performance.now();
    if (now - this.#second.since >= 1_000) this.#second = { since: now, messages: 0 };
    this.#second.messages += 1;
    if (this.#second.messages > MOST_A_SECOND)
      await sleep(this.#second.since + 1_000 - now, undefined, { ref: false });
    else if (now - this.#turnSince > LONGEST_TURN_MS) await setImmediate();
    else return;
    this.#turnSince = performance.now();
  }
}

/** As the client compares ids: `3` and `"3"` are one. */
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
  const message = `it answered with ${values} values, and ${MOST_VALUES} is the most: have it give less at a time`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${UNUSABLE},"message":${JSON.stringify(message)}}}`;
}

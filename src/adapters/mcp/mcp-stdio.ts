import { setTimeout as sleep } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { type OnPassedOver, UNASKED } from "./mcp-event-stream.ts";
import { type MessageLimit, TooLargeError } from "./mcp-message-limit.ts";
import type { McpPackage } from "./mcp-package.ts";
import { type Hide, ServerProcess } from "./mcp-process.ts";
import type { ServerCommand } from "./mcp-server.ts";

export type StdioOptions = {
  readonly limit: MessageLimit;
  readonly hide: Hide;
  readonly onPassedOver: OnPassedOver;
};

/**
 * A server that is spoken to by its input and output. The client's own transport does not tell how a server ended, passes
 * over rubbish in silence, and leaves behind what the server has started.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #mcp: McpPackage;
  readonly #server: ServerCommand;
  readonly #hide: Hide;
  readonly #onPassedOver: OnPassedOver;
  readonly #limit: MessageLimit;
  #process: ServerProcess | null = null;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #whyClosed: string | null = null;
  #isClosed = false;
  #hasRead = false;

  constructor(mcp: McpPackage, server: ServerCommand, { limit, hide, onPassedOver }: StdioOptions) {
    this.#mcp = mcp;
    this.#hide = hide;
    this.#server = server;
    this.#limit = limit;
    this.#onPassedOver = onPassedOver;
  }

  /** The client knows by these two that there is a process at the other end. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get stderr() {
    return this.#process?.stderr ?? null;
  }

  /** How it came to its end, for people; null while it goes on, and where it was closed by us. */
  get whyClosed(): string | null {
    return this.#whyClosed;
  }

  /** What it said last, for one that does not answer. */
  get saying(): string {
    return this.#process?.saying ?? "";
  }

  async start(): Promise<void> {
    const process = await ServerProcess.start(this.#server, this.#mcp.getDefaultEnvironment(), this.#hide);
    this.#process = process;
    const read = this.#readAll(process);
    void read.then(() => this.#closedOutput(process));
    void process.ended.then((end) => this.#ended(end, read));
  }

  send(message: JSONRPCMessage): Promise<void> {
    const process = this.#process;
    if (this.#isClosed || process === null || process.hasExited || !process.stdin.writable)
      return Promise.reject(
        new this.#mcp.SdkError(this.#mcp.SdkErrorCode.NotConnected, "The server is not there any more."),
      );
    // Its answers to us are worth waiting for; ours to it are not kept for one that only asks.
    if (!("method" in message) && process.stdin.writableLength > MOST_UNREAD)
      this.#close("asks without reading the answers");
    else process.stdin.write(this.#mcp.serializeMessage(message));
    return Promise.resolve();
  }

  /** Resolves when nothing is left of the server. */
  async close(): Promise<void> {
    this.#close(null);
    await this.#process?.end();
  }

  #close(why: string | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#whyClosed = why;
    this.#line = [];
    this.onclose?.();
  }

  /** One that has closed its output can answer nothing, whatever it still does. */
  async #closedOutput(process: ServerProcess): Promise<void> {
    const output = sleep(OUTPUT_GRACE_MS, "closed its output", { ref: false });
    this.#close(await Promise.race([process.ended, output]));
  }

  /** What it wrote before its end is read, too; but a program that it left behind may keep its output open. */
  async #ended(end: string, read: Promise<void>): Promise<void> {
    const until = performance.now() + LONGEST_REST_MS;
    const isRead = read.then(() => true);
    do this.#hasRead = false;
    while (
      !(await Promise.race([isRead, sleep(OUTPUT_GRACE_MS, false, { ref: false })])) &&
      this.#hasRead &&
      performance.now() < until
    );
    this.#close(end);
  }

  /** Piece by piece, and no faster than they are dealt with: the pipe holds back the server. Never rejects. */
  async #readAll({ stdout }: ServerProcess): Promise<void> {
    try {
      for await (const chunk of stdout) {
        this.#hasRead = true;
        await this.#read(chunk as Buffer);
        if (this.#isClosed) return;
      }
    } catch {
      // It was closed by us.
    }
  }

  async #read(chunk: Buffer): Promise<void> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0 && !this.#isClosed; end = chunk.indexOf(NEWLINE, from)) {
      const bytes = this.#lineBytes + end - from;
      if (!this.#limit.allows(bytes)) return this.#close(this.#limit.excess);
      const line = Buffer.concat([...this.#line, chunk.subarray(from, end)]).toString("utf8");
      this.#line = [];
      this.#lineBytes = 0;
      from = end + 1;
      this.#receive(line.trim());
      await this.#limit.pace();
    }
    if (this.#isClosed) return;
    this.#line.push(chunk.subarray(from));
    this.#lineBytes += chunk.length - from;
    if (!this.#limit.allows(this.#lineBytes)) this.#close(this.#limit.excess);
  }

  #receive(line: string): void {
    if (line === "") return;
    let message: JSONRPCMessage;
    try {
      const admitted = this.#limit.admitted(line);
      if (admitted === null) return this.#onPassedOver(UNASKED, line);
      message = this.#mcp.deserializeMessage(admitted);
    } catch (error) {
      if (error instanceof TooLargeError) return this.#close(error.message.replace(/^it /, ""));
      return this.#onPassedOver("writes what is no message to its output", line);
    }
    this.onmessage?.(message);
  }
}

const NEWLINE = 0x0a;

/** A process that ends closes its output first: how it ended says more. */
const OUTPUT_GRACE_MS = 500;
/** The longest that is waited for the rest of what a server wrote that has ended. */
const LONGEST_REST_MS = 5_000;

/** Of what we answered to a server's own questions. */
const MOST_UNREAD = 1024 * 1024;

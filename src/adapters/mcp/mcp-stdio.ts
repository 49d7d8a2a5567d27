import { setTimeout as sleep } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { type OnIgnored, UNREQUESTED } from "./mcp-event-stream.ts";
import { type MessageLimit, TooLargeError } from "./mcp-message-limit.ts";
import type { McpPackage } from "./mcp-package.ts";
import { type Hide, ServerProcess } from "./mcp-process.ts";
import type { ServerCommand } from "./mcp-server.ts";

export type StdioOptions = {
  readonly limit: MessageLimit;
  readonly hide: Hide;
  readonly onIgnored: OnIgnored;
};

/**
 * The transport over a server's stdin and stdout. The client's own transport does not report how a server ended, silently
 * ignores invalid lines, and leaves the server's child processes behind.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #mcp: McpPackage;
  readonly #server: ServerCommand;
  readonly #hide: Hide;
  readonly #onIgnored: OnIgnored;
  readonly #limit: MessageLimit;
  #process: ServerProcess | null = null;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #whyClosed: string | null = null;
  #isClosed = false;
  #hasRead = false;

  constructor(mcp: McpPackage, server: ServerCommand, { limit, hide, onIgnored }: StdioOptions) {
    this.#mcp = mcp;
    this.#hide = hide;
    this.#server = server;
    this.#limit = limit;
    this.#onIgnored = onIgnored;
  }

  /** The client recognizes a process transport by `pid` and `stderr`. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  get stderr() {
    return this.#process?.stderr ?? null;
  }

  /** Why it was closed, for people; null while it is open, and if it was closed by `close`. */
  get whyClosed(): string | null {
    return this.#whyClosed;
  }

  /** The last error line of a server that does not answer, to be appended to a message. */
  get stderrNote(): string {
    return this.#process?.stderrNote ?? "";
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
        new this.#mcp.SdkError(this.#mcp.SdkErrorCode.NotConnected, "The server is no longer running."),
      );
    // Our requests are queued; our answers are not kept for a server that only sends requests.
    if (!("method" in message) && process.stdin.writableLength > MOST_UNREAD)
      this.#close("sends requests without reading the answers");
    else process.stdin.write(this.#mcp.serializeMessage(message));
    return Promise.resolve();
  }

  /** Resolves when the server and its children are gone. */
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

  /** A server that has closed its output can no longer answer, even if it still runs. */
  async #closedOutput(process: ServerProcess): Promise<void> {
    const output = sleep(OUTPUT_GRACE_MS, "closed its output", { ref: false });
    this.#close(await Promise.race([process.ended, output]));
  }

  /** Its remaining output is read, too; but a surviving child may keep the output open. */
  async #ended(end: string, read: Promise<void>): Promise<void> {
    const until = performance.now() + LONGEST_DRAIN_MS;
    const isRead = read.then(() => true);
    do this.#hasRead = false;
    while (
      !(await Promise.race([isRead, sleep(OUTPUT_GRACE_MS, false, { ref: false })])) &&
      this.#hasRead &&
      performance.now() < until
    );
    this.#close(end);
  }

  /** Chunk by chunk, as fast as they are processed: the pipe applies backpressure to the server. Never rejects. */
  async #readAll({ stdout }: ServerProcess): Promise<void> {
    try {
      for await (const chunk of stdout) {
        this.#hasRead = true;
        await this.#read(chunk as Buffer);
        if (this.#isClosed) return;
      }
    } catch {
      // It was closed by `close`.
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
      if (admitted === null) return this.#onIgnored(UNREQUESTED, line);
      message = this.#mcp.deserializeMessage(admitted);
    } catch (error) {
      if (error instanceof TooLargeError) return this.#close(error.message.replace(/^it /, ""));
      return this.#onIgnored("wrote a line to stdout that is not a message", line);
    }
    this.onmessage?.(message);
  }
}

const NEWLINE = 0x0a;

/** An ending process closes its output first; its exit code is worth waiting for. */
const OUTPUT_GRACE_MS = 500;
/** The longest wait for the remaining output of a server that has ended. */
const LONGEST_DRAIN_MS = 5_000;

/** Unread bytes of our answers to a server's own requests. */
const MOST_UNREAD = 1024 * 1024;

import { setTimeout as sleep } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { MessageLimit } from "./mcp-message-limit.ts";
import type { McpPackage } from "./mcp-package.ts";
import { type Hide, ServerProcess } from "./mcp-process.ts";
import type { ServerCommand } from "./mcp-server.ts";

export type StdioOptions = {
  readonly limit: MessageLimit;
  readonly hide: Hide;
  readonly onRubbish: (line: string) => void;
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
  readonly #onRubbish: (line: string) => void;
  readonly #limit: MessageLimit;
  #process: ServerProcess | null = null;
  #line: Buffer[] = [];
  #lineBytes = 0;
  #whyClosed: string | null = null;
  #isClosed = false;

  constructor(mcp: McpPackage, server: ServerCommand, { limit, hide, onRubbish }: StdioOptions) {
    this.#mcp = mcp;
    this.#hide = hide;
    this.#server = server;
    this.#limit = limit;
    this.#onRubbish = onRubbish;
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
    void process.ended.then((end) => this.#close(end));
    process.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    process.stdout.once("end", () => void this.#closedOutput(process));
  }

  send(message: JSONRPCMessage): Promise<void> {
    const process = this.#process;
    if (this.#isClosed || process === null || process.hasExited || !process.stdin.writable)
      return Promise.reject(
        new this.#mcp.SdkError(this.#mcp.SdkErrorCode.NotConnected, "The server is not there any more."),
      );
    process.stdin.write(this.#mcp.serializeMessage(message));
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

  #read(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0 && !this.#isClosed; end = chunk.indexOf(NEWLINE, from)) {
      const bytes = this.#lineBytes + end - from;
      if (!this.#limit.allows(bytes)) return this.#close(this.#limit.excess);
      this.#limit.received(bytes);
      const line = Buffer.concat([...this.#line, chunk.subarray(from, end)]).toString("utf8");
      this.#line = [];
      this.#lineBytes = 0;
      from = end + 1;
      this.#receive(line.trim());
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
      message = this.#mcp.deserializeMessage(line);
    } catch {
      this.#onRubbish(line);
      return;
    }
    this.onmessage?.(message);
  }
}

const NEWLINE = 0x0a;

/** A process that ends closes its output first: how it ended says more. */
const OUTPUT_GRACE_MS = 500;

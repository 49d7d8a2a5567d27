import { setImmediate } from "node:timers/promises";
import type { Client, Tool as ListedTool, Transport } from "@modelcontextprotocol/client";
import { canonicalHash } from "../../core/canonical-json.ts";
import { plainJson } from "../../core/plain-json.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";
import { NetworkRefusedError } from "../net/guarded-fetch.ts";
import { Deliveries } from "./mcp-deliveries.ts";
import type { OnPassedOver } from "./mcp-event-stream.ts";
import { serverFetch } from "./mcp-http.ts";
import { MessageLimit, TooLargeError } from "./mcp-message-limit.ts";
import type { McpPackage } from "./mcp-package.ts";
import type { Hide } from "./mcp-process.ts";
import type { McpServer } from "./mcp-server.ts";
import { StdioTransport } from "./mcp-stdio.ts";

/** A tool as a server lists it, and what tells whether it is still the same. */
export type McpTool = { readonly listed: ListedTool; readonly fingerprint: string };
export type McpTools = ReadonlyMap<string, McpTool>;

export type { Hide };

export type LinkOptions = {
  readonly server: McpServer;
  /** The longest that a handshake may take, and a list of tools. */
  readonly handshakeMs: number;
  readonly hide: Hide;
  readonly onPassedOver: OnPassedOver;
};

/** Why a server could not be had, as the end of a sentence that begins with it. */
export class NoLinkError extends Error {
  /** Trying again would bring the same. */
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isFinal = isFinal;
  }
}

/** One connection to a server that has shaken hands and listed its tools. */
export class McpLink {
  readonly mcp: McpPackage;
  readonly client: Client;
  readonly deliveries: Deliveries;
  readonly #transport: Transport;
  readonly #limit: MessageLimit;
  readonly #server: McpServer;
  readonly #handshakeMs: number;
  #tools: Promise<McpTools> | null = null;
  /** The last list that was asked for, whatever came of it. */
  #listing: Promise<unknown> = Promise.resolve();
  #isLost = false;
  #whyLost: string | null = null;

  private constructor(
    mcp: McpPackage,
    transport: Transport,
    limit: MessageLimit,
    mode: "legacy" | "auto",
    options: LinkOptions,
  ) {
    this.mcp = mcp;
    this.#transport = transport;
    this.#limit = limit;
    this.#server = options.server;
    this.#handshakeMs = options.handshakeMs;
    limit.watch(transport);
    limit.onExcess = (excess) => {
      this.lose(excess);
      void this.client.close().catch(() => undefined);
    };
    this.deliveries = new Deliveries(transport);
    transport.onclose = () => this.lose(transport instanceof StdioTransport ? transport.whyClosed : null);
    this.client = new mcp.Client(
      { name: "pawl", version: "1" },
      {
        versionNegotiation: { mode },
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => this.#forgetTools() },
        },
      },
    );
  }

  /**
   * Rejects with a `NoLinkError`, and leaves nothing behind then. The handshake that all servers know is tried first: it
   * needs no second process, and a server that only speaks the later revision says so.
   */
  static async open(mcp: McpPackage, options: LinkOptions, signal: AbortSignal): Promise<McpLink> {
    const link = await McpLink.#tryGreet(mcp, "legacy", options, signal).catch((error: unknown) => {
      if (signal.aborted || !speaksLaterRevision(mcp, error)) throw error;
      return McpLink.#tryGreet(mcp, "auto", options, signal);
    });
    await link.#orClose(link.tools(signal), signal);
    return link;
  }

  static async #tryGreet(
    mcp: McpPackage,
    mode: "legacy" | "auto",
    options: LinkOptions,
    signal: AbortSignal,
  ): Promise<McpLink> {
    const limit = new MessageLimit();
    const transport = transportTo(mcp, limit, options);
    const link = new McpLink(mcp, transport, limit, mode, options);
    await link.#orClose(link.client.connect(transport, { timeout: options.handshakeMs, signal }), signal);
    return link;
  }

  async #orClose(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
    try {
      await work;
    } catch (error) {
      await this.close();
      signal.throwIfAborted();
      throw this.#noLink(error);
    }
  }

  #noLink(error: unknown): NoLinkError {
    return noLink(this.mcp, error, this.#server, this, this.#handshakeMs);
  }

  /** Whether it is of no use any more. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Why it is lost, as the end of a sentence; null where nothing more is known. */
  get whyLost(): string | null {
    return this.#whyLost;
  }

  /** What a process at the other end said last. */
  get saying(): string {
    return this.#transport instanceof StdioTransport ? this.#transport.saying : "";
  }

  /** Another try would bring as much. */
  get sentTooMuch(): boolean {
    return this.#limit.wasExceeded;
  }

  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  lose(why: string | null): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#whyLost = why;
  }

  /** The tools as the server lists them now: listed again after it said that they changed. */
  tools(signal: AbortSignal): Promise<McpTools> {
    const listing = this.#tools ?? this.#listing.then(() => this.#list());
    this.#tools = listing;
    // One after the other: how much of it there may be is counted from its beginning.
    this.#listing = listing.catch(() => undefined);
    listing.catch(() => {
      if (this.#tools === listing) this.#tools = null;
    });
    return untilAborted(listing, signal);
  }

  /** For all who ask meanwhile, so none of them stops it. */
  async #list(): Promise<McpTools> {
    if (this.client.getServerCapabilities()?.tools === undefined) return new Map();
    const options = { cacheMode: "refresh", timeout: this.#handshakeMs } as const;
    this.#limit.beginList();
    const { tools } = await this.client.listTools(undefined, options).catch((error: unknown) => {
      throw this.#noLink(error);
    });
    assertFewTools(tools);
    const known = new Map<string, McpTool>();
    for (const listed of tools) {
      known.set(listed.name, { listed, fingerprint: fingerprintOf(listed) });
      await setImmediate();
    }
    return known;
  }

  #forgetTools(): void {
    this.#tools = null;
  }

  /** Resolves when nothing is left of it; never rejects. */
  async close(): Promise<void> {
    try {
      await this.#endSession();
      await this.client.close();
      await this.#transport.close();
    } catch {
      // What cannot be closed is gone.
    }
    this.lose(null);
  }

  /** Servers keep sessions until they are told, or for ever. One that does not listen is not waited for. */
  async #endSession(): Promise<void> {
    const transport = this.#transport;
    if (this.#isLost || !(transport instanceof this.mcp.StreamableHTTPClientTransport)) return;
    const ended = transport.terminateSession().catch(() => undefined);
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, SESSION_GRACE_MS).unref())]);
  }
}

const SESSION_GRACE_MS = 1_000;

export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** What the model was told of a tool: a tool for which that is the same is the same. */
function fingerprintOf({ description, inputSchema }: ListedTool): string {
  return canonicalHash([description ?? null, plainJson(inputSchema) ?? null]).toString("hex");
}

function transportTo(
  mcp: McpPackage,
  limit: MessageLimit,
  { server, hide, onPassedOver }: LinkOptions,
): Transport {
  if ("command" in server) return new StdioTransport(mcp, server, { limit, hide, onPassedOver });
  const { url, headers = {} } = server;
  const fetch = serverFetch(server, { limit, onPassedOver });
  return new mcp.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch });
}

/** More than a model can choose from; each is told to it in every turn. */
const MOST_TOOLS = 200;
const LONGEST_NAME = 200;

function assertFewTools(tools: readonly ListedTool[]): void {
  if (tools.length > MOST_TOOLS)
    throw new NoLinkError(
      `lists ${tools.length} tools, and ${MOST_TOOLS} is the most: have it offer fewer`,
      true,
    );
  const long = tools.find(({ name }) => name.length > LONGEST_NAME);
  if (long !== undefined)
    throw new NoLinkError(
      // Without the name: its beginning may be half of a secret.
      `lists a tool with a name of ${long.name.length} characters, and ${LONGEST_NAME} is the most`,
      true,
    );
}

/** What is to be written is for `allowedDomains`, and a server has a word of its own for it. */
function whyRefused({ details: { why } }: NetworkRefusedError): string {
  return why
    .replace(/: add \S+!private to .*$/, ": give it private: true if that is meant")
    .replace(/\.$/, "");
}

function speaksLaterRevision(mcp: McpPackage, error: unknown): boolean {
  const cause = error instanceof NoLinkError ? error.cause : null;
  return mcp.ProtocolError.isInstance(cause) || (mcp.SdkHttpError.isInstance(cause) && cause.status === 400);
}

function noLink(
  mcp: McpPackage,
  error: unknown,
  server: McpServer,
  link: McpLink,
  handshakeMs: number,
): NoLinkError {
  const because = (why: string, isFinal = false) => new NoLinkError(why, isFinal, { cause: error });
  if (error instanceof NoLinkError) return error;
  const causes = [...causesOf(error)];
  const refused = causes.find((cause) => NetworkRefusedError.isInstance(cause));
  if (refused !== undefined) return because(`may not be connected to (${whyRefused(refused)})`, true);
  const tooLarge = causes.find((cause) => cause instanceof TooLargeError);
  if (tooLarge !== undefined) return because(messageOf(tooLarge).replace(/^it /, ""), true);
  const codes = causes.map(({ code }) => code);
  if ("command" in server && codes.some((code) => code === "ENOENT" || code === "EACCES"))
    return because(`cannot be started (${messageOf(error)}): check the command and its cwd`, true);
  if (link.whyLost !== null) return because(link.whyLost, link.sentTooMuch);
  if (mcp.SdkHttpError.isInstance(error)) {
    const isRefused = error.status === 401 || error.status === 403;
    return because(`answered with HTTP ${error.status}${isRefused ? ": check the headers" : ""}`, isRefused);
  }
  if (mcp.UnauthorizedError.isInstance(error))
    return because("answered with HTTP 401: check the headers", true);
  if (mcp.SdkError.isInstance(error) && error.code === mcp.SdkErrorCode.RequestTimeout)
    return because(`did not answer within ${handshakeMs} ms${link.saying}`);
  const code = codes.find((each): each is string => typeof each === "string" && /^E[A-Z]+$/.test(each));
  if (code !== undefined) return because(`cannot be reached (${code})`);
  return because(`could not be talked to (${messageOf(error).replace(/\.$/, "")})`);
}

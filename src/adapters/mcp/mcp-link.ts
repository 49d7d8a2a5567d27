import { setImmediate } from "node:timers/promises";
import type { Client, Tool as ListedTool, Transport } from "@modelcontextprotocol/client";
import { canonicalHash } from "../../core/canonical-json.ts";
import { plainJson } from "../../core/plain-json.ts";
import { causesOf, messageOf } from "../net/error-causes.ts";
import { NetworkRefusedError } from "../net/guarded-fetch.ts";
import { Deliveries } from "./mcp-deliveries.ts";
import type { OnIgnored } from "./mcp-event-stream.ts";
import { serverFetch } from "./mcp-http.ts";
import { MessageLimit, TooLargeError } from "./mcp-message-limit.ts";
import type { McpPackage } from "./mcp-package.ts";
import type { Hide } from "./mcp-process.ts";
import type { McpServer } from "./mcp-server.ts";
import { StdioTransport } from "./mcp-stdio.ts";

/** A tool as a server lists it, with a fingerprint that changes when the tool does. */
export type McpTool = { readonly listed: ListedTool; readonly fingerprint: string };
export type McpTools = ReadonlyMap<string, McpTool>;

export type { Hide };

export type LinkOptions = {
  readonly server: McpServer;
  /** The timeout of the handshake, and of listing the tools. */
  readonly handshakeMs: number;
  readonly hide: Hide;
  readonly onIgnored: OnIgnored;
};

/** A server that cannot be used. The message is a sentence without its subject, the server. */
export class NoLinkError extends Error {
  /** True if another attempt would fail in the same way. */
  readonly isFinal: boolean;
  constructor(message: string, options: ErrorOptions & { readonly isFinal: boolean }) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.isFinal = options.isFinal;
  }
}

/** One connection to a server, after the handshake and the first list of its tools. */
export class McpLink {
  readonly mcp: McpPackage;
  readonly client: Client;
  readonly deliveries: Deliveries;
  readonly #transport: Transport;
  readonly #limit: MessageLimit;
  readonly #server: McpServer;
  readonly #handshakeMs: number;
  #tools: Promise<McpTools> | null = null;
  /** The last request for the list; it never rejects. */
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
      this.markLost(excess);
      void this.client.close().catch(() => undefined);
    };
    this.deliveries = new Deliveries(transport);
    transport.onclose = () => this.markLost(transport instanceof StdioTransport ? transport.whyClosed : null);
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
   * Rejects with a `NoLinkError`, and then leaves nothing behind. The handshake that all servers support is tried first: it
   * needs no second process, and a server that supports only the later revision refuses it.
   */
  static async open(mcp: McpPackage, options: LinkOptions, signal: AbortSignal): Promise<McpLink> {
    const link = await McpLink.#shakeHands(mcp, "legacy", options, signal).catch((error: unknown) => {
      if (signal.aborted || !speaksLaterRevision(mcp, error)) throw error;
      return McpLink.#shakeHands(mcp, "auto", options, signal);
    });
    await link.#closeOnFailure(link.tools(signal), signal);
    return link;
  }

  static async #shakeHands(
    mcp: McpPackage,
    mode: "legacy" | "auto",
    options: LinkOptions,
    signal: AbortSignal,
  ): Promise<McpLink> {
    const limit = new MessageLimit();
    const transport = transportTo(mcp, limit, options);
    const link = new McpLink(mcp, transport, limit, mode, options);
    await link.#closeOnFailure(
      link.client.connect(transport, { timeout: options.handshakeMs, signal }),
      signal,
    );
    return link;
  }

  async #closeOnFailure(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
    try {
      await work;
    } catch (error) {
      await this.close();
      signal.throwIfAborted();
      throw this.#noLink(error);
    }
  }

  #noLink(error: unknown): NoLinkError {
    return noLink(this, error, this.#server, this.#handshakeMs);
  }

  /** True if it can no longer be used. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Why it is lost, as the end of a sentence; null if unknown. */
  get whyLost(): string | null {
    return this.#whyLost;
  }

  /** The last error line of the server's process, to be appended to a message. */
  get stderrNote(): string {
    return this.#transport instanceof StdioTransport ? this.#transport.stderrNote : "";
  }

  /** True if the server exceeded a limit, as it would on another attempt. */
  get sentTooMuch(): boolean {
    return this.#limit.wasExceeded;
  }

  get hasSession(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  markLost(why: string | null): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#whyLost = why;
  }

  /** The current tools of the server: listed again after it reported a change. */
  tools(signal: AbortSignal): Promise<McpTools> {
    const listing = this.#tools ?? this.#listing.then(() => this.#list());
    this.#tools = listing;
    // One list at a time: its size is counted from its beginning.
    this.#listing = listing.catch(() => undefined);
    listing.catch(() => {
      if (this.#tools === listing) this.#tools = null;
    });
    return untilAborted(listing, signal);
  }

  /** Shared by concurrent callers, so none of them aborts it. */
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
      // A connection that cannot be closed is already gone.
    }
    this.markLost(null);
  }

  /** Servers keep sessions until they are ended, or forever. A server that does not respond is not waited for. */
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

/** A hash of what the model sees of a tool. */
function fingerprintOf({ description, inputSchema }: ListedTool): string {
  return canonicalHash([description ?? null, plainJson(inputSchema) ?? null]).toString("hex");
}

function transportTo(
  mcp: McpPackage,
  limit: MessageLimit,
  { server, hide, onIgnored }: LinkOptions,
): Transport {
  if ("command" in server) return new StdioTransport(mcp, server, { limit, hide, onIgnored });
  const { url, headers = {} } = server;
  const fetch = serverFetch(server, { limit, onIgnored });
  return new mcp.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch });
}

/** More than a model can choose from; each is sent to it in every turn. */
const MOST_TOOLS = 200;
const LONGEST_NAME = 200;

function assertFewTools(tools: readonly ListedTool[]): void {
  if (tools.length > MOST_TOOLS)
    throw new NoLinkError(
      `lists ${tools.length} tools, and the maximum is ${MOST_TOOLS}: have it offer fewer`,
      { isFinal: true },
    );
  const long = tools.find(({ name }) => name.length > LONGEST_NAME);
  if (long !== undefined)
    throw new NoLinkError(
      // Without the name: its beginning may be half of a secret.
      `lists a tool with a name of ${long.name.length} characters, and the maximum is ${LONGEST_NAME}`,
      { isFinal: true },
    );
}

/** The reason names `allowedDomains`; a server has the option `private` for it. */
function whyRefused({ details: { why } }: NetworkRefusedError): string {
  return why
    .replace(/: add \S+!private to .*$/, ": give it private: true if that is intended")
    .replace(/\.$/, "");
}

function speaksLaterRevision(mcp: McpPackage, error: unknown): boolean {
  const cause = error instanceof NoLinkError ? error.cause : null;
  return mcp.ProtocolError.isInstance(cause) || (mcp.SdkHttpError.isInstance(cause) && cause.status === 400);
}

function noLink(link: McpLink, error: unknown, server: McpServer, handshakeMs: number): NoLinkError {
  const { mcp } = link;
  const temporary = (why: string) => new NoLinkError(why, { isFinal: false, cause: error });
  const final = (why: string) => new NoLinkError(why, { isFinal: true, cause: error });
  if (error instanceof NoLinkError) return error;
  const causes = [...causesOf(error)];
  const refused = causes.find((cause) => NetworkRefusedError.isInstance(cause));
  if (refused !== undefined) return final(`may not be connected to (${whyRefused(refused)})`);
  const tooLarge = causes.find((cause) => cause instanceof TooLargeError);
  if (tooLarge !== undefined) return final(messageOf(tooLarge).replace(/^it /, ""));
  const codes = causes.map(({ code }) => code);
  if ("command" in server && codes.some((code) => code === "ENOENT" || code === "EACCES"))
    return final(`cannot be started (${messageOf(error)}): check the command and its cwd`);
  if (link.whyLost !== null) return link.sentTooMuch ? final(link.whyLost) : temporary(link.whyLost);
  if (mcp.SdkHttpError.isInstance(error)) {
    const answer = `answered with HTTP ${error.status}`;
    const isRefused = error.status === 401 || error.status === 403;
    return isRefused ? final(`${answer}: check the headers`) : temporary(answer);
  }
  if (mcp.UnauthorizedError.isInstance(error)) return final("answered with HTTP 401: check the headers");
  if (mcp.SdkError.isInstance(error) && error.code === mcp.SdkErrorCode.RequestTimeout)
    return temporary(`did not answer within ${handshakeMs} ms${link.stderrNote}`);
  const code = codes.find((each): each is string => typeof each === "string" && /^E[A-Z]+$/.test(each));
  if (code !== undefined) return temporary(`cannot be reached (${code})`);
  return temporary(`could not be used (${messageOf(error).replace(/\.$/, "")})`);
}

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { ConfigurationError } from "../../core/errors.ts";
import { once } from "../../core/once.ts";
import { systemClock } from "../../engine/ports/system-clock.ts";
import { webhookFetch } from "../webhooks/webhook-request.ts";
import { WebhookSender } from "../webhooks/webhook-sender.ts";
import { hostsOfServer } from "./allowed-hosts.ts";
import { decideBinding } from "./binding-decision.ts";
import { type HandlerOptions, handlerWith, type PawlHandler, printError } from "./create-handler.ts";
import { OpenStreams } from "./open-streams.ts";
import { REQUEST_LIMITS } from "./request-limits.ts";

/** Options of `servePawl`. */
export type ServeOptions = HandlerOptions & {
  /** 4747 by default; 0 for any that is free. */
  readonly port?: number;
  /** The address to listen on; `127.0.0.1` by default. Another one takes a token in the store and an https `publicUrl`. */
  readonly host?: string;
  /** Webhooks may be sent to private addresses, such as those of this machine. False by default. */
  readonly allowPrivateWebhooks?: boolean;
};

/** A server that listens. */
export type PawlServer = {
  /** Where people find it: the public address, or the one that it listens on. */
  readonly url: string;
  readonly port: number;
  /** The address of a page of the dashboard, by default the first one, with a code that signs in once. */
  loginUrl(who: { readonly name: string; readonly path?: `/${string}` }): Promise<string>;
  /** Takes no more requests, breaks open streams, and finishes the others. The store stays open. */
  close(): Promise<void>;
};

/** A request that takes longer than this while the server stops is broken off. */
const GRACE_MS = 5_000;

/**
 * Serves the HTTP API and the dashboard with Node.
 *
 * @example
 * const server = await servePawl({ store, pipelines: { report } });
 * console.log(await server.loginUrl({ name: "ana" }));
 */
export async function servePawl({
  port = 4747,
  host = "127.0.0.1",
  allowPrivateWebhooks = false,
  ...options
}: ServeOptions): Promise<PawlServer> {
  const publicUrl = options.publicUrl ?? null;
  const hasToken = options.authenticate !== undefined || (await hasLivingToken(options));
  const decision = decideBinding({ host, publicUrl, hasToken });
  if (decision.kind === "refused") throw new ConfigurationError(decision.why);
  let handler: PawlHandler | null = null;
  const streams = new OpenStreams();
  // The handler is made once the port is known: it answers to that one only.
  const server = createAdaptorServer({
    fetch: async (request, { outgoing }) =>
      handler === null ? unavailable() : streams.over(outgoing, await handler.fetch(request)),
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: 60_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 },
  }) as Server;
  const connections = new Set<Socket>();
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  const bound = await listen(server, port, host);
  const own = handlerWith(options, { hosts: hostsOfServer(bound, publicUrl), limits: REQUEST_LIMITS });
  handler = own;
  const url =
    publicUrl === null
      ? `http://${host.includes(":") ? `[${host}]` : host}:${bound}`
      : new URL(publicUrl).origin;
  const { onError = printError } = options;
  const sender = new WebhookSender({
    store: options.store,
    clock: systemClock,
    random: Math.random,
    url,
    fetch: webhookFetch(allowPrivateWebhooks),
    onError: (error) => onError(error, { requestId: "-", operation: "sendWebhooks" }),
  });
  sender.start();
  return {
    url,
    port: bound,
    loginUrl: async ({ path = "/", ...who }) => `${url}${path}#code=${await own.createLoginCode(who)}`,
    close: once(async () => {
      await Promise.all([stop(server, streams, connections), sender.close()]);
      await own.close();
    }),
  };
}

function unavailable(): Response {
  return new Response(null, { status: 503 });
}

async function hasLivingToken({ store }: HandlerOptions): Promise<boolean> {
  const now = Date.now();
  return (await store.listAccess()).some(
    ({ kind, revokedAt, expiresAt }) =>
      kind === "token" && revokedAt === null && (expiresAt === null || expiresAt > now),
  );
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, host, resolve);
  try {
    await promise;
  } catch (error) {
    throw new ConfigurationError(whyNotListening(error, port, host), {}, { cause: error });
  } finally {
    server.off("error", reject);
  }
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function whyNotListening(error: unknown, port: number, host: string): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "EADDRINUSE")
    return `Port ${port} of ${host} is in use, perhaps by another \`pawl serve\`: stop that one, or give another port with --port.`;
  if (code === "EACCES")
    return `Port ${port} needs more rights than this process has: give one above 1023 with --port.`;
  return `The server cannot listen on ${host}:${port}: ${error instanceof Error ? error.message : String(error)}.`;
}

/**
 * A stream is broken, and never ended: a page takes one that ends in good order for a whole answer. What else is being answered
 * gets a moment.
 */
async function stop(server: Server, streams: OpenStreams, connections: ReadonlySet<Socket>): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  streams.break();
  server.closeIdleConnections();
  // Browsers open connections in advance. To Node, one that has never sent anything is not idle.
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearTimeout(timer);
}

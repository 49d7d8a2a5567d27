import { randomUUID } from "node:crypto";
import { ConfigurationError } from "../../core/errors.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import { once } from "../../core/once.ts";
import type { Agent } from "../../engine/definition/agent.ts";
import { rootOf } from "../../engine/definition/pipeline-root.ts";
import type { StepNode } from "../../engine/definition/step.ts";
import type { Clock } from "../../engine/ports/clock.ts";
import { systemClock } from "../../engine/ports/system-clock.ts";
import { workFolders } from "../../engine/run/run-folder.ts";
import { Runner } from "../../engine/runner/runner.ts";
import { assertStore, type RunnerOptions } from "../../engine/runner/runner-options.ts";
import type { Store } from "../../store/store.ts";
import { Access, type Authenticate } from "../access/access.ts";
import { AuditTrail } from "../access/audit-trail.ts";
import { sessionKey } from "../access/secrets.ts";
import { SessionCookies } from "../access/session-cookie.ts";
import { sessionHandlers } from "../access/session-handlers.ts";
import { tokenHandlers } from "../access/token-handlers.ts";
import { makeHandlers } from "../handlers/make-handlers.ts";
import type { ServerParts } from "../handlers/server-parts.ts";
import { dashboardFolder, packageVersion } from "../own-files.ts";
import type { Principal, Role } from "../principal.ts";
import { webhookHandlers } from "../webhooks/webhook-handlers.ts";
import { type AllowedHosts, hostsOfHandler, isLoopbackName } from "./allowed-hosts.ts";
import { auditHandlers } from "./audit-handlers.ts";
import { DashboardFiles } from "./dashboard-files.ts";
import { documentHandlers } from "./document-handlers.ts";
import { type HttpParts, httpHandler } from "./http-handler.ts";
import { LongAnswers } from "./long-answers.ts";
import type { ReportError } from "./operation-requests.ts";
import { REQUEST_LIMITS, type RequestLimits } from "./request-limits.ts";

/** Options of `createHandler`. */
export type HandlerOptions = {
  readonly store: Store;
  /** The pipelines that can be started, forecast and talked to here, as a worker has them. By default none. */
  readonly pipelines?: { readonly [name: string]: Agent | StepNode };
  /** Options of the runners that forecast and start runs, such as `pricing` and `policy`. By default none. */
  readonly runnerOptions?: Omit<RunnerOptions, "store">;
  /** Who makes a request, if your program knows. By default tokens and sessions of the store. */
  readonly authenticate?: Authenticate;
  /** The address that people use, such as `https://pawl.example.com`. By default only names of this machine are answered. */
  readonly publicUrl?: string;
  /** Everybody is a viewer. False by default. */
  readonly readOnly?: boolean;
  /** Who sees shapes and sizes in the place of arguments, results and texts. By default no role. */
  readonly hideContent?: "viewer";
  /** Origins whose pages may use the API with a token. By default none. */
  readonly allowOrigin?: readonly string[];
  /** What people call the store, such as `pawl.db`: the dashboard shows it. `store` by default. */
  readonly storeName?: string;
  /** A worker runs in the same program: the dashboard says so. False by default. */
  readonly hasWorker?: boolean;
  /** The folder of a dashboard, or false for none. By default the one of the package. */
  readonly dashboard?: string | false;
  /** Compares each answer with its schema, for tests. False by default. */
  readonly checksAnswers?: boolean;
  /** The most requests that are answered at a time; 256 by default. Others get 503. */
  readonly maxRequests?: number;
  /** Called with errors that are no answer to a request. By default they are written to stderr. */
  readonly onError?: ReportError;
};

const NAMES = {
  store: true,
  pipelines: true,
  runnerOptions: true,
  authenticate: true,
  publicUrl: true,
  readOnly: true,
  hideContent: true,
  allowOrigin: true,
  storeName: true,
  hasWorker: true,
  dashboard: true,
  checksAnswers: true,
  maxRequests: true,
  onError: true,
} satisfies OptionNames<HandlerOptions>;

const MAX_FAILED_LOGINS = 10;

/** Answers requests, wherever they come from. */
export type PawlHandler = {
  fetch(request: Request): Promise<Response>;
  /** Breaks the open streams, and writes what is to be recorded. The store stays open. */
  close(): Promise<void>;
  /** A code that signs in once, within five minutes, as the user of this machine. */
  createLoginCode(who: { readonly name: string; readonly role?: Role }): Promise<string>;
};

/**
 * The HTTP API and the dashboard, as a function from a `Request` to a `Response`: for every framework that has those.
 *
 * @example
 * const handler = createHandler({ store, pipelines: { report }, publicUrl: "https://pawl.example.com" });
 * export default { fetch: handler.fetch };
 */
export function createHandler(options: HandlerOptions): PawlHandler {
  assertOptions("The argument of createHandler", options, NAMES);
  return handlerWith(options, { hosts: hostsOfHandler(options.publicUrl ?? null), limits: REQUEST_LIMITS });
}

/** What only a server of our own knows, and what takes too long for tests. */
export type HandlerSurroundings = { readonly hosts: AllowedHosts; readonly limits: RequestLimits };

export function handlerWith(options: HandlerOptions, surroundings: HandlerSurroundings): PawlHandler {
  assertStore(options.store);
  const closing = new AbortController();
  const ready = once(() => setUp(options, surroundings, closing.signal));
  return {
    fetch: async (request) => {
      const { answer } = await ready();
      return answer(request);
    },
    close: async () => {
      closing.abort();
      const { audit } = await ready();
      await audit.close();
    },
    createLoginCode: async ({ name, role = "admin" }) => {
      const { access, audit } = await ready();
      const { secret, record } = await access.newCode({ name, role });
      const who = { name, id: null, role: null };
      const done = { act: "token.login", target: record.id, status: 200, problem: null, requestId: null };
      await audit.act([{ who, ...done }]);
      return secret;
    },
  };
}

type Ready = {
  readonly answer: (request: Request) => Promise<Response>;
  readonly access: Access;
  readonly audit: AuditTrail;
};

async function setUp(
  options: HandlerOptions,
  { hosts, limits }: HandlerSurroundings,
  closing: AbortSignal,
): Promise<Ready> {
  const { store, publicUrl = null, readOnly = false, hasWorker = false, onError = printError } = options;
  const clock = systemClock;
  const audit = new AuditTrail(store, clock, (error) =>
    onError(error, { requestId: "-", operation: "recordAudit" }),
  );
  const access = accessOf(options, clock, await store.storeId());
  const longAnswers = new LongAnswers(closing);
  const parts: ServerParts = {
    store,
    pipelines: runnersOf(options),
    clock,
    version: packageVersion(),
    instance: randomUUID(),
    storeName: options.storeName ?? "store",
    workFolders: workFoldersOf(options),
    hasWorker,
    isReadOnly: readOnly,
    openStreams: () => longAnswers.streams,
  };
  const hidesContent = (principal: Principal) =>
    options.hideContent === "viewer" && principal.role === "viewer";
  const http: HttpParts = {
    handlers: {
      ...documentHandlers,
      ...sessionHandlers({ access, audit, storeName: parts.storeName, hidesContent }),
      ...tokenHandlers(store, clock),
      ...webhookHandlers(store),
      ...auditHandlers(store, clock),
      ...makeHandlers(parts),
    },
    access,
    audit,
    publicUrl,
    hidesContent,
    checksAnswers: options.checksAnswers ?? false,
    onError,
    limits,
    longAnswers,
    hosts,
    allowOrigins: options.allowOrigin ?? [],
    dashboard: dashboardOf(options.dashboard),
    maxRequests: options.maxRequests ?? 256,
  };
  return { answer: httpHandler(http), access, audit };
}

function accessOf(
  { store, publicUrl, readOnly = false, authenticate }: HandlerOptions,
  clock: Clock,
  storeId: string,
): Access {
  return new Access({
    store,
    cookies: new SessionCookies({
      key: sessionKey(store.redactionKey(), storeId),
      storeId,
      isSecure: publicUrl !== undefined && !isPlainLoopback(publicUrl),
    }),
    clock,
    authenticate: authenticate ?? null,
    isReadOnly: readOnly,
    maxFailedLogins: MAX_FAILED_LOGINS,
  });
}

/** A browser drops a `Secure` cookie that came over plain HTTP, except on this machine, where it takes both kinds. */
function isPlainLoopback(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === "http:" && isLoopbackName(hostname);
}

function runnersOf({
  store,
  pipelines = {},
  runnerOptions = {},
}: HandlerOptions): ReadonlyMap<string, Runner> {
  const runners = new Map<string, Runner>();
  for (const target of Object.values(pipelines)) {
    const { name } = rootOf(target);
    if (runners.has(name))
      throw new ConfigurationError(`Two pipelines have the name ${name}: give one of them another name.`);
    runners.set(name, new Runner(target, { ...runnerOptions, store }));
  }
  return runners;
}

function workFoldersOf({ pipelines = {}, runnerOptions = {} }: HandlerOptions): ServerParts["workFolders"] {
  return (runs) => workFolders(Object.values(pipelines), runnerOptions.workspaceRoot ?? ".", runs);
}

function dashboardOf(given: string | false | undefined): DashboardFiles | null {
  if (given === false) return null;
  const files = DashboardFiles.in(given ?? dashboardFolder());
  if (files === null && given !== undefined)
    throw new ConfigurationError(`There is no dashboard in ${given}: it has no index.html. Build it first.`);
  return files;
}

export const printError: ReportError = (error, { requestId, operation }) => {
  console.error(`pawl ${requestId} ${operation}:`, error);
};

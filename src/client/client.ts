// `pawl/client`: for browsers, edge runtimes and Node. It imports the names of the operations, and nothing else that runs.

import { OPERATIONS, type OperationId } from "../server/api/operations.ts";
import type {
  Abortable,
  OperationCall,
  OperationParams,
  ServerEvent,
  StreamedId,
  WatchedEvent,
} from "./client-types.ts";
import { type Connect, connectedEvents } from "./event-connection.ts";
import { PawlProblem } from "./pawl-problem.ts";

export type { OperationId } from "../server/api/operations.ts";
export type {
  Abortable,
  OperationCall,
  OperationParams,
  OperationResult,
  ServerEvent,
  StreamedId,
  WatchedEvent,
} from "./client-types.ts";
export { PawlProblem } from "./pawl-problem.ts";

/** Options of `createClient`. */
export type ClientOptions = {
  /** Where the server is: `https://pawl.example.com`. By default the origin of the page. */
  readonly baseUrl?: string;
  /** SentParts as `Authorization: Bearer`. By default none: in a browser the cookie of the session is sent. */
  readonly token?: string;
  /** Used in the place of `fetch`. By default the platform's own. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
};

/** A function for each operation of the HTTP API. */
export type PawlClient = { readonly [Id in Exclude<OperationId, StreamedId>]: OperationCall<Id> } & {
  /** Heads, counts and waits of all runs as they change, and the log of one. It ends with the signal, or with the loop. */
  stream(params?: OperationParams<"stream"> & Abortable): AsyncGenerator<ServerEvent, void, undefined>;
  /** What happens in a run, until it has ended. */
  watchRun(params: OperationParams<"watchRun"> & Abortable): AsyncGenerator<WatchedEvent, void, undefined>;
};

type Params = { readonly [name: string]: unknown };
type SentParts = {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly lastId?: string | null;
};

/**
 * A client of a Pawl server, typed by its API. What the server refuses is thrown as a `PawlProblem`.
 *
 * @example
 * const client = createClient({ baseUrl: "http://127.0.0.1:4747", token: "pawl_…" });
 * const { items } = await client.listRuns({ status: ["failed"] });
 * for (const { runId } of items) await client.resumeRun({ runId }, {});
 */
export function createClient(options: ClientOptions = {}): PawlClient {
  const request = requester(options);
  const methods = Object.keys(OPERATIONS).map((id) => [id, methodOf(id as OperationId, request)]);
  return Object.fromEntries(methods) as PawlClient;
}

/**
 * The items of all pages of a list, one after the other.
 *
 * @example
 * const client = createClient();
 * for await (const run of pages(client.listRuns, { pipeline: ["report"] })) console.log(run.runId, run.status);
 */
export async function* pages<P extends { readonly cursor?: string | undefined } | undefined, T>(
  list: (params: P) => Promise<Page<T>>,
  params: NonNullable<NoInfer<P>>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | null = null;
  do {
    const page: Page<T> = await list(cursor === null ? params : { ...params, cursor });
    yield* page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** A page of a list. */
export type Page<T> = { readonly items: readonly T[]; readonly nextCursor: string | null };

type Request = (id: OperationId, params: Params, sent: SentParts) => Promise<Response>;

function requester({
  baseUrl = "",
  token,
  fetch = (url, init) => globalThis.fetch(url, init),
}: ClientOptions): Request {
  const base = baseUrl.replace(/\/+$/, "");
  return (id, params, { body, signal, lastId = null }) => {
    const { idempotencyKey, ...others } = params;
    const headers: Record<string, string> = { accept: "application/json, text/event-stream" };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    if (typeof idempotencyKey === "string") headers["idempotency-key"] = idempotencyKey;
    if (body !== undefined) headers["content-type"] = "application/json";
    if (lastId !== null) headers["last-event-id"] = lastId;
    return fetch(`${base}${addressOf(OPERATIONS[id].path, others)}`, {
      method: OPERATIONS[id].method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  };
}

/** The path with its ids, each as one encoded segment, and the rest as the query. */
function addressOf(template: string, params: Params): string {
  const inPath = new Set<string>();
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name);
    return encodeURIComponent(String(params[name]));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (inPath.has(name) || value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

function methodOf(id: OperationId, request: Request): unknown {
  if (id === "stream") return (params: Params = {}) => liveEvents(request, params);
  if (id === "watchRun") return (params: Params) => runEvents(request, params);
  return async ({ signal, ...params }: Params & Abortable = {}, body?: unknown) => {
    const response = await request(id, params, { body, signal });
    if (!response.ok) throw await PawlProblem.of(response);
    if (response.status === 204) return undefined;
    const { headers } = response;
    const isDocument = /^application\/json\b/.test(headers.get("content-type") ?? "");
    // An artifact may be JSON too: it is a download.
    return isDocument && !headers.has("content-disposition") ? response.json() : response;
  };
}

const NEVER = new AbortController().signal;

async function* liveEvents(
  request: Request,
  { signal = NEVER, ...params }: Params & Abortable,
): AsyncGenerator<ServerEvent, void, undefined> {
  for await (const { event, data } of connectedEvents(connecting("stream", request, params), null, signal))
    yield { event, data: JSON.parse(data) as unknown } as ServerEvent;
}

async function* runEvents(
  request: Request,
  { signal = NEVER, ...params }: Params & Abortable,
): AsyncGenerator<WatchedEvent, void, undefined> {
  const isLast = (data: string) => (JSON.parse(data) as WatchedEvent).type === "run.ended";
  const events = connectedEvents(connecting("watchRun", request, params), ({ data }) => isLast(data), signal);
  for await (const { data } of events) yield JSON.parse(data) as WatchedEvent;
}

function connecting(id: StreamedId, request: Request, params: Params): Connect {
  return (lastId, signal) => request(id, params, { lastId, signal });
}

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
import { type Connect, connectedEvents, type StreamedEvent, serverEvent } from "./event-connection.ts";
import { PawlProblem } from "./pawl-problem.ts";
import { type ClientOptions, type Params, type Request, requester } from "./request.ts";

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
export type { ClientOptions } from "./request.ts";

/** A function for each operation of the HTTP API. */
export type PawlClient = { readonly [Id in Exclude<OperationId, StreamedId>]: OperationCall<Id> } & {
  /** Heads, counts and waits of all runs as they change, and the log of one. It ends with the signal, or with the loop. */
  stream(params?: OperationParams<"stream"> & Abortable): AsyncGenerator<ServerEvent, void, undefined>;
  /** What happens in a run, until it has ended. */
  watchRun(params: OperationParams<"watchRun"> & Abortable): AsyncGenerator<WatchedEvent, void, undefined>;
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

/** What is answered with bytes or a stream, and not with a document. */
const BYTES = /^(?:getArtifact|getBlob|exportRuns?|chat|streamChat)$/;

function methodOf(id: OperationId, request: Request): unknown {
  if (id === "stream") return (params: Params = {}) => liveEvents(request, params);
  if (id === "watchRun") return (params: Params) => runEvents(request, params);
  return async ({ signal, ...params }: Params & Abortable = {}, body?: unknown) => {
    const response = await request(id, params, { body, signal });
    if (!response.ok) throw await PawlProblem.of(response);
    if (response.status === 204) return undefined;
    const { headers } = response;
    const type = headers.get("content-type") ?? "";
    if (BYTES.test(id) && !/^text\/html\b/.test(type)) return response;
    if (/^application\/json\b/.test(type)) return response.json();
    throw await PawlProblem.notPawl(response);
  };
}

const NEVER = new AbortController().signal;

async function* liveEvents(
  request: Request,
  { signal = NEVER, ...params }: Params & Abortable,
): AsyncGenerator<ServerEvent, void, undefined> {
  for await (const event of connectedEvents({ connect: connecting("stream", request, params), signal }))
    yield serverEvent(event);
}

async function* runEvents(
  request: Request,
  { signal = NEVER, ...params }: Params & Abortable,
): AsyncGenerator<WatchedEvent, void, undefined> {
  const connect = connecting("watchRun", request, params);
  const isLast = ({ event }: StreamedEvent) => event === "run.ended";
  for await (const { event, data } of connectedEvents({ connect, isLast, signal }))
    yield { ...(typeof data === "object" ? data : {}), type: event };
}

function connecting(id: StreamedId, request: Request, params: Params): Connect {
  return (lastId, signal) => request(id, params, { lastId, signal });
}

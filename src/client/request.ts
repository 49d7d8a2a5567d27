import { OPERATIONS, type OperationId } from "../server/api/operations.ts";

/** Options of `createClient`. */
export type ClientOptions = {
  /** Where the server is: `https://pawl.example.com`. By default the origin of the page. */
  readonly baseUrl?: string;
  /** Sent as `Authorization: Bearer`. By default none: in a browser the cookie of the session is sent. */
  readonly token?: string;
  /** Used in the place of `fetch`. By default the platform's own. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
};

/** The ids in the path of an operation and its query, by their names. */
export type Params = { readonly [name: string]: unknown };

type SentParts = {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  readonly lastId?: string | null;
};

/** Makes one request for an operation. */
export type Request = (id: OperationId, params: Params, sent: SentParts) => Promise<Response>;

export function requester({
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
    return fetch(base + operationAddress(id, others), {
      method: OPERATIONS[id].method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
  };
}

/** The path of an operation with its ids, each as one encoded segment, and the rest as the query. */
export function operationAddress(id: OperationId, params: Params): string {
  const inPath = new Set<string>();
  const path = OPERATIONS[id].path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name);
    const value = params[name];
    // The address without it is that of another operation.
    if (typeof value !== "string" || value === "") throw new TypeError(`${id} needs a ${name}.`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (inPath.has(name) || value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import type * as Undici from "undici";
import { checkAddress, checkUrl, type NetworkPolicy } from "../../core/network-policy.ts";
import { NetworkRefusedError, REQUEST, refusal } from "../../core/network-refusal.ts";
import { causesOf } from "./error-causes.ts";

export { NetworkRefusedError } from "../../core/network-refusal.ts";

export type GuardedFetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

type GuardedCall = { readonly signal: AbortSignal; readonly network: NetworkPolicy };

/** Resolves a host name: the part of `dns.lookup` that is used. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const MAX_REDIRECTS = 10;
const IDLE_SOCKET_MS = 4_000;

const REDIRECT = "Refused to follow a redirect to";

/**
 * `fetch` for tools: it connects only where the run's network policy allows it, redirects included, and stops when the
 * call is aborted. Proxies from the environment are not used: behind one, the final address could not be checked. The
 * response is undici's: it does everything that the global `Response` does, but is not an instance of it.
 *
 * @example
 * const page = await guardedFetch(call)("https://example.com/");
 */
export function guardedFetch(call: GuardedCall): GuardedFetch {
  return fetchThrough(call, (undici) => sharedAgent(undici, call.network));
}

/** `guardedFetch` with another resolver, for tests. */
export function guardedFetchResolvedBy(call: GuardedCall, resolve: Resolve): GuardedFetch {
  return fetchThrough(call, (undici) => makeAgent(undici, call.network, resolve));
}

type UndiciPackage = typeof Undici;

let loaded: Promise<UndiciPackage> | undefined;

/** Imported on first use: it takes a third as long to load as everything else together, and few processes fetch. */
function loadUndici(): Promise<UndiciPackage> {
  loaded ??= import("undici");
  return loaded;
}

/**
 * One agent for all calls with the same policy, never for two policies: otherwise a connection that one allowed would
 * serve the other. It need not be closed: idle sockets do not keep the process alive and are closed soon, whatever the
 * server asks for, and the agent is garbage-collected with its policy.
 */
const agents = new WeakMap<NetworkPolicy, Undici.Agent>();

function sharedAgent(undici: UndiciPackage, policy: NetworkPolicy): Undici.Agent {
  const agent = agents.get(policy) ?? makeAgent(undici, policy, systemLookup);
  agents.set(policy, agent);
  return agent;
}

function makeAgent({ Agent, Pool }: UndiciPackage, policy: NetworkPolicy, resolve: Resolve): Undici.Agent {
  return new Agent({
    // A pool per origin, since a lookup gets only the host, and a policy may allow a single port of it.
    factory: (origin) =>
      new Pool(origin, {
        keepAliveTimeout: IDLE_SOCKET_MS,
        keepAliveMaxTimeout: IDLE_SOCKET_MS,
        connect: { lookup: checkedLookup(policy, new URL(origin), resolve) },
      }),
  });
}

/**
 * Returns only the addresses that the policy allows. The socket connects to what is returned here, so a name cannot
 * show one address to the check and another to the connection.
 */
export function checkedLookup(policy: NetworkPolicy, origin: URL, resolve: Resolve): LookupFunction {
  const host = `${origin.hostname}:${origin.port !== "" ? origin.port : origin.protocol === "https:" ? 443 : 80}`;
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const verdicts = addresses.map(({ address }) => checkAddress(policy, host, address));
      const allowed = addresses.filter((_, index) => verdicts[index]?.ok);
      const first = allowed[0];
      if (first === undefined) {
        const why = verdicts.find((verdict) => !verdict.ok)?.why;
        callback(refusal(origin, why ?? `The host ${hostname} has no address.`), []);
      } else if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** One request; a redirect makes the next one from it. */
type Hop = {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  /** A stream can be sent only once, bytes any number of times. */
  readonly body: Uint8Array | ReadableStream | null;
  readonly integrity: string;
};

function fetchThrough(call: GuardedCall, agentOf: (undici: UndiciPackage) => Undici.Agent): GuardedFetch {
  let agent: Undici.Agent | undefined;
  return async (input, init = {}) => {
    const signal = init.signal ? AbortSignal.any([call.signal, init.signal]) : call.signal;
    let hop = await firstHop(call.network, input, init);
    const undici = await loadUndici();
    agent ??= agentOf(undici);
    for (let redirects = 0; ; redirects++) {
      const response = await send(hop, init.redirect === "error" ? "error" : "manual", signal, undici, agent);
      const location = init.redirect === "manual" ? null : locationOf(response);
      if (location === null) return redirects === 0 ? response : markRedirected(response);
      // An unread body keeps its socket.
      await response.body?.cancel().catch(() => {});
      if (redirects === MAX_REDIRECTS) {
        const why = `There were ${MAX_REDIRECTS} redirects before this one: request the final URL, if there is one.`;
        throw refusal(hop.url, why, "Refused to follow the redirect of");
      }
      hop = nextHop(call.network, hop, response.status, location);
    }
  };
}

async function firstHop(policy: NetworkPolicy, input: string | URL, init: RequestInit): Promise<Hop> {
  const url = checked(policy, URL.parse(String(input)), REQUEST);
  // Node's own Request reads the headers and the body: undici's knows only its own FormData, and would send the name of ours.
  const request = new Request(url, { ...init, signal: null });
  const { method, headers, integrity } = request;
  const body = canBeSentAgain(init.body) ? new Uint8Array(await request.arrayBuffer()) : request.body;
  return { url, method, headers, body, integrity };
}

function canBeSentAgain(body: unknown): boolean {
  return (
    typeof body === "string" ||
    body instanceof URLSearchParams ||
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body)
  );
}

async function send(
  { url, method, headers, body, integrity }: Hop,
  redirect: "error" | "manual",
  signal: AbortSignal,
  undici: UndiciPackage,
  dispatcher: Undici.Agent,
): Promise<Response> {
  try {
    return await undici.fetch(url, {
      method,
      headers: [...headers],
      body,
      duplex: "half",
      integrity,
      redirect,
      signal,
      dispatcher,
    });
  } catch (error) {
    for (const cause of causesOf(error)) {
      // Thrown by the lookup, which knows the host but not the whole URL.
      if (NetworkRefusedError.isInstance(cause)) throw refusal(url, cause.details.why);
    }
    throw error;
  }
}

/** The target of a redirect; null if the response is not one. */
function locationOf(response: Response): string | null {
  if (![301, 302, 303, 307, 308].includes(response.status)) return null;
  const location = response.headers.get("location");
  // Headers are decoded as Latin-1, but servers that do not escape a URL write UTF-8.
  return location === null ? null : Buffer.from(location, "latin1").toString("utf8");
}

/** Rewrites the request as the fetch standard does. */
function nextHop(policy: NetworkPolicy, hop: Hop, status: number, location: string): Hop {
  const url = checked(policy, URL.parse(location, hop.url.href), REDIRECT);
  const headers = new Headers(hop.headers);
  const isElsewhere = url.origin !== hop.url.origin;
  if (isElsewhere) dropHeaders(headers, (name) => !SAFE_ELSEWHERE.test(name));
  const toGet =
    status === 303
      ? hop.method !== "GET" && hop.method !== "HEAD"
      : (status === 301 || status === 302) && hop.method === "POST";
  if (toGet) {
    dropHeaders(headers, (name) => BODY_HEADER.test(name));
    return { ...hop, url, headers, method: "GET", body: null };
  }
  if (isElsewhere && hop.body !== null) throw refusal(url, BODY_ELSEWHERE, REDIRECT);
  if (hop.body instanceof ReadableStream) {
    throw refusal(url, "The body is a stream, which cannot be sent twice: pass a string or bytes.", REDIRECT);
  }
  return { ...hop, url, headers };
}

const BODY_ELSEWHERE =
  "The body was meant for the original origin, and this is another: request the final URL if it may have the body.";

/** Headers that may follow a redirect to another origin. Any other header may carry a credential, and so may a body. */
const SAFE_ELSEWHERE =
  /^(?:accept|accept-language|accept-encoding|user-agent|range|if-(?:match|none-match|modified-since|unmodified-since|range)|cache-control|pragma)$/;
const BODY_HEADER = /^content-(encoding|language|length|location|type)$/;

function dropHeaders(headers: Headers, isDropped: (name: string) => boolean): void {
  const dropped = [...headers.keys()].filter(isDropped);
  for (const name of dropped) headers.delete(name);
}

/** Sets `redirected` as `fetch` does: for undici each hop was a separate request. */
function markRedirected(response: Response): Response {
  return Object.defineProperty(response, "redirected", { value: true });
}

function checked(policy: NetworkPolicy, url: URL | null, doing: string): URL {
  const verdict = checkUrl(policy, url ?? "");
  if (url !== null && verdict.ok) return url;
  throw refusal(url, verdict.ok ? "The URL cannot be read." : verdict.why, doing);
}

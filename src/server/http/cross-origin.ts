/** Headers that a page of another origin may send and read. */
const SENT = "authorization, content-type, idempotency-key, if-none-match, last-event-id";
const READ = "etag, location, retry-after, x-request-id";

/**
 * Lets pages of the given origins call the API with a token. Cookies are not for them: they are `SameSite=Strict`, and the
 * header that would let a page read an answer to one is never sent.
 */
export function crossOriginHeaders(
  request: Request,
  allowed: readonly string[],
): Readonly<Record<string, string>> {
  const origin = request.headers.get("origin");
  if (origin === null || !allowed.includes(origin)) return {};
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": READ,
    "cross-origin-resource-policy": "cross-origin",
    vary: "origin",
  };
}

/** The answer to the question of a browser whether a page may make a request; null if it is no such question. */
export function preflight(request: Request, allowed: readonly string[]): Response | null {
  if (request.method !== "OPTIONS" || !request.headers.has("access-control-request-method")) return null;
  const headers = new Headers(crossOriginHeaders(request, allowed));
  if (!headers.has("access-control-allow-origin")) return null;
  headers.set("access-control-allow-methods", "GET, HEAD, PUT, POST, DELETE");
  headers.set("access-control-allow-headers", SENT);
  headers.set("access-control-max-age", "600");
  return new Response(null, { status: 204, headers });
}

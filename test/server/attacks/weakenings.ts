import type { Patch } from "../../patched-sources.ts";

/** One guard, as an expression of the sources; what it becomes without the guard is an expression too. */
const server = (file: string, right: string, wrong: string): Patch => ({
  file: `server/${file}`,
  right,
  wrong,
});

/** Guards of the server. All of them are in one bundle, where each is on until a test turns it off. */
export const WEAKENINGS = {
  host: server("http/allowed-hosts.ts", "exact.includes(host)", "true"),
  port: server(
    "http/allowed-hosts.ts",
    'isAnyLoopback && isLoopbackName(host.replace(/:\\d+$/, ""))',
    'isLoopbackName(host.replace(/:\\d+$/, ""))',
  ),
  source: server("http/request-origin.ts", 'decision.kind === "own"', "true"),
  /** The check looks at the header, and not at what has recognized the person. */
  sourceOfToken: server(
    "http/operation-requests.ts",
    'principal?.source === "token" && route.role !== "anyone"',
    '/^bearer /i.test(request.headers.get("authorization") ?? "")',
  ),
  preflight: server("http/cross-origin.ts", "!allowed.includes(origin)", "false"),
  secretInQuery: server(
    "http/secret-in-query.ts",
    "!NAMES.includes(name.toLowerCase()) && !isAccessSecret(value)",
    "true",
  ),
  jsonType: server(
    "http/request-body.ts",
    "type !== null && !/^application\\/json\\s*(;|$)/i.test(type)",
    "false",
  ),
  bodyLength: server(
    "http/request-body.ts",
    'Number(request.headers.get("content-length") ?? 0) > maxBytes',
    "false",
  ),
  bodyBytes: server("http/request-body.ts", "size > maxBytes", "false"),
  bodyMs: server(
    "http/request-body.ts",
    "setTimeout(() => reject(tooSlow(maxMs)), maxMs)",
    "setTimeout(() => undefined, maxMs)",
  ),
  slots: server("http/slots.ts", "this.#taken >= this.#most", "false"),
  binding: server("http/binding-decision.ts", "isLoopbackName(host)", "true"),
  bindingToken: server("http/binding-decision.ts", "!hasToken", "false"),
  pathSegments: server("http/request-input.ts", 'path.split("/")', 'decodeURIComponent(path).split("/")'),
  routedPath: server(
    "http/http-handler.ts",
    "new URL(request.url).pathname",
    "decodeURIComponent(new URL(request.url).pathname)",
  ),
  listedFiles: server(
    "http/dashboard-files.ts",
    "this.#files.has(path) ? path : PAGE",
    "decodeURIComponent(path)",
  ),
  cursor: server("handlers/list-cursor.ts", "filter !== hashOf(list)", "false"),
  watchPlace: { file: "engine/watch/watch-cursor.ts", right: "seq <= lastSeq", wrong: "true" },
  livePlace: server(
    "live/live-hub.ts",
    "isReset ? [RESET] : await this.#missedBy(stream, runs)",
    "await this.#missedBy(stream, runs)",
  ),
  /** The place that was given is the id of the first event. */
  livePlaceGiven: server(
    "live/live-hub.ts",
    "stream.hold()",
    "(stream.sendUpTo(place.cursor, [hello]), stream.hold())",
  ),
  eventId: server("live/live-event.ts", "/[\\r\\n\\0]/.test(id)", "false"),
  signedIn: server("access/role-decision.ts", 'needed === "anyone"', "true"),
  role: server("access/role-decision.ts", "ROLES.indexOf(principal.role) >= ROLES.indexOf(needed)", "true"),
  readOnly: server("access/access.ts", 'this.#options.isReadOnly ? "viewer" : role', "role"),
  scope: server("scope/run-scope.ts", "run !== null && isInScope(scope, run)", "run !== null"),
  tokenScope: server("access/token-handlers.ts", "!isWithin(scope, principal.scope)", "false"),
  revokedScope: server("access/token-handlers.ts", "!isWithin(record.scope, principal.scope)", "false"),
  auditScope: server("http/audit-handlers.ts", "!isWhole(principal.scope)", "false"),
  signature: server(
    "access/session-cookie.ts",
    "!isSameSecret(given, signatureOf(this.#key, text))",
    "false",
  ),
  storeKey: server(
    "access/secrets.ts",
    'hkdfSync("sha256", redactionKey, storeId, "pawl session cookie", 32)',
    'hkdfSync("sha256", "", "", "pawl session cookie", 32)',
  ),
  signOut: server("access/access.ts", "await store.endSession(claim.accessId)", "undefined"),
  codeOnce: { file: "core/access/access-decision.ts", right: "redeemedAt !== null", wrong: "false" },
  codeAge: {
    file: "core/access/access-decision.ts",
    right: "expiresAt !== null && expiresAt <= now",
    wrong: "false",
  },
  madeFrom: server("access/token-handlers.ts", 'principal.source === "host" ? null : principal.id', "null"),
  person: server("handlers/acting-person.ts", 'source === "host" ? { id } : {}', "{ id }"),
  /** Every look counts as a wrong one. */
  lockOut: server(
    "access/known-access.ts",
    "await this.#found(key, () => this.#store.findAccess(hash))",
    "(this.#failures.add(), await this.#found(key, () => this.#store.findAccess(hash)))",
  ),
  failures: server("access/failed-logins.ts", "this.#times.length >= this.#most", "false"),
  hiddenDocument: server(
    "http/operation-requests.ts",
    "isHidden ? hiddenDocument(route, answer) : answer",
    "answer",
  ),
  hiddenHash: server(
    "access/hidden-content.ts",
    "WRITTEN_TEXTS.has(name)",
    "WRITTEN_TEXTS.has(name) && !name.endsWith('Hash')",
  ),
  hiddenBytes: server("http/hidden-answer.ts", 'route.answers[200] !== "bytes"', "true"),
  hiddenVersion: server("http/hidden-answer.ts", "etag.replace('\"', '\"hidden-')", "etag"),
  hiddenSearch: server("handlers/runs/runs.ts", 'isContentHidden ? "id" : after?.by', "after?.by"),
} as const satisfies { readonly [name: string]: Patch };

export type WeakeningName = keyof typeof WEAKENINGS;

/** The guards that are off now. The bundle reads it. */
const off = new Set<string>();

/** Each guard as a choice between itself and what it becomes without it. */
export const SWITCHED: readonly Patch[] = Object.entries(WEAKENINGS).map(
  ([name, { file, right, wrong }]) => ({
    file,
    right,
    wrong: `(globalThis.weakened.has(${JSON.stringify(name)}) ? (${wrong}) : (${right}))`,
  }),
);

/** Does the work while these guards are off in the bundle. */
export async function without<T>(names: readonly WeakeningName[], work: () => Promise<T>): Promise<T> {
  Object.assign(globalThis, { weakened: off });
  for (const name of names) off.add(name);
  try {
    return await work();
  } finally {
    off.clear();
  }
}

import { OPERATIONS, type OperationId } from "../api/operations.ts";
import type { PartialAct } from "../handler.ts";

/**
 * How a request is recorded. An `act` is: each, before it is acknowledged. A `read` of what is in runs is: once for a person, an
 * operation and a target in a while, since pages ask again and again. What shows nothing of a run is not.
 */
export type AuditKind = "act" | "read" | "none";

/** Asking is not changing: these only look, although their method is POST. */
const LOOKING: readonly OperationId[] = ["forecastRun", "verifyRun", "exportRuns"];
/** They show nothing of what is in a run. */
const NOT_RECORDED: readonly OperationId[] = [
  "getHealth",
  "getOpenApi",
  "getMe",
  "countRuns",
  "listPipelines",
  "listToolErrors",
  "getActivity",
  "listWorkers",
  "getServer",
  // Records itself: only it knows who has signed in.
  "createSession",
];

export function auditKind(id: OperationId): AuditKind {
  if (NOT_RECORDED.includes(id)) return "none";
  return OPERATIONS[id].method === "GET" || LOOKING.includes(id) ? "read" : "act";
}

/** What is known of a request when it is recorded. */
export type AuditedRequest = {
  readonly params: { readonly [name: string]: string };
  readonly query?: unknown;
  readonly body?: unknown;
  /** The document that it was answered with. */
  readonly answer?: unknown;
  /** What was done, if it was several acts: each is recorded with its own outcome, in the place of the request. */
  readonly acts?: readonly PartialAct[];
};

/** What a request is about, one row for each: the id in its path, the runs that it names, or what it has made. */
export function auditTargets({ params, query, body, answer }: AuditedRequest): readonly (string | null)[] {
  const ids = Object.values(params);
  if (ids.length > 0) return [ids.join("/")];
  const [asked, sent, made] = [fieldsOf(query), fieldsOf(body), fieldsOf(answer)];
  const runIds: readonly unknown[] = Array.isArray(sent.runIds) ? sent.runIds : [];
  const named = [asked.run, asked.runId, asked.a, asked.b, ...runIds].filter(isText);
  if (named.length > 0) return [...new Set(named)];
  const created = [made.runId, fieldsOf(made.token).id, fieldsOf(made.webhook).webhookId].filter(isText);
  return created.length > 0 ? created : [null];
}

function fieldsOf(value: unknown): { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

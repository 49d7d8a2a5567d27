import { canonicalJson } from "../../core/canonical-json.ts";
import type { Access } from "../access/access.ts";
import type { AuditTrail } from "../access/audit-trail.ts";
import { type AuditedRequest, auditKind, auditTargets } from "../access/audited-operations.ts";
import type { OPERATIONS, OperationId } from "../api/operations.ts";
import { type Route, routes } from "../api/routes.ts";
import type { Handlers, PartialAct } from "../handler.ts";
import { HttpProblem } from "../http-problem.ts";
import type { Principal } from "../principal.ts";
import { assertNoBytes, hiddenDocument, hiddenStream } from "./hidden-answer.ts";
import type { LongAnswers } from "./long-answers.ts";
import { assertPromised, type DocumentAnswer, documentResponse } from "./operation-answer.ts";
import { isUnexpected, type ProblemDocument, problemOf, problemResponse } from "./problem-response.ts";
import { type DecodedInput, pathParams, readInput } from "./request-input.ts";
import type { RequestLimits } from "./request-limits.ts";
import { assertOwnSource } from "./request-origin.ts";
import { assertRole } from "./request-role.ts";
import { whileRecognized } from "./while-recognized.ts";

/** An error that no one expected, for the log of the server. */
export type ReportError = (
  error: unknown,
  context: { readonly requestId: string; readonly operation: string },
) => void;

export type OperationParts = {
  readonly handlers: Handlers;
  readonly access: Access;
  readonly audit: AuditTrail;
  readonly publicUrl: string | null;
  readonly hidesContent: (principal: Principal) => boolean;
  readonly checksAnswers: boolean;
  readonly onError: ReportError;
  readonly limits: RequestLimits;
  readonly longAnswers: LongAnswers;
};

/** A handler without the types of its operation: the table ties them together, and a loop over it cannot. */
type AnyHandler = (
  input: DecodedInput,
  context: {
    readonly principal: Principal | null;
    readonly request: Request;
    readonly requestId: string;
    readonly isContentHidden: boolean;
    readonly report: (error: unknown) => void;
  },
) => Promise<
  DocumentAnswer | Response | { readonly response: Response; readonly acts: readonly PartialAct[] }
>;

/** What is known of a request by now, for the record. */
type Recorded = { principal: Principal | null; cookie: string | null; about: AuditedRequest };

/** Answers one request to an operation: who makes it, may they, what do they ask for, and what became of it. */
export async function answerOperation(
  parts: OperationParts,
  id: OperationId,
  request: Request,
  requestId: string,
): Promise<Response> {
  const recorded: Recorded = { principal: null, cookie: null, about: { params: {} } };
  const { response, problem } = await answered(parts, id, request, requestId, recorded);
  if (id === "revokeToken" || id === "createToken") parts.access.forget();
  try {
    await record(
      parts.audit,
      id,
      { requestId, status: response.status, problem: problem?.code ?? null },
      recorded,
    );
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
  const headers = new Headers(response.headers);
  if (recorded.cookie !== null) headers.append("set-cookie", recorded.cookie);
  if (request.method !== "HEAD") return new Response(response.body, { status: response.status, headers });
  // It will not be read: a stream behind it must hear of that.
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers });
}

async function answered(
  parts: OperationParts,
  id: OperationId,
  request: Request,
  requestId: string,
  recorded: Recorded,
): Promise<{ readonly response: Response; readonly problem: ProblemDocument | null }> {
  try {
    return { response: await handled(parts, id, request, requestId, recorded), problem: null };
  } catch (error) {
    const problem = problemOf(error, requestId);
    if (isUnexpected(problem)) parts.onError(error, { requestId, operation: id });
    return { response: problemResponse(problem), problem };
  }
}

async function handled(
  { handlers, access, publicUrl, hidesContent, checksAnswers, limits, longAnswers, onError }: OperationParts,
  id: OperationId,
  request: Request,
  requestId: string,
  recorded: Recorded,
): Promise<Response> {
  const route: Route & (typeof OPERATIONS)[OperationId] = routes[id];
  const recognized = await access.recognize(request);
  const { principal } = recognized;
  // A token gives its rights to what takes some: a sign-in takes none.
  const isOfToken = principal?.source === "token" && route.role !== "anyone";
  assertOwnSource(request, { publicUrl, isOfToken });
  // Not before: what a page of another site has asked for is no act of the person, and does not renew their session.
  Object.assign(recorded, recognized);
  const params = pathParams(route.path, new URL(request.url).pathname);
  recorded.about = { params };
  assertRole(route.role, principal);
  const maxBytes = route.tag === "chat" ? limits.chatBodyBytes : limits.bodyBytes;
  const input = await readInput(route, request, { maxBytes, maxMs: limits.bodyMs });
  recorded.about = input;
  const isHidden = principal !== null && hidesContent(principal);
  if (isHidden) assertNoBytes(route);
  const handle = handlers[id] as AnyHandler;
  const report = (error: unknown): void => onError(error, { requestId, operation: id });
  const context = { principal, request, requestId, isContentHidden: isHidden, report };
  const answer = await longAnswers.hold(route, request, principal?.name ?? "", async () => {
    const given = await handle(input, context);
    if (!("response" in given)) return given;
    recorded.about = { ...input, acts: given.acts };
    return given.response;
  });
  if (answer instanceof Response) {
    const shown = isHidden ? hiddenStream(answer) : answer;
    return isLong(route, shown) ? whileRecognized(shown, () => isStill(principal, access, request)) : shown;
  }
  recorded.about = {
    ...input,
    answer: answer.body,
    ...(answer.acts === undefined ? {} : { acts: answer.acts }),
  };
  if (checksAnswers) assertPromised(route, answer);
  return documentResponse(request, isHidden ? hiddenDocument(route, answer) : answer);
}

/** Streams and downloads may be read for longer than their reader has access. */
function isLong({ answers }: Route, { headers }: Response): boolean {
  if (answers[200] === "bytes") return true;
  return headers.get("content-type")?.startsWith("text/event-stream") === true;
}

/** True while the request would be answered for the same person, with the same rights. A store that does not answer is no reason. */
async function isStill(principal: Principal | null, access: Access, request: Request): Promise<boolean> {
  try {
    const { principal: now } = await access.recognize(request);
    return now?.id === principal?.id && now?.role === principal?.role && isEqualScope(now, principal);
  } catch (error) {
    return !(error instanceof HttpProblem);
  }
}

function isEqualScope(one: Principal | null, other: Principal | null): boolean {
  return canonicalJson(one?.scope ?? null) === canonicalJson(other?.scope ?? null);
}

/**
 * One row after the act, with its outcome. The act itself names the person in the log of its run, in one transaction with what
 * it changed, so a process that dies in between loses no name. An act whose row cannot be written is not acknowledged.
 */
async function record(
  audit: AuditTrail,
  id: OperationId,
  end: { readonly requestId: string; readonly status: number; readonly problem: string | null },
  { principal, about }: Recorded,
): Promise<void> {
  const kind = auditKind(id);
  if (principal === null || kind === "none") return;
  const who = { name: principal.name, id: principal.id, role: principal.role };
  const { requestId } = end;
  const entries =
    about.acts?.map((each) => ({ who, ...each, requestId })) ??
    auditTargets(about).map((target) => ({ who, act: id, target, ...end }));
  if (kind === "act") await audit.act(entries);
  // What the client had already was read all the same.
  else audit.read(entries.map((entry) => ({ ...entry, status: entry.status === 304 ? 200 : entry.status })));
}

import { randomUUID } from "node:crypto";
import { Hono } from "hono";
import { OPERATIONS, type OperationId } from "../api/operations.ts";
import { HttpProblem } from "../http-problem.ts";
import { type AllowedHosts, assertHost } from "./allowed-hosts.ts";
import { crossOriginHeaders, preflight } from "./cross-origin.ts";
import type { DashboardFiles } from "./dashboard-files.ts";
import { answerOperation, type OperationParts } from "./operation-requests.ts";
import { isUnexpected, problemOf, problemResponse } from "./problem-response.ts";
import { withEveryHeader } from "./response-headers.ts";
import { assertNoSecretInQuery } from "./secret-in-query.ts";
import { Slots } from "./slots.ts";

export type HttpParts = OperationParts & {
  readonly hosts: AllowedHosts;
  /** Pages of these origins may use the API with a token. */
  readonly allowOrigins: readonly string[];
  readonly dashboard: DashboardFiles | null;
  readonly maxRequests: number;
};

type Bindings = { Bindings: { readonly requestId: string } };

/** All of HTTP around the operations: from a request to an answer, whatever happens. */
export function httpHandler(parts: HttpParts): (request: Request) => Promise<Response> {
  const app = router(parts);
  const slots = new Slots(parts.maxRequests, tooBusy);
  return async (request) => {
    const requestId = `req_${randomUUID()}`;
    const answer = async () => {
      // Until there is an answer. Streams and downloads have slots of their own, which they keep until they are read.
      const free = slots.take();
      try {
        assertHost(request, parts.hosts);
        assertNoSecretInQuery(request);
        return preflight(request, parts.allowOrigins) ?? (await app.fetch(request, { requestId }));
      } finally {
        free();
      }
    };
    const response = await answer().catch((error: unknown) => failed(parts, error, requestId));
    const headers = crossOriginHeaders(request, parts.allowOrigins);
    return withEveryHeader(response, requestId, headers);
  };
}

function router(parts: HttpParts): Hono<Bindings> {
  // The path as it was sent: an id has encoded slashes in it.
  const app = new Hono<Bindings>({ getPath: (request) => new URL(request.url).pathname });
  for (const [id, { method, path }] of Object.entries(OPERATIONS))
    app.on(method, pattern(path), ({ req, env }) =>
      answerOperation(parts, id as OperationId, req.raw, env.requestId),
    );
  for (const [path, methods] of methodsByPath())
    app.all(pattern(path), ({ req }) => {
      throw notAllowed(req.method, methods);
    });
  app.all("/v1/*", () => {
    throw new HttpProblem(
      404,
      "no_such_path",
      "There is nothing at this path: see /openapi.json for all of them.",
    );
  });
  app.all("*", ({ req }) => page(parts.dashboard, req.raw));
  app.onError((error) => {
    throw error;
  });
  return app;
}

function tooBusy(most: number): HttpProblem {
  return new HttpProblem(503, "too_busy", `${most} requests are being answered: try again in a second.`);
}

async function page(dashboard: DashboardFiles | null, request: Request): Promise<Response> {
  if (!["GET", "HEAD"].includes(request.method)) throw notAllowed(request.method, ["GET", "HEAD"]);
  if (dashboard !== null) return dashboard.answer(request);
  throw new HttpProblem(
    404,
    "no_dashboard",
    "This server has no dashboard: its API is at /v1, and described in /openapi.json.",
  );
}

function notAllowed(method: string, methods: readonly string[]): HttpProblem {
  const allow = methods.join(", ");
  return new HttpProblem(405, "method_not_allowed", `${method} is not for this path: use ${allow}.`, {
    details: { allow },
  });
}

function methodsByPath(): ReadonlyMap<string, readonly string[]> {
  const grouped = Map.groupBy(Object.values(OPERATIONS), ({ path }) => path);
  return new Map(
    [...grouped].map(([path, operations]) => [
      path,
      operations.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])),
    ]),
  );
}

/** `/v1/runs/{runId}` as the router writes it. */
function pattern(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

function failed(parts: HttpParts, error: unknown, requestId: string): Response {
  const problem = problemOf(error, requestId);
  if (isUnexpected(problem)) parts.onError(error, { requestId, operation: "request" });
  return problemResponse(problem);
}

// The OpenAPI document of the HTTP API, from the route table.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { z } from "zod";
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiResponseObject,
} from "zod-openapi";
import { OPERATIONS, type OperationId } from "../../src/server/api/operations.ts";
import { documentedSchemas, type Route, routes } from "../../src/server/api/routes.ts";
import { problem } from "../../src/server/api/schemas/field-schemas.ts";
import { withSimplerSchemas } from "./simpler-schemas.ts";

const root = resolve(import.meta.dirname, "../..");

/** Problems of every operation that takes what the first column says. */
const PROBLEMS = {
  every: { 400: "The path, query or headers do not fit.", 421: "The host is not known to the server." },
  known: { 401: "The request does not say who makes it, or its token is wrong." },
  role: { 403: "The role of the principal is too low, or a page of another site made the request." },
  body: {
    408: "The body was sent too slowly.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "The body does not fit.",
  },
  busy: { 503: "The server or its store is busy: try again." },
} as const;

export const TAGS: { readonly [Tag in Route["tag"]]: string } = {
  runs: "What is stored of runs.",
  acts: "What people do about runs.",
  waits: "Questions of runs to people, and their answers.",
  reports: "Money, errors and comparisons.",
  workers: "Workers and schedules.",
  access: "Sessions, tokens and the audit log.",
  webhooks: "Addresses that events of runs are sent to: [webhooks](webhooks.md).",
  live: "Server-sent events.",
  chat: "Conversations, for `useChat` of the AI SDK.",
  server: "The server itself.",
};

export function openApiDocument(): object {
  const ids = Object.keys(OPERATIONS) as OperationId[];
  const paths = Object.fromEntries(
    [...Map.groupBy(ids, (id) => OPERATIONS[id].path)].map(([path, grouped]) => [
      path,
      Object.fromEntries(grouped.map((id) => [OPERATIONS[id].method.toLowerCase(), operation(id)])),
    ]),
  );
  const document = {
    openapi: "3.1.0",
    info: {
      title: "Pawl",
      version: packageVersion(),
      summary: "Durable agents: runs, their ledger, and what waits for people.",
      description:
        "Ids have `/`, `#` and `~` in them: each is one percent-encoded segment of a path. Times are ISO 8601, and milliseconds since 1970 in events of `watchRun`, in the `facts` of events and in timelines. Money is in millionths of a dollar.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: { LiveEvent: documentedSchemas.liveEvent },
      responses: sharedProblems(),
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "A token of `POST /v1/tokens`." },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "pawl_<store>",
          description: "The cookie of a session, from `POST /v1/session`. Its name has the store in it.",
        },
      },
    },
  } satisfies ZodOpenApiObject;
  return withSimplerSchemas(createDocument(document));
}

function operation(id: OperationId): ZodOpenApiOperationObject {
  const route: Route & (typeof OPERATIONS)[OperationId] = routes[id];
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  return {
    operationId: id,
    tags: [route.tag],
    summary: route.summary,
    description:
      route.role === "anyone" ? "Anyone may call it." : `Takes the role \`${route.role}\` or above.`,
    security: route.role === "anyone" ? [] : [{ token: [] }, { session: [] }],
    requestParams: {
      ...(names.length === 0
        ? {}
        : { path: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
      ...(route.query === undefined ? {} : { query: route.query }),
      ...(route.headers === undefined ? {} : { header: route.headers }),
    },
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: route.body } } } }),
    responses: { ...answers(route), ...problems(route) },
  };
}

const STATUS_WORDS: { readonly [status: number]: string } = {
  200: "What was asked for.",
  201: "It was made.",
  202: "It was accepted, and happens later.",
  204: "Done, or nothing to return.",
};

function answers(route: Route): ZodOpenApiOperationObject["responses"] {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, answer]) => [
      status,
      { description: STATUS_WORDS[Number(status)] ?? "", ...contentOf(answer) },
    ]),
  );
}

function contentOf(answer: Route["answers"][number]): Pick<ZodOpenApiResponseObject, "content"> {
  if (answer === "empty") return {};
  if (answer === "bytes")
    return { content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } } };
  if (answer === "stream") return { content: { "text/event-stream": { schema: { type: "string" } } } };
  return { content: { "application/json": { schema: answer } } };
}

/** The problems of a route by status, with those of every operation like it. */
function routeProblems(route: Route & { readonly role: string }): {
  readonly [status: string]: string;
} {
  return {
    ...PROBLEMS.every,
    ...(route.role === "anyone" ? {} : PROBLEMS.known),
    ...PROBLEMS.role,
    ...(route.body === undefined ? {} : PROBLEMS.body),
    ...PROBLEMS.busy,
    ...route.problems,
  };
}

const SHARED: { readonly [status: string]: string } = Object.assign({}, ...Object.values(PROBLEMS));

function problems(route: Route & { readonly role: string }): ZodOpenApiOperationObject["responses"] {
  return Object.fromEntries(
    Object.entries(routeProblems(route)).map(([status, description]) => [
      status,
      SHARED[status] === description
        ? { $ref: `#/components/responses/Problem${status}` }
        : problemResponse(description),
    ]),
  );
}

function sharedProblems(): { readonly [name: string]: ZodOpenApiResponseObject } {
  return Object.fromEntries(
    Object.entries(SHARED).map(([status, description]) => [`Problem${status}`, problemResponse(description)]),
  );
}

function problemResponse(description: string): ZodOpenApiResponseObject {
  return { description, content: { "application/problem+json": { schema: problem } } };
}

function packageVersion(): string {
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string })
    .version;
}

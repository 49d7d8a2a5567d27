import { z } from "zod";
import type { Json } from "../../core/json.ts";
import type { Route } from "../api/routes.ts";
import { HttpProblem } from "../http-problem.ts";
import { type BodyLimits, readJson } from "./request-body.ts";

/** A request, decoded and validated by the schemas of its route. */
export type DecodedInput = {
  readonly params: { readonly [name: string]: string };
  readonly query: unknown;
  readonly headers: unknown;
  readonly body: unknown;
};

/** Decodes the values of a path: each `{name}` is one percent-encoded segment, which may have `/`, `#` and `~` in it. */
export function pathParams(template: string, path: string): DecodedInput["params"] {
  const segments = path.split("/");
  const named = template.split("/").flatMap((part, index) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    return name === undefined ? [] : [[name, decodeSegment(segments[index] ?? "")] as const];
  });
  return Object.fromEntries(named);
}

function decodeSegment(segment: string): string {
  try {
    const decoded = decodeURIComponent(segment);
    if (decoded !== "" && !decoded.includes("\0")) return decoded;
  } catch {
    // Answered below.
  }
  throw new HttpProblem(
    400,
    "bad_path",
    `${JSON.stringify(segment.slice(0, 100))} in the path is no encoded id: encode each id with encodeURIComponent.`,
  );
}

/** Everything else of a request. An operation without a body takes none. */
export async function readInput(
  route: Pick<Route, "query" | "headers" | "body"> & { readonly method: string; readonly path: string },
  request: Request,
  limits: BodyLimits,
): Promise<DecodedInput> {
  const url = new URL(request.url);
  return {
    params: pathParams(route.path, url.pathname),
    query: readQuery(route.query, url.searchParams),
    headers: readHeaders(route.headers, request.headers),
    body: route.method === "GET" ? undefined : readBody(route.body, await readJson(request, limits)),
  };
}

/** Unknown names are refused: a filter that is misspelt would show everything. */
function readQuery(schema: z.ZodObject | undefined, given: URLSearchParams): unknown {
  const named = Object.fromEntries(
    [...new Set(given.keys())].map((name) => {
      const all = given.getAll(name);
      return [name, all.length === 1 ? all[0] : all];
    }),
  );
  for (const [name, value] of Object.entries(named)) assertOnce(name, value, schema?.shape[name]);
  const query = checked((schema ?? z.object({})).strict(), named, { part: "query", status: 400 });
  return schema === undefined ? undefined : query;
}

/** Which of two values counts is not for the server to guess. Lists are made of any number of them. */
function assertOnce(name: string, value: string | string[] | undefined, field: unknown): void {
  if (!Array.isArray(value) || field === undefined || field instanceof z.ZodPipe) return;
  const detail = `it is given ${value.length} times: give it once`;
  throw misfit(400, [{ pointer: `/query/${escaped(name)}`, detail }]);
}

function readHeaders(schema: z.ZodObject | undefined, given: Headers): unknown {
  if (schema === undefined) return undefined;
  const named = Object.keys(schema.shape).flatMap((name) => {
    const value = given.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return checked(schema, Object.fromEntries(named), { part: "headers", status: 400 });
}

/** No body is an empty object: most bodies have only optional parts. */
function readBody(schema: z.ZodType | undefined, given: Json | undefined): unknown {
  if (schema !== undefined) return checked(schema, given ?? {}, { part: "body", status: 422 });
  checked(z.strictObject({}), given ?? {}, { part: "body", status: 422 });
  return undefined;
}

function checked(
  schema: z.ZodType,
  given: unknown,
  { part, status }: { readonly part: "query" | "headers" | "body"; readonly status: 400 | 422 },
): unknown {
  const result = schema.safeParse(given, { error: inPlainWords });
  if (result.success) return result.data;
  const errors = result.error.issues.slice(0, 50).map(({ path, message }) => ({
    pointer: ["", part, ...path].map((each) => escaped(String(each))).join("/"),
    detail: message,
  }));
  throw misfit(status, errors);
}

function misfit(status: 400 | 422, errors: HttpProblem["errors"]): HttpProblem {
  const [first] = errors;
  return new HttpProblem(
    status,
    "invalid_request",
    `The request does not fit at ${first?.pointer.slice(1) ?? "its body"}: ${first?.detail ?? "it is not what the operation takes"}; /openapi.json describes what it takes.`,
    { errors },
  );
}

/** Zod speaks of values that were received, and names `undefined` and `NaN`. What is rare is in its own words. */
function inPlainWords(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") {
    if (issue.input === undefined) return "it is missing";
    return Number.isNaN(issue.input) ? "it is not a number" : `it is not of the type ${issue.expected}`;
  }
  if (issue.code === "too_small") {
    if (issue.origin === "string" && issue.minimum === 1) return "it is empty";
    return `it is less than ${amountOf(issue.origin, issue.minimum)}`;
  }
  return issue.code === "too_big" ? `it is more than ${amountOf(issue.origin, issue.maximum)}` : undefined;
}

const UNITS: { readonly [origin: string]: string } = { string: " characters", array: " items" };

function amountOf(origin: string, bound: number | bigint): string {
  return `${bound}${UNITS[origin] ?? ""}`;
}

/** A part of a JSON Pointer (RFC 6901). */
function escaped(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

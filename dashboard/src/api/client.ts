import type { z } from "zod";
import { OPERATIONS, type OperationId } from "../../../src/server/api/operations.ts";
import type { routes } from "../../../src/server/api/routes.ts";
import { PawlProblem, problemOf } from "./problem.ts";

type Routes = typeof routes;
type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** A query as the server reads it, with what it has a usual value for left out at will. */
type Query<Q extends z.ZodType> = {
  [K in keyof z.output<Q> as K extends keyof z.input<Q>
    ? undefined extends z.input<Q>[K]
      ? never
      : K
    : never]: z.output<Q>[K];
} & { [K in keyof z.output<Q>]?: z.output<Q>[K] | undefined };

type QueryOf<Id extends OperationId> = Routes[Id] extends { readonly query: infer Q extends z.ZodType }
  ? Query<Q>
  : unknown;

/** The names of the path and the query in one object. */
export type Input<Id extends OperationId> = { [Name in PathNames<Routes[Id]["path"]>]: string } & QueryOf<Id>;

type Body<Id extends OperationId> = Routes[Id] extends { readonly body: infer B extends z.ZodType }
  ? z.input<B>
  : undefined;

type AnswerOf<A> = A extends z.ZodType ? z.output<A> : A extends "empty" ? undefined : Response;

/** The document that an operation answers with. */
export type Answer<Id extends OperationId> = AnswerOf<Routes[Id]["answers"][keyof Routes[Id]["answers"]]>;

type RequestOptions = { readonly signal?: AbortSignal };

type Given<Id extends OperationId> =
  Record<never, never> extends Input<Id> ? [input?: Input<Id>] : [input: Input<Id>];

type Call<Id extends OperationId> = Routes[Id]["method"] extends "GET" | "DELETE"
  ? (...given: [...Given<Id>, options?: RequestOptions]) => Promise<Answer<Id>>
  : Body<Id> extends undefined
    ? (...given: [...Given<Id>, body?: undefined, options?: RequestOptions]) => Promise<Answer<Id>>
    : (input: Input<Id>, body: Body<Id>, options?: RequestOptions) => Promise<Answer<Id>>;

/** One method an operation of the API. */
export type Client = { readonly [Id in OperationId]: Call<Id> };

export type ClientOptions = {
  readonly baseUrl: string;
  readonly token?: string;
  readonly fetch?: typeof fetch;
};

/** A client of the API. Its types are those of the route table; it needs no schema while it runs. */
export function createClient(options: ClientOptions): Client {
  const methods = Object.keys(OPERATIONS).map((id) => [id, methodOf(id as OperationId, options)]);
  return Object.fromEntries(methods) as Client;
}

type Values = { readonly [name: string]: unknown };

function methodOf(id: OperationId, { baseUrl, token, fetch: given }: ClientOptions) {
  const { method } = OPERATIONS[id];
  const isRead = method === "GET" || method === "DELETE";
  return async (input: Values = {}, second?: unknown, third?: RequestOptions): Promise<unknown> => {
    const body = isRead ? undefined : second;
    const { signal } = (isRead ? (second as RequestOptions | undefined) : third) ?? {};
    const response = await (given ?? fetch)(baseUrl + pathOf(id, input), {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (!response.ok) throw await problemOf(response);
    return contentOf(response);
  };
}

async function contentOf(response: Response): Promise<unknown> {
  if (response.status === 204) return undefined;
  const type = response.headers.get("content-type") ?? "";
  return type.startsWith("application/json") ? response.json() : response;
}

/** The path and query of an operation. */
export function pathOf(id: OperationId, input: Values): string {
  const { path } = OPERATIONS[id];
  const inPath = new Set<string>();
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name);
    const value = input[name];
    if (typeof value !== "string" || value === "") {
      throw new PawlProblem({ status: 0, code: "configuration", detail: `${id} needs a ${name}.` });
    }
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(input)) {
    if (inPath.has(name) || value === undefined || value === null) continue;
    for (const each of Array.isArray(value) ? value : [value]) query.append(name, String(each));
  }
  return query.size === 0 ? filled : `${filled}?${query.toString()}`;
}

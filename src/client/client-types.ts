import type { z } from "zod";
import type { OperationId } from "../server/api/operations.ts";
import type { routes } from "../server/api/routes.ts";
import type { liveEvent } from "../server/api/schemas/live.ts";

// The types of the client, from the route table. Only types: nothing of the table is part of the client's code.

type ApiRoutes = typeof routes;

type PathNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathNames<Rest>
  : never;

/** The values of a query as they are used, each optional if it may be left out. */
type QueryOf<Id extends OperationId> = ApiRoutes[Id] extends { readonly query: infer Q extends z.ZodObject }
  ? {
      readonly [Name in keyof z.output<Q> as undefined extends z.input<Q>[Name & keyof z.input<Q>]
        ? never
        : Name]: z.output<Q>[Name];
    } & {
      readonly [Name in keyof z.output<Q> as undefined extends z.input<Q>[Name & keyof z.input<Q>]
        ? Name
        : never]?: z.output<Q>[Name];
    }
  : unknown;

type IdempotencyOf<Id extends OperationId> = ApiRoutes[Id] extends {
  readonly headers: z.ZodObject<{ readonly "idempotency-key": z.ZodType }>;
}
  ? { readonly idempotencyKey: string }
  : unknown;

/** What is in the address and the headers: the ids in the path, and the query. */
export type OperationParams<Id extends OperationId> = {
  readonly [Name in PathNames<ApiRoutes[Id]["path"]>]: string;
} & QueryOf<Id> &
  IdempotencyOf<Id>;

type BodyOf<Id extends OperationId> = ApiRoutes[Id] extends { readonly body: infer B extends z.ZodType }
  ? z.input<B>
  : never;

type AnswerOf<A> = A extends z.ZodType ? z.output<A> : A extends "empty" ? undefined : Response;

/** What an operation returns: a document, nothing, or the response itself if its body is bytes or a stream. */
export type OperationResult<Id extends OperationId> = AnswerOf<
  ApiRoutes[Id]["answers"][keyof ApiRoutes[Id]["answers"]]
>;

/** Ends a request, or a stream. */
export type Abortable = { readonly signal?: AbortSignal };

type HasBody<Id extends OperationId> = [BodyOf<Id>] extends [never] ? false : true;
type NeedsParams<Id extends OperationId> = Record<never, never> extends OperationParams<Id> ? false : true;

/** The function of an operation: what is in its address, and then its body if it has one. */
export type OperationCall<Id extends OperationId> =
  HasBody<Id> extends true
    ? (params: OperationParams<Id> & Abortable, body: BodyOf<Id>) => Promise<OperationResult<Id>>
    : NeedsParams<Id> extends true
      ? (params: OperationParams<Id> & Abortable) => Promise<OperationResult<Id>>
      : (params?: OperationParams<Id> & Abortable) => Promise<OperationResult<Id>>;

/** Operations that are read event by event. */
export type StreamedId = "stream" | "watchRun";

/** What `client.stream` yields: heads, counts and waits of all runs, and the log of one. */
export type ServerEvent = z.output<typeof liveEvent>;

/** An event of a run as it happens: see `runner.watch`. Ignore types that you do not know. */
export type WatchedEvent = { readonly type: string; readonly [field: string]: unknown };

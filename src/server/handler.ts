import type { z } from "zod";
import type { AuditEntry } from "../store/store.ts";
import type { OperationId } from "./api/operations.ts";
import type { routes } from "./api/routes.ts";
import type { Principal } from "./principal.ts";

type RouteTable = typeof routes;

/** The names in the braces of a path. */
type ParameterNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterNames<Rest>
  : never;

/** What a handler gets of a request, validated and decoded. */
type HandlerInput<Id extends OperationId> = {
  readonly params: { readonly [Name in ParameterNames<RouteTable[Id]["path"]>]: string };
  readonly query: RouteTable[Id] extends { readonly query: infer Q extends z.ZodType }
    ? z.output<Q>
    : undefined;
  readonly headers: RouteTable[Id] extends { readonly headers: infer H extends z.ZodType }
    ? z.output<H>
    : undefined;
  readonly body: RouteTable[Id] extends { readonly body: infer B extends z.ZodType }
    ? z.output<B>
    : undefined;
};

/** Who asks, and how to reach them. */
type HandlerContext<Id extends OperationId> = {
  /** Null only for operations that anyone may call. */
  readonly principal: RouteTable[Id]["role"] extends "anyone" ? Principal | null : Principal;
  /** Its body was read already, unless the operation takes none. */
  readonly request: Request;
  readonly requestId: string;
  /** Contents are hidden from them: what a search finds by contents would show them. */
  readonly isContentHidden: boolean;
  /** For an error that no one expected and that does not end the request: it belongs in the log of the server. */
  readonly report: (error: unknown) => void;
};

/** One of the acts of a request. */
export type PartialAct = Pick<AuditEntry, "act" | "target" | "status" | "problem">;

/** What a handler makes: lists and documents that nothing changes any more. */
type Made<T> = T extends readonly (infer Item)[]
  ? readonly Made<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Made<T[Name]> }
    : T;

type AnswersOf<Id extends OperationId> = RouteTable[Id]["answers"];

/** The statuses and documents that an operation may answer with. */
type HandlerAnswer<Id extends OperationId> =
  | {
      [Status in keyof AnswersOf<Id>]: AnswersOf<Id>[Status] extends infer A
        ? A extends z.ZodType
          ? {
              readonly status: Status;
              readonly body: Made<z.input<A>>;
              readonly headers?: Readonly<Record<string, string>>;
              /** For the audit log, if it was several acts with an outcome each. */
              readonly acts?: readonly PartialAct[];
            }
          : never
        : never;
    }[keyof AnswersOf<Id>]
  /** Bytes, streams and empty answers. */
  | Response
  /** The same for the audit log, if it was several acts with an outcome each. */
  | { readonly response: Response; readonly acts: readonly PartialAct[] };

/** Does what an operation is for. Throws a `PawlError` or an `HttpProblem` for everything else. */
type Handler<Id extends OperationId> = (
  input: HandlerInput<Id>,
  context: HandlerContext<Id>,
) => Promise<HandlerAnswer<Id>>;

/** A handler for every operation of some rooms of the API. */
export type Handlers<Ids extends OperationId = OperationId> = { readonly [Id in Ids]: Handler<Id> };

import { z } from "zod";
import { cursorQuery, limitQuery } from "./schemas/field-schemas.ts";

/** What an operation takes and returns. */
export type Route = {
  readonly tag:
    | "runs"
    | "acts"
    | "waits"
    | "reports"
    | "workers"
    | "access"
    | "webhooks"
    | "live"
    | "chat"
    | "server";
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  readonly headers?: z.ZodObject;
  /** By status. A schema is JSON; `bytes` and `stream` (server-sent events) are not. */
  readonly answers: { readonly [status: number]: z.ZodType | "bytes" | "stream" | "empty" };
  /** The problems that are its own, beside those of every operation. */
  readonly problems?: { readonly [status: number]: string };
};

// What several routes have in common.

export const since = { since: z.iso.datetime().optional(), until: z.iso.datetime().optional() };
export const paged = (most: number, usual: number) =>
  z.object({ ...cursorQuery, ...limitQuery(most, usual) });
export const NOT_FOUND = { 404: "There is no such run, or it is outside of your scope." };
export const SETTLED = {
  404: "There is no such wait.",
  409: "It was answered already, or is not what was shown.",
};
/** Where a stream continues. A browser sends it by itself. */
export const LAST_EVENT_ID = z.object({
  "last-event-id": z
    .string()
    .max(2_000)
    .optional()
    .meta({ description: "The id of the last event that was received." }),
});

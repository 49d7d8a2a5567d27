import type { z } from "zod";
import { canonicalHash } from "../../core/canonical-json.ts";
import type { Json } from "../../core/json.ts";
import { HttpProblem } from "../http-problem.ts";

/** The list that a cursor belongs to: its name and its filters. */
export type ListIdentity = { readonly [name: string]: Json | undefined };

const VERSION = 1;

/** A place in a list as a text that means nothing to others, bound to the list and its filters. */
export function listCursor(place: Json, list: ListIdentity): string {
  const text = JSON.stringify({ v: VERSION, place, filter: hashOf(list) });
  return Buffer.from(text).toString("base64url");
}

/** The place of a cursor; undefined if none was given. */
export function placeInList<T>(
  cursor: string | undefined,
  list: ListIdentity,
  schema: z.ZodType<T>,
): T | undefined {
  if (cursor === undefined) return undefined;
  const { v, place, filter } = parsed(cursor);
  const known = v === VERSION ? schema.safeParse(place) : undefined;
  if (known?.success !== true)
    throw new HttpProblem(
      400,
      "cursor_invalid",
      "The cursor is none of this server: leave it out to begin again.",
    );
  if (filter !== hashOf(list))
    throw new HttpProblem(
      400,
      "cursor_of_another_list",
      "The cursor belongs to another list or to other filters: leave it out to begin again.",
    );
  return known.data;
}

function parsed(cursor: string): {
  readonly v?: unknown;
  readonly place?: unknown;
  readonly filter?: unknown;
} {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function hashOf(list: ListIdentity): string {
  const given = Object.fromEntries(Object.entries(list).filter(([, value]) => value !== undefined));
  return canonicalHash(given).toString("base64url").slice(0, 16);
}

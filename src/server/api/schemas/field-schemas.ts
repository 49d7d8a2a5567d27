import { z } from "zod";
import type { Json } from "../../../core/json.ts";

// What the documents of the API have in common. Times are ISO 8601, money is in integer micro-dollars, hashes are hex.

export const time = z.iso.datetime().meta({ description: "ISO 8601, in UTC." });
export const optionalTime = time.nullable();
export const json: z.ZodType<Json, Json> = z.json();

export const amount = z
  .object({ tokens: z.int(), microDollars: z.int() })
  .meta({ id: "Amount", description: "Tokens, and millionths of a dollar." });

export const limit = z
  .object({ tokens: z.int().nullable(), microDollars: z.int().nullable() })
  .meta({ id: "Limit", description: "The most that a run may use; null for no limit." });

export const usage = z
  .object({
    inputTokens: z.int(),
    outputTokens: z.int(),
    cachedInputTokens: z.int(),
    reasoningTokens: z.int(),
  })
  .meta({ id: "Usage", description: "What the provider reported; 0 for what it did not report." });

export const metadata = z
  .record(z.string(), z.union([z.string(), z.array(z.string())]))
  .meta({ id: "Metadata", description: "What a run can be found by, such as a tenant." });

export const decision = z
  .object({
    name: z.string(),
    at: time,
    authenticated: z.object({ name: z.string(), by: z.string(), id: z.string().optional() }).nullable(),
  })
  .meta({ id: "Decision", description: "A person's part in an answer, as it is recorded." });

/** A page of a list, with the cursor of the next one. */
export function pageOf<T extends z.ZodType>(item: T, id: string) {
  return z
    .object({
      items: z.array(item),
      nextCursor: z
        .string()
        .nullable()
        .meta({ description: "Give it as `cursor` for the next page; null at the end." }),
      asOf: time.meta({ description: "The time of the server when it read them." }),
    })
    .meta({ id, description: "A page of a list." });
}

export const cursorQuery = {
  cursor: z.string().max(2_000).optional().meta({ description: "The `nextCursor` of the page before." }),
};

export const limitQuery = (most: number, usual: number) => ({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(most)
    .default(usual)
    .meta({ description: "How many at the most." }),
});

/** A value that may be given several times, or once with commas. */
export function listQuery<T extends z.ZodType<unknown, string>>(item: T) {
  return z.preprocess(
    (given) =>
      given === undefined
        ? undefined
        : (Array.isArray(given) ? given : [given]).flatMap((each) => String(each).split(",")),
    z.array(item).max(50).optional(),
  );
}

export const problem = z
  .object({
    type: z.string().meta({ description: "`urn:pawl:problem:<code>`." }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: "What happened, to what, and what to do next." }),
    instance: z.string().meta({ description: "The request, as the server's log names it." }),
    code: z.string(),
    recoverable: z.boolean().meta({ description: "True if the same request may succeed later." }),
    errors: z
      .array(z.object({ pointer: z.string(), detail: z.string() }))
      .optional()
      .meta({ description: "What is wrong with which part of the request." }),
    details: z.record(z.string(), json).optional(),
  })
  .meta({ id: "Problem", description: "An error, by RFC 9457." });

/** What is done about many runs at once is done about at most this many. */
export const manyRunIds = z.array(z.string().min(1).max(200)).min(1).max(500);

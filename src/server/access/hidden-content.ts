import { z } from "zod";
import type { Json } from "../../core/json.ts";
import { isJsonList, isJsonObject } from "../../core/json.ts";

/**
 * Texts that models, tools and people write, by the name of their field, and hashes of their values: a reader who has the hash of an
 * order number can try them all. Every other text of a document is a name, an id, the hash of a file or an event, a time or a
 * word of Pawl's own. A test holds both lists against the route table.
 */
export const WRITTEN_TEXTS: ReadonlySet<string> = new Set([
  "argumentsHash",
  "changesHash",
  "choices",
  "detail",
  "distrusted",
  "errorDetail",
  "errorMessage",
  "idempotencyKey",
  "identityHash",
  "inputHash",
  "later",
  "message",
  "newestMessage",
  "objective",
  "question",
  "reason",
  "remedy",
  "story",
  "suggested",
  "text",
  "waits",
  "what",
  "why",
  "whyNot",
]);

/**
 * A document for people who may see that something happened, and not what it says: values of the user's own become their
 * shape and size, by the schema of the document. What the schema does not have is left out.
 */
export function withoutContent(schema: z.ZodType, document: unknown): unknown {
  if (document === null || document === undefined) return document;
  // Any JSON value: the only schema that names itself.
  if (schema instanceof z.ZodLazy) return shapeOf(document as Json);
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return withoutContent(schema.unwrap() as z.ZodType, document);
  if (schema instanceof z.ZodArray && Array.isArray(document))
    return document.map((item) => withoutContent(schema.element as z.ZodType, item));
  if (schema instanceof z.ZodRecord) return document;
  if (schema instanceof z.ZodUnion) {
    const fitting = schema.options.find((option) => (option as z.ZodType).safeParse(document).success);
    return fitting === undefined ? shapeOf(document as Json) : withoutContent(fitting as z.ZodType, document);
  }
  if (schema instanceof z.ZodObject)
    return withoutFields(schema, document as { readonly [name: string]: unknown });
  return document;
}

function withoutFields(schema: z.ZodObject, document: { readonly [name: string]: unknown }): unknown {
  const shown = Object.entries(schema.shape).flatMap(([name, field]) => {
    if (!(name in document)) return [];
    const value = document[name];
    return [
      [
        name,
        WRITTEN_TEXTS.has(name)
          ? withoutTexts(field as z.ZodType, value)
          : withoutContent(field as z.ZodType, value),
      ],
    ];
  });
  return Object.fromEntries(shown);
}

/** A text, or a list of texts; a field of the same name that is neither is like any other. */
function withoutTexts(field: z.ZodType, value: unknown): unknown {
  if (typeof value === "string") return shapeOf(value);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.map(shapeOf);
  return withoutContent(field, value);
}

/** Fields of events that have no schema of their own, and say nothing of what was written. */
const PLAIN_FIELDS: ReadonlySet<string> = new Set(
  "type runId cursor step tool toolCallId providerCallId waitId kind status outcome messageId partId code".split(
    " ",
  ),
);

/** Fields that hold values of the user's own, of any kind. */
const OPEN_FIELDS: ReadonlySet<string> = new Set("answer body input output result subject".split(" "));

/** The same for an event of a run as it happens: numbers, and the fields that are known to be no content. */
export function withoutEventContent(event: Json): Json {
  if (isJsonList(event)) return event.map(withoutEventContent);
  if (!isJsonObject(event)) return typeof event === "string" ? shapeOf(event) : event;
  return Object.fromEntries(
    Object.entries(event).map(([name, value]) => [
      name,
      OPEN_FIELDS.has(name)
        ? shapeOf(value)
        : PLAIN_FIELDS.has(name) && typeof value === "string"
          ? value
          : eventField(value),
    ]),
  );
}

function eventField(value: Json): Json {
  if (typeof value !== "object" || value === null) return typeof value === "string" ? shapeOf(value) : value;
  return isJsonList(value)
    ? value.map((item) => (isJsonObject(item) ? withoutEventContent(item) : shapeOf(item)))
    : shapeOf(value);
}

/** What a value is and how large, without its contents. The names of fields may be contents too. */
export function shapeOf(value: Json): Json {
  if (value === null) return null;
  if (typeof value === "string") return `(hidden: a text of ${value.length} characters)`;
  if (isJsonList(value)) return value.map(shapeOf);
  if (!isJsonObject(value)) return `(hidden: a ${typeof value})`;
  return `(hidden: an object of ${Object.keys(value).length} fields, ${JSON.stringify(value).length} characters)`;
}

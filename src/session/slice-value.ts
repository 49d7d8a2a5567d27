import { z } from "zod";
import { ConfigurationError, NotJsonError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { frozenJson } from "./frozen-json.ts";
import type { Slice } from "./slice.ts";

/** `path` says where the value does not fit: `plan.steps.0.title`. */
export type CheckedValue =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly path: string; readonly why: string };

/**
 * The slice that each value was let into. Such a value is frozen, so it still fits, and it is taken as it is: `===` is how
 * changes are found, and a value that a reducer passes on, or a snapshot brings back, is no change.
 */
const letIn = new WeakMap<object, Slice>();

/** Whether a value fits its slice. What is kept is a frozen copy as its schema reads it, defaults filled. */
export function checkValue(slice: Slice, value: unknown, index: number, length: number): CheckedValue {
  if (isObject(value) && letIn.get(value) === slice) return { ok: true, value: value as Json };
  const checked = checkNewValue(slice, value, index, length);
  if (checked.ok && isObject(checked.value)) letIn.set(checked.value, slice);
  return checked;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function checkNewValue(slice: Slice, value: unknown, index: number, length: number): CheckedValue {
  const root = length > 1 ? `${slice.name}.${index}` : slice.name;
  const parsed = parse(slice, value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = [root, ...(issue?.path ?? []).map(String)].join(".");
    return { ok: false, path, why: issue?.message ?? "it does not fit" };
  }
  try {
    return { ok: true, value: frozenJson(parsed.data, root) };
  } catch (error) {
    if (!NotJsonError.isInstance(error)) throw error;
    return {
      ok: false,
      path: `${root}${error.details.path.slice(1)}`,
      why: error.message.replace(/\.$/, ""),
    };
  }
}

function parse(slice: Slice, value: unknown): z.ZodSafeParseResult<unknown> {
  try {
    return slice.schema.safeParse(value);
  } catch (error) {
    if (!(error instanceof z.core.$ZodAsyncError)) throw error;
    throw new ConfigurationError(
      `The schema of slice ${slice.name} has to be awaited, and a dispatch does not wait: take its asynchronous check out.`,
      { slice: slice.name },
      { cause: error },
    );
  }
}

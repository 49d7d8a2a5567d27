import { z } from "zod";
import { ConfigurationError, NotJsonError } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { frozenJson } from "./frozen-json.ts";
import type { Slice } from "./slice.ts";

/** The result of checking a value; `path` is where it does not fit: `plan.steps.0.title`. */
export type CheckedValue =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly path: string; readonly why: string };

/**
 * The slice that accepted each value. Such a value is frozen, so it still fits, and is used as it is: changes are found by
 * `===`, and a value that a reducer passes on, or a snapshot restores, is no change.
 */
const accepted = new WeakMap<object, Slice>();

/** Checks a value against the schema of its slice. The accepted value is a frozen copy with defaults filled in. */
export function checkValue(slice: Slice, value: unknown, index: number, length: number): CheckedValue {
  if (isObject(value) && accepted.get(value) === slice) return { ok: true, value: value as Json };
  const checked = checkNewValue(slice, value, index, length);
  if (checked.ok && isObject(checked.value)) accepted.set(checked.value, slice);
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
      `The schema of slice ${slice.name} is asynchronous, and a dispatch cannot wait: remove its asynchronous check.`,
      { slice: slice.name },
      { cause: error },
    );
  }
}

/** An error of unknown origin: no field has a known type. */
export type UnknownError = {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly syscall?: unknown;
  readonly statusCode?: unknown;
  readonly responseHeaders?: unknown;
  readonly responseBody?: unknown;
  readonly data?: unknown;
  readonly issues?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
};

/** More than any real chain of causes has. */
const MAX_CAUSES = 30;

/** The error and all its causes, from the outermost to the root; members of an AggregateError included. */
export function* causesOf(error: unknown): Generator<UnknownError> {
  const waiting: unknown[] = [error];
  const seen = new Set<unknown>();
  while (waiting.length > 0 && seen.size < MAX_CAUSES) {
    const current = waiting.shift();
    if (!isUnknownError(current) || seen.has(current)) continue;
    seen.add(current);
    yield current;
    waiting.push(current.cause, ...membersOf(current.errors));
  }
}

function membersOf(errors: unknown): readonly unknown[] {
  return Array.isArray(errors) ? errors : [];
}

function isUnknownError(value: unknown): value is UnknownError {
  return typeof value === "object" && value !== null;
}

export function messageOf(error: unknown): string {
  if (typeof error === "string") return error;
  return isUnknownError(error) && typeof error.message === "string" ? error.message : String(error);
}

/** More errors than a well-behaved library chains. */
const MAX_ERRORS = 100;

/**
 * Applies `hide` to an error in place: its message, its stack and all other fields, and the same for its causes. Errors of
 * libraries carry requests and responses.
 */
export function redactError(error: Error, hide: (value: unknown) => unknown): void {
  const queue: Error[] = [error];
  const seen = new Set<Error>(queue);
  const enqueue = (value: unknown): boolean => {
    if (!(value instanceof Error)) return false;
    if (!seen.has(value) && seen.size < MAX_ERRORS) queue.push(value);
    seen.add(value);
    return true;
  };
  for (let each = queue.shift(); each !== undefined; each = queue.shift())
    for (const key of Reflect.ownKeys(each)) {
      const field = Reflect.getOwnPropertyDescriptor(each, key);
      const value: unknown = field === undefined || key === "stack" ? Reflect.get(each, key) : field.value;
      if (enqueue(value) || (key === "errors" && isListOfErrors(value) && value.every(enqueue))) continue;
      const hidden = hide(value);
      if (hidden !== value)
        replaceField(each, key, { value: hidden, enumerable: field?.enumerable === true });
    }
}

function isListOfErrors(value: unknown): value is readonly Error[] {
  return Array.isArray(value) && value.every((each) => each instanceof Error);
}

/** By defining, since some fields of platform errors cannot be assigned. A frozen field stays as it is. */
function replaceField(
  error: Error,
  key: string | symbol,
  field: { readonly value: unknown; readonly enumerable: boolean },
): void {
  Reflect.defineProperty(error, key, { ...field, writable: true, configurable: true });
}

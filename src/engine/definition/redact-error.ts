/** More than any honest error has around it. */
const MOST_ERRORS = 100;

/**
 * Hides in all that an error says: its message, its stack, and whatever fields those who made it, or what caused it, have put
 * there. Errors of libraries carry requests and answers.
 */
export function redactError(error: Error, hide: (value: unknown) => unknown): void {
  const waiting: Error[] = [error];
  const seen = new Set<Error>(waiting);
  const further = (value: unknown): boolean => {
    if (!(value instanceof Error)) return false;
    if (!seen.has(value) && seen.size < MOST_ERRORS) waiting.push(value);
    seen.add(value);
    return true;
  };
  for (let each = waiting.shift(); each !== undefined; each = waiting.shift())
    for (const key of Reflect.ownKeys(each)) {
      const field = Reflect.getOwnPropertyDescriptor(each, key);
      const value: unknown = field === undefined || key === "stack" ? Reflect.get(each, key) : field.value;
      if (further(value) || (key === "errors" && isListOfErrors(value) && value.every(further))) continue;
      const hidden = hide(value);
      if (hidden !== value)
        replaceField(each, key, { value: hidden, enumerable: field?.enumerable === true });
    }
}

function isListOfErrors(value: unknown): value is readonly Error[] {
  return Array.isArray(value) && value.every((each) => each instanceof Error);
}

/** Defined, for what the platform throws has fields that cannot be assigned to. One that is frozen loses all it can. */
function replaceField(
  error: Error,
  key: string | symbol,
  field: { readonly value: unknown; readonly enumerable: boolean },
): void {
  Reflect.defineProperty(error, key, { ...field, writable: true, configurable: true });
}

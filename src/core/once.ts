/** Makes a value when it is first asked for, and keeps it. For what takes time to make, and not every program needs. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

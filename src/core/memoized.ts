const MAX_ENTRIES = 1_000;

/**
 * The same function of a text, which works each text out once: rules are the same few for every call. It forgets them all where
 * they are many, so that nobody fills the memory with texts of their own.
 */
export function memoized<T>(work: (text: string) => T): (text: string) => T {
  const known = new Map<string, { readonly value: T }>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found.value;
    const value = work(text);
    if (known.size >= MAX_ENTRIES) known.clear();
    known.set(text, { value });
    return value;
  };
}

const MAX_ENTRIES = 1_000;

/**
 * The same function, computed once per text: every call is checked against the same few rules. The cache is cleared when it
 * is full, so that texts from outside cannot fill the memory.
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

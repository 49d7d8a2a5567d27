/** A key of the dashboard: one, or two after each other such as `g r`. */
export type KeyBinding = {
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
};

/** How long the first key of two is remembered. */
const TOGETHER_MS = 1_200;

export type Pressed = { readonly key: string; readonly at: number };

/** The binding that a key completes, and the first key of two that is remembered. */
export function pressKey(
  bindings: readonly KeyBinding[],
  first: Pressed | null,
  { key, at }: Pressed,
): { readonly binding: KeyBinding | null; readonly first: Pressed | null } {
  const isTogether = first !== null && at - first.at <= TOGETHER_MS;
  // The last one counts: a page may give a key another meaning than the shell.
  const named = (keys: string): KeyBinding | null => bindings.findLast((each) => each.keys === keys) ?? null;
  const both = isTogether ? named(`${first.key} ${key}`) : null;
  if (both !== null) return { binding: both, first: null };
  const isFirst = bindings.some(({ keys }) => keys.startsWith(`${key} `));
  return isFirst ? { binding: null, first: { key, at } } : { binding: named(key), first: null };
}

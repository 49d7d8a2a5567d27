// The address of a page is its state: what is filtered, shown and selected can be sent to somebody, and `back` works.

/** How one parameter is read and written. Null, or the usual value, is left out of the address. */
export type Param<T> = {
  readonly read: (given: string | null) => T;
  readonly write: (value: T) => string | null;
};

type Params = { readonly [name: string]: Param<never> };
export type AnyParams = { readonly [name: string]: { readonly read: (given: string | null) => unknown } };
export type ParamValues<P extends AnyParams> = { readonly [Name in keyof P]: ReturnType<P[Name]["read"]> };

/** Any text; empty if it is not given. */
export const text: Param<string> = { read: (given) => given ?? "", write: (value) => value || null };

/** A text that may be missing. */
export const optional: Param<string | null> = {
  read: (given) => (given === "" ? null : given),
  write: (value) => value,
};

/** Any words, without commas. */
export const words: Param<readonly string[]> = {
  read: (given) => (given ?? "").split(",").filter((word) => word !== ""),
  write: (value) => (value.length === 0 ? null : value.join(",")),
};

export const flag: Param<boolean> = {
  read: (given) => given === "1",
  write: (value) => (value ? "1" : null),
};

/** One of some words. Another one is read as the usual one. */
export function oneOf<const T extends string>(words: readonly T[], usual: NoInfer<T>): Param<T> {
  return {
    read: (given) => words.find((word) => word === given) ?? usual,
    write: (value) => (value === usual ? null : value),
  };
}

/** One of some words, or none. */
export function maybeOneOf<const T extends string>(words: readonly T[]): Param<T | null> {
  return { read: (given) => words.find((word) => word === given) ?? null, write: (value) => value };
}

/** Some of the words, in the order of the words. */
export function someOf<const T extends string>(words: readonly T[]): Param<readonly T[]> {
  return {
    read: (given) => {
      const chosen = new Set((given ?? "").split(","));
      return words.filter((word) => chosen.has(word));
    },
    write: (value) => (value.length === 0 ? null : words.filter((word) => value.includes(word)).join(",")),
  };
}

export function readParams<P extends AnyParams>(params: P, search: string): ParamValues<P> {
  const given = new URLSearchParams(search);
  const values = Object.entries(params).map(([name, param]) => [name, param.read(given.get(name))]);
  return Object.fromEntries(values) as ParamValues<P>;
}

/** The search of an address after a change. Parameters of others stay. */
export function changedSearch<P extends AnyParams>(
  params: P,
  search: string,
  change: Partial<ParamValues<P>>,
): string {
  const given = new URLSearchParams(search);
  for (const [name, value] of Object.entries(change)) {
    // `change` has only names of `params`, each with the type that its own parameter reads.
    const written = (params as unknown as Params)[name]?.write(value as never) ?? null;
    if (written === null) given.delete(name);
    else given.set(name, written);
  }
  return given.size === 0 ? "" : `?${given.toString()}`;
}

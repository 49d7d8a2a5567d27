// The address of a page is its state: what is filtered, shown and selected can be sent to others, and `back` works.

/** How one parameter is read and written. Null, or the usual value, is left out of the address. */
export type Param<T> = {
  readonly read: (given: string | null) => T;
  readonly write: (value: T) => string | null;
};

/** The parameters of a page, by their names. */
export type Params<Values> = { readonly [Name in keyof Values]: Param<Values[Name]> };
export type ParamValues<P> = { readonly [Name in keyof P]: P[Name] extends Param<infer T> ? T : never };

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

export function readParams<Values>(params: Params<Values>, search: string): Values {
  const given = new URLSearchParams(search);
  const values: Partial<Values> = {};
  for (const name in params) values[name] = params[name].read(given.get(name));
  // Each name of `params` has its value.
  return values as Values;
}

/** The search of an address after a change. Parameters of others stay. */
export function changedSearch<Values>(
  params: Params<Values>,
  search: string,
  change: Partial<NoInfer<Values>>,
): string {
  const given = new URLSearchParams(search);
  for (const name in params) {
    const value = change[name];
    if (value === undefined) continue;
    const written = params[name].write(value);
    if (written === null) given.delete(name);
    else given.set(name, written);
  }
  return given.size === 0 ? "" : `?${given.toString()}`;
}

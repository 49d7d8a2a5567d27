/** A record whose times of these names are ISO 8601 instead of milliseconds since 1970. */
export type WithIsoTimes<T, Names extends keyof T> = Omit<T, Names> & {
  readonly [Name in Names]: T[Name] extends number ? string : string | null;
};

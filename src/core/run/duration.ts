const UNITS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** The milliseconds of a text such as `45s`, `30m`, `3h` or `2d`; null if it is none. */
export function parseDuration(text: string): number | null {
  const [, amount = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)\s?([a-z]+)$/.exec(text.trim()) ?? [];
  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
  return factor === undefined ? null : Math.round(Number(amount) * factor);
}

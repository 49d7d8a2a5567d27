const DOLLAR = 1_000_000;

/** Micro-dollars as `$0.0421`: four digits below a hundred dollars, where agents live, and cents above. */
export function moneyWords(microDollars: number): string {
  const dollars = Math.abs(microDollars) / DOLLAR;
  const sign = microDollars < 0 ? "−" : "";
  if (dollars !== 0 && dollars < 0.0001) return `${sign}< $0.0001`;
  const digits = dollars === 0 || dollars >= 100 ? 2 : 4;
  const shown = dollars.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${sign}$${shown}`;
}

/** A limit reads better without digits that say nothing: `$2.50`. */
export function limitWords(microDollars: number): string {
  return (microDollars / 10_000) % 1 === 0
    ? `$${(microDollars / DOLLAR).toLocaleString("en-US", { minimumFractionDigits: 2 })}`
    : moneyWords(microDollars);
}

export function countWords(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 run`, `2 runs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${countWords(count)} ${count === 1 ? one : many}`;
}

export function sizeWords(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, "byte");
  const [divisor, unit] =
    bytes < 1_000_000 ? [1_000, "kB"] : bytes < 1_000_000_000 ? [1_000_000, "MB"] : [1_000_000_000, "GB"];
  return `${(bytes / divisor).toFixed(1)} ${unit}`;
}

const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** A number that has to fit into a column: `29.1K`. */
export function shortCount(count: number): string {
  return COMPACT.format(count);
}

/** How an amount is known. */
export const BASIS_WORDS = {
  provider: "reported by the provider",
  baseline: "no report: its whole reservation",
  none: "free",
} as const;

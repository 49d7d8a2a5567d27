import type { Amount, Usage } from "../core/usage/usage.ts";

/** All digits: charges are exact to a millionth of a dollar. */
export function dollars(microDollars: number): string {
  const [whole = "0", fraction = ""] = (microDollars / 1_000_000).toFixed(6).split(".");
  const figures = fraction.replace(/0+$/, "").padEnd(2, "0");
  return `$${wholeNumber(Number(whole))}.${figures}`;
}

export function wholeNumber(count: number): string {
  return count.toLocaleString("en-US");
}

/** `1 turn`, `2 turns`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${wholeNumber(count)} ${count === 1 ? one : many}`;
}

/** `420 B`, `1.2 kB`, `3.4 MB`. */
export function byteText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const unit = bytes < 999_950 ? "kB" : bytes < 999_950_000 ? "MB" : "GB";
  const size = { kB: 1e3, MB: 1e6, GB: 1e9 }[unit];
  return `${(bytes / size).toFixed(1)} ${unit}`;
}

/** `250 ms`, `1.2 s`, `5 min 3 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, ms)} ms`;
  if (ms < 60_000) return `${Number((Math.floor(ms / 100) / 10).toFixed(1))} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor(ms / 1_000) % 60} s`;
  return `${wholeNumber(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

/** Milliseconds since 1970 as ISO 8601. */
export function isoTime(at: number): string;
export function isoTime(at: number | null): string | null;
export function isoTime(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** The time without the day: `06:21:13.123`. */
export function timeOfDay(at: number): string {
  return isoTime(at).slice(11, -1);
}

/** `10 tokens in (4 of them cached), 5 out`. */
export function usageText(usage: Usage): string {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  const cached = cachedInputTokens === 0 ? "" : ` (${wholeNumber(cachedInputTokens)} of them cached)`;
  const reasoning = reasoningTokens === 0 ? "" : ` (${wholeNumber(reasoningTokens)} of them reasoning)`;
  return `${wholeNumber(inputTokens)} tokens in${cached}, ${wholeNumber(outputTokens)} out${reasoning}`;
}

/** Without dollars if there is no price: then $0 would be wrong. */
export function amountText({ tokens, microDollars }: Amount): string {
  return `${counted(tokens, "token")}${microDollars === 0 ? "" : `, ${dollars(microDollars)}`}`;
}

import { loadavg } from "node:os";

export type Measured = { readonly p50: number; readonly p95: number; readonly samples: number };

export function measured(times: readonly number[]): Measured {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), samples: sorted.length };
}

/** A figure, with how busy the machine was: it explains more than the code where it is high. */
export function report(database: string, what: string, figure: string): void {
  console.log(`${database}: ${what}: ${figure} (load ${loadavg()[0]?.toFixed(1)})`);
}

export function inMs({ p50, p95, samples }: Measured): string {
  return `p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms of ${samples}`;
}

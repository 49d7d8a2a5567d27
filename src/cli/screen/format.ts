import pico from "picocolors";
import type { Json } from "../../core/json.ts";
import { ownProperty } from "../../core/own-property.ts";
import type { CliContext } from "../context/cli-context.ts";
import { cleanLine } from "../context/terminal-text.ts";

export type Paint = ReturnType<typeof pico.createColors>;

/** Colour functions; without colours they return their text unchanged. */
export function paint({ useColour }: Pick<CliContext, "useColour">): Paint {
  return pico.createColors(useColour);
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration in its two largest units: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 05 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  const whole = Math.max(0, ms);
  if (whole < 10 * SECOND_MS) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
  if (whole < MINUTE_MS) return `${Math.floor(whole / SECOND_MS)} s`;
  if (whole < HOUR_MS) return `${Math.floor(whole / MINUTE_MS)} min ${rest(whole, MINUTE_MS, SECOND_MS)} s`;
  if (whole < DAY_MS) return `${Math.floor(whole / HOUR_MS)} h ${rest(whole, HOUR_MS, MINUTE_MS)} min`;
  return `${Math.floor(whole / DAY_MS)} d ${Math.floor((whole % DAY_MS) / HOUR_MS)} h`;
}

function rest(ms: number, unit: number, smaller: number): string {
  return String(Math.floor((ms % unit) / smaller)).padStart(2, "0");
}

/** Elapsed time in a stable width: `0:07`, `12:30`, `1:02:05`. */
export function formatClock(ms: number): string {
  const seconds = Math.floor(Math.max(0, ms) / SECOND_MS);
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  const [head, ...tail] = hours === 0 ? [minutes, seconds % 60] : [hours, minutes, seconds % 60];
  return [head, ...tail.map(twoDigits)].join(":");
}

/** The age of a time in one unit: `just now`, `3 min ago`, `2 d ago`. */
export function formatAgo(at: number, now: number): string {
  const ms = now - at;
  if (ms < 5 * SECOND_MS) return "just now";
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s ago`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  return `${Math.floor(ms / DAY_MS)} d ago`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

const MICRO = 1_000_000;

/** Micro-dollars as dollars: cents from one dollar up, more digits below, and $0 only for zero. */
export function formatMoney(microDollars: number): string {
  if (microDollars === 0) return "$0";
  if (microDollars < 100) return "<$0.0001";
  return `$${(microDollars / MICRO).toFixed(microDollars < MICRO ? 4 : 2)}`;
}

export { formatMoment, formatTime, formatTimeOfDay } from "../../account/local-time.ts";
export {
  byteText as formatBytes,
  counted,
  isoTime,
  wholeNumber as formatWholeNumber,
} from "../../export/figures.ts";

/** A value on one line: strings as they are, everything else as JSON. */
export function formatValue(value: Json): string {
  return cleanLine(typeof value === "string" ? value : JSON.stringify(value));
}

type Colour = "green" | "red" | "yellow" | "cyan" | "dim";

const STATUS_COLOURS: { readonly [status: string]: Colour } = {
  succeeded: "green",
  ok: "green",
  failed: "red",
  fail: "red",
  in_doubt: "red",
  waiting: "yellow",
  blocked: "yellow",
  open: "yellow",
  warn: "yellow",
  running: "cyan",
  queued: "cyan",
  interrupted: "yellow",
};

/** A status in its colour; dim if it needs no attention. */
export function paintStatus(paints: Paint, status: string, text = status): string {
  return paints[ownProperty(STATUS_COLOURS, status) ?? "dim"](text);
}

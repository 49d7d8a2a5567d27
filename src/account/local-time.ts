// Times as a person at this machine reads them. Documents have ISO 8601 instead.

/** Local date and time: `2026-01-31 09:05:00`. */
export function formatTime(at: number): string {
  const date = new Date(at);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()];
  return `${day.map(twoDigits).join("-")} ${formatTimeOfDay(at)}`;
}

/** Local time of day: `09:05:00`. */
export function formatTimeOfDay(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** A time of today, or of another day: `09:05`, `2026-01-31 09:05`. */
export function formatMoment(at: number, now: number): string {
  const [date, today] = [formatTime(at), formatTime(now)];
  const isToday = date.slice(0, 10) === today.slice(0, 10);
  return date.slice(isToday ? 11 : 0, -3);
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

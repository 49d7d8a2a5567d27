/**
 * How long a provider asks us to wait, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a date. A
 * date is compared with the server's own clock if it sent one, since ours may differ.
 *
 * @example
 * retryAfterMs({ "retry-after": "2" }); // 2000
 */
export function retryAfterMs(headers: unknown): number | null {
  const milliseconds = number(header(headers, "retry-after-ms"));
  if (milliseconds !== null) return Math.ceil(milliseconds);
  const value = header(headers, "retry-after");
  const seconds = number(value);
  if (seconds !== null) return Math.ceil(seconds * 1000);
  const until = Date.parse(value);
  if (Number.isNaN(until)) return null;
  const serverNow = Date.parse(header(headers, "date"));
  return Math.max(0, until - (Number.isNaN(serverNow) ? Date.now() : serverNow));
}

function header(headers: unknown, name: string): string {
  if (typeof headers !== "object" || headers === null) return "";
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  return typeof entry?.[1] === "string" ? entry[1].trim() : "";
}

function number(text: string): number | null {
  return /^\d{1,12}(\.\d+)?$/.test(text) ? Number(text) : null;
}

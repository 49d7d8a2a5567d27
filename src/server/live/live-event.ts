/** The text of a server-sent event. JSON has no line breaks of its own, so the data is one line. */
export function eventText(event: string, data: unknown, id: string | null): string {
  const place = id === null ? "" : `id: ${id}\n`;
  return `event: ${event}\n${place}data: ${JSON.stringify(data)}\n\n`;
}

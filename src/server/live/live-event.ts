/** The text of a server-sent event. JSON has no line breaks of its own, so the data is one line. */
export function eventText(event: string, data: unknown, id: string | null): string {
  // It would end the line, and what follows would be fields of its own.
  if (id !== null && /[\r\n\0]/.test(id))
    throw new Error(`The id of the event ${event} has a line break or NUL in it: ${JSON.stringify(id)}.`);
  const place = id === null ? "" : `id: ${id}\n`;
  return `event: ${event}\n${place}data: ${JSON.stringify(data)}\n\n`;
}

import type { z } from "zod";
import type { liveEvent } from "../api/schemas/live.ts";

type Event = z.input<typeof liveEvent>;

/** What a stream sends, by its name. */
export type LiveData<Name extends Event["event"]> = Extract<Event, { readonly event: Name }>["data"];

/** The text of a server-sent event. JSON has no line breaks of its own, so the data is one line. */
export function eventText(event: string, data: unknown, id: string | null): string {
  const place = id === null ? "" : `id: ${id}\n`;
  return `event: ${event}\n${place}data: ${JSON.stringify(data)}\n\n`;
}

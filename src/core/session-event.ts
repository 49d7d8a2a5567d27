import type { JsonObject } from "./json.ts";

/** Something that happened to a session. Reducers build its state from events; those of a tool call are stored with its receipt. */
export type SessionEvent = JsonObject & { readonly type: string };

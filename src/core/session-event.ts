import type { JsonObject } from "./json.ts";

/** Something that happened to a session: reducers make its state from these, and a tool call's are kept with its receipt. */
export type SessionEvent = JsonObject & { readonly type: string };

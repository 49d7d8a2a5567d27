import type { Json, JsonObject } from "../core/json.ts";

/** What can be done off the main thread, each loaded by the thread that first does it. Inputs and outputs are copied. */
export const JOBS = {
  checkBySchema: async () => {
    const { checkBySchema } = await import("../core/json-schema-check.ts");
    return ({ schema, value }: { readonly schema: JsonObject; readonly value: Json }) =>
      checkBySchema(schema, value);
  },
};

export type Jobs = typeof JOBS;

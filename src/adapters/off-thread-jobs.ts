import type { Json, JsonObject } from "../core/json.ts";

/** What can be done off the main thread, each loaded by the thread that first does it. Inputs and outputs are copied. */
export const JOBS = {
  checkBySchema: async () => {
    const { checkBySchema } = await import("../core/json-schema-check.ts");
    return ({ schema, value }: { readonly schema: JsonObject; readonly value: Json }) =>
      checkBySchema(schema, value);
  },
  pageText: async () => {
    const { pageText } = await import("./tools/page-text.ts");
    return ({ html, url }: { readonly html: string; readonly url: string }) => pageText(html, url);
  },
  imagesInMarkdown: async () => (await import("./tools/pdf-document.ts")).imagesInMarkdown,
  pdfDocument: async () => (await import("./tools/pdf-document.ts")).pdfDocument,
};

export type Jobs = typeof JOBS;

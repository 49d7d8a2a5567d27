import { workerData } from "node:worker_threads";
import type { SchemaReader } from "../core/json-schema-check.ts";
import type { CHECK_BY_SCHEMA } from "./net/foreign-schema.ts";
import type { ThreadData, ThreadJob } from "./net/off-thread.ts";
import type { PAGE_TEXT } from "./tools/fetch-page.ts";
import type { IMAGES_IN_MARKDOWN, PDF_DOCUMENT } from "./tools/render-pdf.ts";

/** Loads the code of a job, on the first thread that runs it. Inputs and outputs are copied. */
type Loader<J> =
  J extends ThreadJob<infer Input, infer Output>
    ? () => Promise<(input: Input) => Output | Promise<Output>>
    : never;

type Loaders = {
  readonly checkBySchema: Loader<typeof CHECK_BY_SCHEMA>;
  readonly pageText: Loader<typeof PAGE_TEXT>;
  readonly imagesInMarkdown: Loader<typeof IMAGES_IN_MARKDOWN>;
  readonly pdfDocument: Loader<typeof PDF_DOCUMENT>;
};

/** Every job that runs off the main thread, by name. */
export const THREAD_JOBS: Loaders = {
  checkBySchema: async () => {
    const { zod } = workerData as ThreadData;
    if (zod === null) throw new Error("zod is not installed where this program runs: npm install zod@4.");
    const { checkWith } = await import("../core/json-schema-check.ts");
    const reader = (await import(zod)) as SchemaReader;
    return ({ schema, value }) => checkWith(reader, schema, value);
  },
  pageText: async () => {
    const { pageText } = await import("./tools/page-text.ts");
    return ({ html, url }) => pageText(html, url);
  },
  imagesInMarkdown: async () => (await import("./tools/pdf-document.ts")).imagesInMarkdown,
  pdfDocument: async () => (await import("./tools/pdf-document.ts")).pdfDocument,
};

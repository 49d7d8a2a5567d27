import { z } from "zod";
import { defineSlice, upsertBy } from "../session/slice.ts";

/** The input of the job. */
export const jobInput = z.object({ subject: z.string(), site: z.url(), recipient: z.string() });

// Addresses are plain strings in model output: not every provider supports formats in a schema.

/** The output of the planner: what to find out, and where to begin. */
export const researchPlan = z.object({
  subject: z.string(),
  questions: z.array(z.string()).min(1),
  pages: z.array(z.string()).min(1).describe("The pages to begin with, as absolute URLs."),
});
export type ResearchPlan = z.infer<typeof researchPlan>;

/** The output of the crawler: what the pages say about the questions. */
export const researchNotes = z.object({
  subject: z.string(),
  questions: z.array(z.string()).min(1),
  notes: z
    .array(z.object({ url: z.string(), title: z.string(), points: z.array(z.string()).min(1) }))
    .min(1)
    .describe("One for each page that says something about the questions."),
});
export type ResearchNotes = z.infer<typeof researchNotes>;

/** The output of the writer. */
export const report = z.object({
  title: z.string(),
  summary: z.string(),
  sections: z
    .array(
      z.object({
        heading: z.string(),
        paragraphs: z
          .array(
            z.object({
              text: z.string(),
              sources: z.array(z.string()).describe("The pages that it is drawn from, as absolute URLs."),
            }),
          )
          .min(1),
      }),
    )
    .min(1),
});
export type Report = z.infer<typeof report>;

/** A page that was read. */
const source = z.object({ url: z.string(), title: z.string(), text: z.string() });
export type SourcePage = z.infer<typeof source>;

type PageRead = SourcePage & { readonly type: "PageRead" };

/** The pages that the run has read, each once. Part of its session, so a process that resumes the run knows them. */
export const sourcesSlice = defineSlice({
  name: "sources",
  schema: source,
  reducers: {
    PageRead: upsertBy(
      ({ url }) => url,
      ({ url, title, text }: PageRead) => ({ url, title, text }),
    ),
  },
});

/** Builds the event that adds a page to the sources. */
export function pageRead({ url, title, text }: SourcePage): PageRead {
  return { type: "PageRead", url, title, text };
}

/** The pages that a report cites, in order of their first citation. */
export function citedSources({ sections }: Report): readonly string[] {
  const urls = sections.flatMap(({ paragraphs }) => paragraphs.flatMap(({ sources }) => sources));
  return [...new Set(urls)];
}

/** The report with its sources as one text, for the check of citations. */
export function reportText(written: Report): string {
  const sections = written.sections.map(({ heading, paragraphs }) =>
    [heading, ...paragraphs.map(({ text, sources }) => `${text} ${sources.join(" ")}`)].join("\n\n"),
  );
  return [written.title, written.summary, ...sections].join("\n\n");
}

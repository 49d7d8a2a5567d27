import { z } from "zod";
import { FinalFailure } from "../../core/errors.ts";
import { type ToolCallContext, tool } from "../../engine/definition/tool.ts";
import { OffThreadError, offThread, type ThreadJob, type ThreadLimits } from "../net/off-thread.ts";
import { readableText } from "../net/readable-text.ts";
import { keep, keptFile } from "./file-tools.ts";
import { loadPackage } from "./load-package.ts";
import type { ImageHrefs, MadePdf, PdfFile, PdfOrder, PdfOutcome } from "./pdf-document.ts";
import { readWorkspaceFile, readWorkspaceText, workspaceName } from "./workspace-files.ts";

/** Some texts, such as many quotes in a row, take time quadratic in their length. */
const MOST_CHARACTERS = 100_000;
/** Longer than any real text of that length takes. */
const LONGEST_MS = 60_000;
/** All of them are in memory at once, and copied for the thread. */
const MOST_IMAGES = 200;
const MOST_IMAGE_BYTES = 50_000_000;

const input = z
  .object({
    path: z
      .string()
      .regex(/\.pdf$/i, "must end in .pdf")
      .describe("The path of the PDF inside the workspace, such as report.pdf."),
    markdown: z.string().min(1).optional().describe("The content, as Markdown."),
    source: z.string().min(1).optional().describe("Instead of markdown: a Markdown file of the workspace."),
    title: z
      .string()
      .min(1)
      .max(300)
      .optional()
      .describe("The document's title; by default the first heading."),
    pageSize: z.enum(["A4", "LETTER"]).optional(),
    font: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A font file of the workspace (.ttf or .otf), for texts in other than Western European scripts.",
      ),
    boldFont: z.string().min(1).optional().describe("The bold version of the font."),
  })
  .refine(
    ({ markdown, source }) => (markdown === undefined) !== (source === undefined),
    "give either markdown or source",
  );

export const IMAGES_IN_MARKDOWN: ThreadJob<string, ImageHrefs> = { name: "imagesInMarkdown" };
export const PDF_DOCUMENT: ThreadJob<PdfOrder, PdfOutcome> = { name: "pdfDocument" };

type PdfInput = z.output<typeof input>;

/** The same input makes the same bytes, so an interrupted call is simply repeated. */
export const renderPdf = tool({
  name: "render_pdf",
  description:
    "Make a PDF from Markdown and keep it with the run: headings, paragraphs, lists, tables, quotes, code, links and PNG or JPEG images of the workspace. The result has its hash, and a note of what could not be shown.",
  inputSchema: input,
  effect: "local",
  recovery: "repeat",
  exclusive: true,
  execute: async (wanted: PdfInput, call) => {
    const { bytes, pages, notes } = await rendered(wanted, call);
    const kept = keptFile(await keep(call, wanted.path, bytes));
    return { ...kept, pages, ...(notes.length > 0 ? { note: notes.join(" ") } : {}) };
  },
});

async function rendered(wanted: PdfInput, call: ToolCallContext): Promise<MadePdf> {
  const markdown = wanted.markdown ?? (await readWorkspaceText(call, wanted.source ?? ""));
  if (markdown.length > MOST_CHARACTERS)
    throw new FinalFailure(
      `The Markdown has ${markdown.length} characters, and the maximum is ${MOST_CHARACTERS}: make several PDFs.`,
    );
  // Only found here: the thread that uses it loads it.
  const pdfkit = await loadPackage("render_pdf", "pdfkit@0.20", async () => import.meta.resolve("pdfkit"));
  const found = await onThread(offThread(IMAGES_IN_MARKDOWN, markdown, limitsOf(call)));
  if ("problem" in found) throw new FinalFailure(found.problem);
  const { images, notes } = await imagesOf(found.hrefs, call);
  const order = {
    pdfkit,
    markdown,
    title: wanted.title ?? null,
    pageSize: wanted.pageSize ?? "A4",
    font: wanted.font === undefined ? null : await fileOf(wanted.font, call),
    boldFont: wanted.boldFont === undefined ? null : await fileOf(wanted.boldFont, call),
    images,
  } as const;
  const made = await onThread(offThread(PDF_DOCUMENT, order, limitsOf(call)));
  if ("problem" in made) throw new FinalFailure(made.problem);
  return { ...made, notes: [...notes, ...made.notes] };
}

function limitsOf({ signal }: ToolCallContext): ThreadLimits {
  return { timeoutMs: LONGEST_MS, signal };
}

/** Work that takes too long, or too much memory, would do so again. */
async function onThread<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof OffThreadError)) throw error;
    throw new FinalFailure(`Making the PDF ${error.why}: use less content.`, {}, { cause: error });
  }
}

async function fileOf(name: string, call: ToolCallContext): Promise<PdfFile> {
  return { name, bytes: await readWorkspaceFile(call, name) };
}

async function imagesOf(
  hrefs: readonly string[],
  call: ToolCallContext,
): Promise<{ readonly images: ReadonlyMap<string, PdfFile>; readonly notes: readonly string[] }> {
  const isElsewhere = (href: string) => /^[a-z][a-z\d+.-]*:|^\/\//i.test(href);
  const notes = hrefs
    .filter(isElsewhere)
    .map((href) => `The image ${readableText(call.hide(href))} is not in the workspace and was left out.`);
  const inside = hrefs.filter((href) => !isElsewhere(href));
  const files = new Map<string, PdfFile>();
  let bytes = 0;
  // A file may have several hrefs: it is read once.
  for (const name of new Set(inside.map(nameOf))) {
    if (files.size === MOST_IMAGES)
      throw new FinalFailure(`The Markdown has more than ${MOST_IMAGES} images: make several PDFs.`);
    const file = await fileOf(name, call);
    files.set(name, file);
    bytes += file.bytes.byteLength;
    if (bytes > MOST_IMAGE_BYTES)
      throw new FinalFailure(
        `The images have more than ${MOST_IMAGE_BYTES} bytes together: make several PDFs, or make the images smaller.`,
      );
  }
  return { images: new Map(inside.map((href) => [href, files.get(nameOf(href)) as PdfFile])), notes };
}

function nameOf(href: string): string {
  return workspaceName(decodedName(href));
}

/** In an href, a space is written as %20. */
function decodedName(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}

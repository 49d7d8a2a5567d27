import { buffer } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { FinalFailure, PawlError } from "../../core/errors.ts";
import { type ToolCallContext, tool } from "../../engine/tool.ts";
import { messageOf } from "../error-causes.ts";
import { readableText } from "../readable-text.ts";
import { keep, keptFile } from "./file-tools.ts";
import { loadPackage } from "./load-package.ts";
import type { Block } from "./markdown-blocks.ts";
import { isStandardCharacter, PrintableText } from "./pdf-characters.ts";
import { pdfImage } from "./pdf-image.ts";
import { type PdfFonts, PdfPages } from "./pdf-pages.ts";
import { readWorkspaceFile, readWorkspaceText } from "./workspace-files.ts";

/** Reading them goes on without a pause, and the time that some need, such as quotes in a row, grows with the square of it. */
const MOST_CHARACTERS = 100_000;

const input = z
  .object({
    path: z
      .string()
      .regex(/\.pdf$/i, "has to end in .pdf")
      .describe("The path of the PDF inside the workspace, such as report.pdf."),
    markdown: z.string().min(1).optional().describe("What is to be in it, as Markdown."),
    source: z.string().min(1).optional().describe("Or a Markdown file of the workspace, in its place."),
    title: z
      .string()
      .min(1)
      .max(300)
      .optional()
      .describe("The title that a reader shows; the first heading unless said."),
    pageSize: z.enum(["A4", "LETTER"]).optional(),
    font: z
      .string()
      .min(1)
      .optional()
      .describe(
        "A font file of the workspace (.ttf or .otf), for texts in other than Western European letters.",
      ),
    boldFont: z.string().min(1).optional().describe("Its bold companion."),
  })
  .refine(
    ({ markdown, source }) => (markdown === undefined) !== (source === undefined),
    "give either markdown or source",
  );

type PdfInput = z.output<typeof input>;

/** The same input makes the same bytes, so a call that was cut off is simply made again. */
export const renderPdf = tool({
  name: "render_pdf",
  description:
    "Make a PDF of Markdown and keep it with the run: headings, paragraphs, lists, tables, quotes, code, links and PNG or JPEG images of the workspace. The result has its hash, and a note of what could not be shown.",
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

type Rendered = { readonly bytes: Uint8Array; readonly pages: number; readonly notes: readonly string[] };

async function rendered(wanted: PdfInput, call: ToolCallContext): Promise<Rendered> {
  const markdown = wanted.markdown ?? (await readWorkspaceText(call, wanted.source ?? ""));
  if (markdown.length > MOST_CHARACTERS)
    throw new FinalFailure(
      `The Markdown has ${markdown.length} characters, and ${MOST_CHARACTERS} is the most: make several of it.`,
    );
  const { default: PDFDocument } = await loadPackage("render_pdf", "pdfkit@0.20", () => import("pdfkit"));
  const { markdownBlocks } = await import("./markdown-blocks.ts");
  const blocks = attempt("The Markdown cannot be read", () => markdownBlocks(markdown));
  const { images, notes } = await imagesOf(blocks, call);
  const document = new PDFDocument({
    size: wanted.pageSize ?? "A4",
    margin: 72,
    bufferPages: true,
    info: infoOf(wanted.title ?? firstHeading(blocks)),
  });
  const bytes = buffer(document);
  const { fonts, has } = await fontsOf(document, wanted, call);
  const printable = new PrintableText(has);
  const pages = new PdfPages(document, fonts, printable, images);
  for (const block of blocks) {
    attempt("The Markdown cannot be set", () => pages.add([block]));
    // A long text takes a while, and the process has other things to do: its lease, for one.
    await setImmediate();
    call.signal.throwIfAborted();
  }
  const count = pages.numberPages();
  document.end();
  return {
    bytes: await bytes,
    pages: count,
    notes: [
      ...notes,
      ...(printable.replaced > 0
        ? [
            `${printable.replaced} characters are not in the font and were replaced by "?": give a font that has them.`,
          ]
        : []),
      ...(pages.cutCells > 0
        ? [`${pages.cutCells} cells of tables are longer than a page and were cut.`]
        : []),
    ],
  };
}

/** Not the time of day: the same input has to make the same bytes. */
const MADE_AT = new Date("2000-01-01T00:00:00Z");

function infoOf(title: string | null): PDFKit.DocumentInfo {
  return {
    ...(title === null ? {} : { Title: title }),
    Producer: "Pawl",
    Creator: "Pawl",
    CreationDate: MADE_AT,
    ModDate: MADE_AT,
  };
}

function firstHeading(blocks: readonly Block[]): string | null {
  const heading = blocks.find((block) => block.kind === "heading");
  return heading === undefined ? null : heading.runs.map(({ text }) => text).join("");
}

/** What goes wrong in reading a text is for whoever wrote it, and will not go away by itself. */
function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (PawlError.isInstance(error)) throw error;
    throw new FinalFailure(`${what}: ${readableText(messageOf(error))}.`, {}, { cause: error });
  }
}

async function imagesOf(
  blocks: readonly Block[],
  call: ToolCallContext,
): Promise<{ readonly images: ReadonlyMap<string, Buffer>; readonly notes: readonly string[] }> {
  const images = new Map<string, Buffer>();
  const notes: string[] = [];
  for (const href of new Set(hrefsIn(blocks))) {
    if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(href)) {
      notes.push(`The image ${readableText(call.hide(href))} is not in the workspace and was left out.`);
      continue;
    }
    const name = decodedName(href);
    const image = pdfImage(Buffer.from(await readWorkspaceFile(call, name)));
    if ("problem" in image)
      throw new FinalFailure(`The image ${JSON.stringify(name)} cannot be used: ${image.problem}.`);
    images.set(href, image.bytes);
  }
  return { images, notes };
}

function hrefsIn(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap((block) => {
    if (block.kind === "image") return [block.href];
    if (block.kind === "quote") return hrefsIn(block.blocks);
    return block.kind === "list" ? block.items.flatMap((item) => hrefsIn(item.blocks)) : [];
  });
}

/** Spaces in an address are written as %20. */
function decodedName(href: string): string {
  try {
    return decodeURIComponent(href);
  } catch {
    return href;
  }
}

const STANDARD_FONTS: PdfFonts = {
  plain: "Helvetica",
  bold: "Helvetica-Bold",
  italic: "Helvetica-Oblique",
  boldItalic: "Helvetica-BoldOblique",
  code: "Courier",
};

/** With a font of its own, all is set in it, code too: the standard ones lack what it was given for. */
async function fontsOf(document: PDFKit.PDFDocument, { font, boldFont }: PdfInput, call: ToolCallContext) {
  if (font === undefined) return { fonts: STANDARD_FONTS, has: isStandardCharacter };
  const glyphs = [await useFont(document, "plain", font, call)];
  if (boldFont !== undefined) glyphs.push(await useFont(document, "bold", boldFont, call));
  const bold = boldFont === undefined ? "plain" : "bold";
  const fonts: PdfFonts = { plain: "plain", bold, italic: "plain", boldItalic: bold, code: "plain" };
  return { fonts, has: (codePoint: number) => glyphs.every((each) => each(codePoint)) };
}

/** The part of fontkit's font that is used. */
type FontWithGlyphs = { readonly font?: { hasGlyphForCodePoint?(codePoint: number): boolean } };

async function useFont(document: PDFKit.PDFDocument, name: string, path: string, call: ToolCallContext) {
  const bytes = Buffer.from(await readWorkspaceFile(call, path));
  return attempt(`The font ${JSON.stringify(path)} cannot be used`, () => {
    document.registerFont(name, bytes).font(name);
    const { font } = (document as unknown as { readonly _font: FontWithGlyphs })._font;
    if (font?.hasGlyphForCodePoint === undefined) throw new Error("it is no font that pdfkit can read");
    return (codePoint: number) => font.hasGlyphForCodePoint?.(codePoint) === true;
  });
}

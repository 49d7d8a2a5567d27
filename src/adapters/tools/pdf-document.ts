import { buffer } from "node:stream/consumers";
import type PDFDocument from "pdfkit";
import { messageOf } from "../net/error-causes.ts";
import { readableText } from "../net/readable-text.ts";
import { type Block, markdownBlocks } from "./markdown-blocks.ts";
import { isStandardCharacter, PrintableText } from "./pdf-characters.ts";
import { pdfImage } from "./pdf-image.ts";
import { type PdfDocument, type PdfFonts, PdfPages } from "./pdf-pages.ts";

// The part of render_pdf that runs on a worker thread: parsing and laying out some texts takes minutes.

/** A file of the workspace, with its name there. */
export type PdfFile = { readonly name: string; readonly bytes: Uint8Array };

export type PdfOrder = {
  /** The URL of the package: a thread whose code is text cannot look for packages. */
  readonly pdfkit: string;
  readonly markdown: string;
  readonly title: string | null;
  readonly pageSize: "A4" | "LETTER";
  readonly font: PdfFile | null;
  readonly boldFont: PdfFile | null;
  /** By their hrefs in the Markdown; a file with several hrefs is one object. */
  readonly images: ReadonlyMap<string, PdfFile>;
};

export type MadePdf = {
  readonly bytes: Uint8Array;
  readonly pages: number;
  readonly notes: readonly string[];
};

/** A PDF, or a problem, as a sentence for the model. */
export type PdfOutcome = MadePdf | { readonly problem: string };

class PdfProblem extends Error {}

export type ImageHrefs = { readonly hrefs: readonly string[] } | { readonly problem: string };

/** The hrefs of the images in a text, each once. */
export function imagesInMarkdown(markdown: string): ImageHrefs {
  try {
    return { hrefs: [...new Set(hrefsIn(blocksIn(markdown)))] };
  } catch (error) {
    return problemOf(error);
  }
}

export async function pdfDocument(order: PdfOrder): Promise<PdfOutcome> {
  try {
    return await makePdf(order);
  } catch (error) {
    return problemOf(error);
  }
}

function problemOf(error: unknown): { readonly problem: string } {
  if (error instanceof PdfProblem) return { problem: error.message };
  throw error;
}

async function makePdf(order: PdfOrder): Promise<MadePdf> {
  const blocks = blocksIn(order.markdown);
  const usable = new Map([...new Set(order.images.values())].map((file) => [file, usableImage(file)]));
  const images = new Map([...order.images].map(([href, file]) => [href, usable.get(file) as Buffer]));
  const pdfkit = (await import(order.pdfkit)) as { readonly default: typeof PDFDocument };
  const document = new pdfkit.default({
    size: order.pageSize,
    margin: 72,
    bufferPages: true,
    info: infoOf(order.title ?? firstHeading(blocks)),
  }) as PdfDocument;
  const bytes = buffer(document);
  const { fonts, has } = fontsOf(document, order);
  const printable = new PrintableText(has);
  const pages = new PdfPages(document, fonts, printable, images);
  attempt("The Markdown cannot be laid out", () => pages.add(blocks));
  const count = pages.numberPages();
  document.end();
  return { bytes: await bytes, pages: count, notes: notesOn(printable, pages) };
}

function notesOn(printable: PrintableText, pages: PdfPages): readonly string[] {
  return [
    ...(printable.replaced > 0
      ? [
          `${printable.replaced} characters are not in the font and were replaced by "?": give a font that has them.`,
        ]
      : []),
    ...(pages.cutCells > 0 ? [`${pages.cutCells} cells of tables are longer than a page and were cut.`] : []),
  ];
}

function blocksIn(markdown: string): readonly Block[] {
  return attempt("The Markdown cannot be read", () => markdownBlocks(markdown));
}

function usableImage({ name, bytes }: PdfFile): Buffer {
  const image = pdfImage(Buffer.from(bytes));
  if ("problem" in image)
    throw new PdfProblem(`The image ${JSON.stringify(name)} cannot be used: ${image.problem}.`);
  return image.bytes;
}

/** A fixed date: the same input must make the same bytes. */
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

/** A failure to read the input is a problem for the model to fix; a retry would not help. */
function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new PdfProblem(`${what}: ${readableText(messageOf(error))}.`, { cause: error });
  }
}

function hrefsIn(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap((block) => {
    if (block.kind === "image") return [block.href];
    if (block.kind === "quote") return hrefsIn(block.blocks);
    return block.kind === "list" ? block.items.flatMap((item) => hrefsIn(item.blocks)) : [];
  });
}

const STANDARD_FONTS: PdfFonts = {
  plain: "Helvetica",
  bold: "Helvetica-Bold",
  italic: "Helvetica-Oblique",
  boldItalic: "Helvetica-BoldOblique",
  code: "Courier",
};

/** With a custom font, everything is set in it, code too: the standard fonts lack the characters that it was given for. */
function fontsOf(document: PdfDocument, { font, boldFont }: PdfOrder) {
  if (font === null) return { fonts: STANDARD_FONTS, has: isStandardCharacter };
  const glyphs = [useFont(document, "plain", font)];
  if (boldFont !== null) glyphs.push(useFont(document, "bold", boldFont));
  const bold = boldFont === null ? "plain" : "bold";
  const fonts: PdfFonts = { plain: "plain", bold, italic: "plain", boldItalic: bold, code: "plain" };
  return { fonts, has: (codePoint: number) => glyphs.every((each) => each(codePoint)) };
}

function useFont(document: PdfDocument, name: string, file: PdfFile) {
  return attempt(`The font ${JSON.stringify(file.name)} cannot be used`, () => {
    document.registerFont(name, Buffer.from(file.bytes)).font(name);
    const { font } = document._font;
    if (font?.hasGlyphForCodePoint === undefined) throw new Error("it is not a font that pdfkit can read");
    return (codePoint: number) => font.hasGlyphForCodePoint?.(codePoint) === true;
  });
}

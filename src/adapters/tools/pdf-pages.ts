import type { Alignment, Block, ListItem, TextRun } from "./markdown-blocks.ts";
import type { PrintableText } from "./pdf-characters.ts";

type OpenedImage = { readonly width: number; readonly height: number };

/** A pdfkit document, with the members that its types lack. */
export type PdfDocument = PDFKit.PDFDocument & {
  openImage(bytes: Buffer): OpenedImage;
  image(opened: OpenedImage, x: number, y: number, options: PDFKit.Mixins.ImageOption): void;
  /** The current font; `font` is fontkit's, of which only this method is used. */
  readonly _font: { readonly font?: { hasGlyphForCodePoint?(codePoint: number): boolean } };
};

/** The names of the fonts, by style. */
export type PdfFonts = {
  readonly plain: string;
  readonly bold: string;
  readonly italic: string;
  readonly boldItalic: string;
  readonly code: string;
};

const TEXT_SIZE = 11;
const CODE_SIZE = 9.5;
const HEADING_SIZES = [22, 17, 14, 12, 11, 11];
const LINE_GAP = 2.5;
const INDENT = 20;
const MOST_INDENTS = 8;
const CELL_PADDING = 4;
const INK = "#1a1a1a";
const LINK = "#1a4fa0";
const QUIET = "#666666";
const SHADE = "#f3f3f3";

/** Lays out blocks on pages, from top to bottom. */
export class PdfPages {
  /** The number of table cells that are longer than a page. */
  cutCells = 0;
  readonly #document: PdfDocument;
  readonly #fonts: PdfFonts;
  readonly #printable: PrintableText;
  readonly #images: ReadonlyMap<string, Buffer>;
  readonly #opened = new Map<Buffer, OpenedImage>();

  constructor(
    document: PdfDocument,
    fonts: PdfFonts,
    printable: PrintableText,
    images: ReadonlyMap<string, Buffer>,
  ) {
    this.#document = document;
    this.#fonts = fonts;
    this.#printable = printable;
    this.#images = images;
  }

  add(blocks: readonly Block[], depth = 0): void {
    for (const block of blocks) this.#block(block, depth);
  }

  /** Adds page numbers, last of all, when their count is known, and returns it. */
  numberPages(): number {
    const document = this.#document;
    const { start, count } = document.bufferedPageRange();
    for (let i = start; i < start + count; i++) {
      document.switchToPage(i);
      const { margins, height, width } = document.page;
      const bottom = margins.bottom;
      // Below the margin, where text would begin a new page.
      margins.bottom = 0;
      document
        .font(this.#fonts.plain)
        .fontSize(9)
        .fillColor(QUIET)
        .text(`${i + 1} / ${count}`, 0, height - bottom / 2 - 6, {
          width,
          align: "center",
          lineBreak: false,
        });
      margins.bottom = bottom;
    }
    return count;
  }

  #block(block: Block, depth: number): void {
    switch (block.kind) {
      case "heading":
        return this.#heading(block.level, block.runs, depth);
      case "paragraph":
        this.#runs(block.runs, depth, TEXT_SIZE);
        return this.#gap(7);
      case "code":
        return this.#code(block.text, depth);
      case "quote":
        return this.#quote(block.blocks, depth);
      case "list":
        for (const item of block.items) this.#item(item, depth);
        return this.#gap(3);
      case "table":
        return this.#table(block.rows, block.align, depth);
      case "image":
        return this.#image(block.href, block.alt, depth);
      case "rule":
        return this.#rule(depth);
    }
  }

  #left(depth: number): number {
    return this.#document.page.margins.left + Math.min(depth, MOST_INDENTS) * INDENT;
  }

  #width(depth: number): number {
    const { width, margins } = this.#document.page;
    return width - margins.right - this.#left(depth);
  }

  get #bottom(): number {
    return this.#document.page.maxY();
  }

  #gap(points: number): void {
    this.#document.y += points;
  }

  /** Begins a new page if this one has not so much room left. */
  #need(height: number): void {
    if (this.#document.y + height > this.#bottom) this.#document.addPage();
  }

  #heading(level: number, runs: readonly TextRun[], depth: number): void {
    const size = HEADING_SIZES[level - 1] ?? TEXT_SIZE;
    this.#gap(level === 1 ? 6 : 10);
    // Not at the bottom of a page, separated from its text.
    this.#need(size * 3);
    this.#runs(
      runs.map((run) => ({ ...run, bold: true })),
      depth,
      size,
    );
    this.#gap(5);
  }

  #runs(runs: readonly TextRun[], depth: number, size: number): void {
    const document = this.#document;
    const shown = runs
      .map((run) => ({ ...run, text: this.#printable.of(run.text) }))
      .filter(({ text }) => text !== "");
    document.x = this.#left(depth);
    const width = this.#width(depth);
    shown.forEach(({ text, link, strike, ...style }, i) => {
      document
        .font(this.#fontOf(style))
        .fontSize(style.code ? size * 0.92 : size)
        .fillColor(link === null ? INK : LINK)
        .text(text, {
          width,
          lineGap: LINE_GAP,
          link,
          underline: link !== null,
          strike,
          continued: i < shown.length - 1,
        });
    });
    document.x = this.#left(0);
  }

  #fontOf({ bold, italic, code }: Pick<TextRun, "bold" | "italic" | "code">): string {
    const fonts = this.#fonts;
    if (code) return fonts.code;
    if (bold && italic) return fonts.boldItalic;
    return bold ? fonts.bold : italic ? fonts.italic : fonts.plain;
  }

  #item({ marker, blocks }: ListItem, depth: number): void {
    const document = this.#document;
    this.#need(TEXT_SIZE * 1.5);
    const { y } = document;
    document
      .font(this.#fonts.plain)
      .fontSize(TEXT_SIZE)
      .fillColor(INK)
      .text(this.#printable.of(marker), this.#left(depth), y, { width: INDENT + 10, lineBreak: false });
    document.y = y;
    if (blocks.length === 0) this.#gap(TEXT_SIZE * 1.5);
    for (const block of blocks) {
      // List items are closer together than paragraphs.
      if (block.kind === "paragraph") {
        this.#runs(block.runs, depth + 1, TEXT_SIZE);
        this.#gap(2);
      } else this.#block(block, depth + 1);
    }
  }

  #quote(blocks: readonly Block[], depth: number): void {
    const document = this.#document;
    const page = document.page;
    const top = document.y;
    this.add(blocks, depth + 1);
    const from = document.page === page ? top : document.page.margins.top;
    const x = this.#left(depth) + INDENT / 2;
    document
      .moveTo(x, from)
      .lineTo(x, Math.max(from, document.y - 6))
      .lineWidth(2)
      .strokeColor("#cccccc")
      .stroke();
  }

  /** Line by line, so that it can continue on the next page. */
  #code(text: string, depth: number): void {
    const document = this.#document;
    const left = this.#left(depth);
    const width = this.#width(depth);
    document.font(this.#fonts.code).fontSize(CODE_SIZE);
    for (const line of this.#printable.of(text).split("\n")) {
      const options = { width: width - 2 * CELL_PADDING, lineGap: 1 };
      const shown = line === "" ? " " : line;
      const height = document.heightOfString(shown, options);
      this.#need(Math.min(height, 200));
      const { y } = document;
      document.rect(left, y, width, Math.min(height, this.#bottom - y)).fill(SHADE);
      document.fillColor(INK).text(shown, left + CELL_PADDING, y, options);
    }
    document.x = this.#left(0);
    this.#gap(8);
  }

  #table(rows: readonly (readonly string[])[], align: readonly Alignment[], depth: number): void {
    const document = this.#document;
    const texts = rows.map((row) => row.map((cell) => this.#printable.of(cell)));
    const widths = columnWidths(texts, this.#width(depth));
    const { margins, height: pageHeight } = document.page;
    const most = pageHeight - margins.top - margins.bottom;
    texts.forEach((row, rowIndex) => {
      document.font(rowIndex === 0 ? this.#fonts.bold : this.#fonts.plain).fontSize(TEXT_SIZE - 1);
      const heights = row.map((cell, i) =>
        document.heightOfString(cell, { width: (widths[i] ?? 0) - 2 * CELL_PADDING }),
      );
      const height = Math.min(most, Math.max(TEXT_SIZE, ...heights) + 2 * CELL_PADDING);
      this.cutCells += heights.filter((each) => each + 2 * CELL_PADDING > most).length;
      this.#need(height);
      const { y } = document;
      let x = this.#left(depth);
      row.forEach((cell, i) => {
        const width = widths[i] ?? 0;
        if (rowIndex === 0) document.rect(x, y, width, height).fill(SHADE);
        document.rect(x, y, width, height).lineWidth(0.5).strokeColor("#bbbbbb").stroke();
        document.fillColor(INK).text(cell, x + CELL_PADDING, y + CELL_PADDING, {
          width: width - 2 * CELL_PADDING,
          height: height - 2 * CELL_PADDING + 1,
          align: align[i] ?? "left",
          ellipsis: true,
        });
        x += width;
      });
      document.y = y + height;
    });
    document.x = this.#left(0);
    this.#gap(9);
  }

  /** In its own size, but no larger than the page. A missing image is replaced by its description. */
  #image(href: string, alt: string, depth: number): void {
    const bytes = this.#images.get(href);
    const document = this.#document;
    if (bytes === undefined) {
      const text = `[${alt === "" ? "image" : alt}]`;
      this.#runs(
        [{ text, bold: false, italic: true, code: false, strike: false, link: null }],
        depth,
        TEXT_SIZE,
      );
      return this.#gap(7);
    }
    // Each file is opened once: opening it again would embed it again.
    const opened = this.#opened.get(bytes) ?? document.openImage(bytes);
    this.#opened.set(bytes, opened);
    const { width, height } = opened;
    const { margins, height: pageHeight } = document.page;
    const most = pageHeight - margins.top - margins.bottom;
    const scale = Math.min(1, this.#width(depth) / width, most / height);
    this.#need(height * scale);
    const { y } = document;
    document.image(opened, this.#left(depth), y, { width: width * scale, height: height * scale });
    document.y = y + height * scale;
    return this.#gap(8);
  }

  #rule(depth: number): void {
    const document = this.#document;
    this.#need(20);
    this.#gap(4);
    const left = this.#left(depth);
    document
      .moveTo(left, document.y)
      .lineTo(left + this.#width(depth), document.y)
      .lineWidth(0.5)
      .strokeColor("#bbbbbb")
      .stroke();
    this.#gap(10);
  }
}

/** In proportion to their longest cells, within bounds, so that no column takes all the space. */
function columnWidths(rows: readonly (readonly string[])[], width: number): readonly number[] {
  const count = Math.max(...rows.map((row) => row.length));
  const shares = Array.from({ length: count }, (_, i) =>
    Math.min(40, Math.max(6, ...rows.map((row) => (row[i] ?? "").length))),
  );
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => (share / sum) * width);
}

import { buffer } from "node:stream/consumers";
import { citedSources, type Report } from "./research.ts";

/** Fixed, since a step that runs again after a crash must produce the same bytes. */
const CREATION_DATE = new Date("2000-01-01T00:00:00Z");

/** The report as a PDF. The same report produces the same bytes. */
export async function reportPdf(written: Report, titleOf: (url: string) => string): Promise<Uint8Array> {
  // Imported on demand: only one or two of the processes render.
  const { default: PDFDocument } = await import("pdfkit");
  const document = new PDFDocument({
    size: "A4",
    margin: 72,
    info: { Title: written.title, Author: "Pawl", CreationDate: CREATION_DATE, ModDate: CREATION_DATE },
  });
  const bytes = buffer(document);
  const sources = citedSources(written);
  document.font("Times-Bold").fontSize(22).text(written.title);
  document.moveDown().font("Times-Italic").fontSize(12).text(written.summary, { lineGap: 3 });
  for (const { heading, paragraphs } of written.sections) {
    addHeading(document, heading);
    for (const { text, sources: urls } of paragraphs) {
      const marks = urls.map((url) => ` [${sources.indexOf(url) + 1}]`).join("");
      document.font("Times-Roman").fontSize(12).text(`${text}${marks}`, { lineGap: 3 }).moveDown(0.6);
    }
  }
  addHeading(document, "Sources");
  sources.forEach((url, i) => {
    document
      .font("Times-Roman")
      .fontSize(11)
      .text(`[${i + 1}] ${titleOf(url)}`);
    document.fillColor("#1a4fa0").text(url, { link: url, indent: 18 }).fillColor("black").moveDown(0.4);
  });
  document.end();
  return bytes;
}

function addHeading(document: PDFKit.PDFDocument, heading: string): void {
  document.moveDown().font("Times-Bold").fontSize(15).text(heading).moveDown(0.4);
}

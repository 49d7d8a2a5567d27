import { inflateSync } from "node:zlib";
import { expect, onTestFinished, test, vi } from "vitest";
import { reportHtml } from "../../src/demo/report-html.ts";
import { reportPdf } from "../../src/demo/report-pdf.ts";
import { citedSources, type Report, reportText } from "../../src/demo/research.ts";

const A = "http://127.0.0.1:8080/a";
const B = "http://127.0.0.1:8080/b?x=1&y=2";

const REPORT: Report = {
  title: 'Clocks & "springs"',
  summary: "What is <wound> runs down.",
  sections: [
    {
      heading: "Springs",
      paragraphs: [
        { text: "A spring is wound.", sources: [B] },
        { text: "A weight falls.", sources: [A, B] },
      ],
    },
    { heading: "Weights", paragraphs: [{ text: "It falls slowly.", sources: [A] }] },
  ],
};

const titleOf = (url: string) => (url === A ? "Page A" : "Page <B>");

test("the sources of a report are numbered in the order in which it cites them, each once", () => {
  expect(citedSources(REPORT)).toEqual([B, A]);
  expect(reportText(REPORT)).toContain(`A weight falls. ${A} ${B}`);
});

test("the HTML has title, headings, paragraphs with their sources, and nothing unescaped", () => {
  const html = reportHtml(REPORT, titleOf);
  expect(html).toContain("<h1>Clocks &amp; &quot;springs&quot;</h1>");
  expect(html).toContain("What is &lt;wound&gt; runs down.");
  expect(html).toContain("<h2>Springs</h2>");
  expect(html).toContain(
    '<p>A weight falls. <sup><a href="#source-2">[2]</a></sup> <sup><a href="#source-1">[1]</a></sup></p>',
  );
  expect(html).toContain(
    '<li id="source-1">Page &lt;B&gt;, <a href="http://127.0.0.1:8080/b?x=1&amp;y=2">http://127.0.0.1:8080/b?x=1&amp;y=2</a></li>',
  );
  expect(reportHtml(REPORT, titleOf)).toBe(html);
});

/** The texts that a page shows, as far as standard fonts write them: hexadecimal strings in its content streams. */
function textsIn(pdf: Buffer): string {
  const streams = pdf.toString("latin1").matchAll(/stream\n([\s\S]*?)\nendstream/g);
  return [...streams]
    .map(([, bytes = ""]) => {
      try {
        return inflateSync(Buffer.from(bytes, "latin1")).toString("latin1");
      } catch {
        return "";
      }
    })
    .flatMap((content) => [...content.matchAll(/\[([^\]]*)\] TJ/g)])
    .map(([, shown = ""]) =>
      [...shown.matchAll(/<([0-9a-f]*)>/g)]
        .map(([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1"))
        .join(""),
    )
    .join("\n");
}

test("the PDF is a real one, with title, headings, paragraphs and sources", async () => {
  const pdf = Buffer.from(await reportPdf(REPORT, titleOf));
  expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
  expect(pdf.toString("latin1").trimEnd().endsWith("%%EOF")).toBe(true);
  const shown = textsIn(pdf);
  for (const text of [
    'Clocks & "springs"',
    "What is <wound> runs down.",
    "Springs",
    "A weight falls. [2] [1]",
    "Sources",
    "[1] Page <B>",
    B,
  ])
    expect(shown).toContain(text);
});

test("the same report produces the same PDF, byte for byte, at any time", async () => {
  const first = Buffer.from(await reportPdf(REPORT, titleOf));
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(Buffer.from(await reportPdf(REPORT, titleOf)).equals(first)).toBe(true);
  const other = await reportPdf({ ...REPORT, summary: "Another." }, titleOf);
  expect(Buffer.from(other).equals(first)).toBe(false);
});

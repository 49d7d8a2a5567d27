import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { crc32, deflateSync, inflateSync } from "node:zlib";
import { Tokenizer } from "marked";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { renderPdf } from "../../../src/adapters/tools/index.ts";
import { markdownBlocks } from "../../../src/adapters/tools/markdown-blocks.ts";
import { pdfImage } from "../../../src/adapters/tools/pdf-image.ts";
import type { Json } from "../../../src/index.ts";
import { must } from "../../engine/run-fixture.ts";
import { type CallOptions, callTool } from "./tool-fixture.ts";

/** The drawing commands of the pages of a PDF, in order: pdfkit writes each page as a compressed stream. */
function streamsOf(pdf: Buffer): string[] {
  const text = pdf.toString("latin1");
  return [...text.matchAll(/(?<!end)stream\n/g)].flatMap(({ index }) => {
    const begin = index + "stream\n".length;
    try {
      const inflated = inflateSync(pdf.subarray(begin, text.indexOf("\nendstream", begin))).toString(
        "latin1",
      );
      return / TJ$/m.test(inflated) ? [inflated] : [];
    } catch {
      return [];
    }
  });
}

/** The lines of text of a page; standard fonts are encoded in Windows-1252. */
function linesOf(page: string): string[] {
  const lines: { y: string; text: string }[] = [];
  for (const [, y, shown = ""] of page.matchAll(/1 0 0 1 [\d.-]+ ([\d.-]+) Tm|\[(.*)\] TJ/g)) {
    if (y !== undefined && y !== lines.at(-1)?.y) lines.push({ y, text: "" });
    const hex = [...shown.matchAll(/<([\da-f]*)>/g)].map(([, part]) => part).join("");
    const last = lines.at(-1);
    if (last !== undefined) last.text += new TextDecoder("windows-1252").decode(Buffer.from(hex, "hex"));
  }
  return lines.map(({ text }) => text.trimEnd());
}

async function render(input: { readonly [name: string]: Json }, options: CallOptions = {}) {
  const { result, store, call } = await callTool(renderPdf, { path: "out.pdf", ...input }, options);
  const kept = await store.readArtifact("r-1", "out.pdf");
  const pdf = kept === null ? null : Buffer.from(kept);
  return { result, call, pdf, pages: pdf === null ? [] : streamsOf(pdf) };
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(typed));
  return Buffer.concat([frame, typed, check]);
}

/** An image of 2 by 2 pixels with transparency. */
function png(pixels = deflateSync(Buffer.alloc(2 * (1 + 2 * 4), 1)), interlaced = 0): Buffer {
  const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 6, 0, 0, interlaced]);
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", header),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** An image of one row in shades of gray, with its pixels in these pieces. */
function grayPng(width: number, pieces: readonly Buffer[]): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
  header.writeUInt32BE(width);
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", header),
    ...pieces.map((piece) => chunk("IDAT", piece)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const REPORT = `# Report on *pawls*

A paragraph with **bold**, *italic*, \`code\`, ~~old~~ and a [link](https://example.com/x?a=1&b=2) &amp; “quotes” – 5 €.
It goes on.

## Parts

- one
- two
  - nested
    1. deep
    2. deeper
- [x] done

7. seven
8. eight

> A quote.

\`\`\`js
const a = "<b>";

  indented();
\`\`\`

| Name | Count |
|:-----|------:|
| tooth | 12 |

---

<p>plain <b>html</b></p>
`;

describe("render_pdf", () => {
  it("lays out Markdown on a page and keeps the PDF with the run", async () => {
    const { result, pdf, pages, call } = await render({ markdown: REPORT });
    expect(result).toEqual({
      path: "out.pdf",
      bytes: pdf?.length,
      hash: expect.stringMatching(/^[\da-f]{64}$/),
      pages: 1,
    });
    expect([call.effect, call.recovery]).toEqual(["local", "repeat"]);
    expect(linesOf(must(pages[0])).filter((line) => line.trim() !== "")).toEqual([
      "Report on pawls",
      "A paragraph with bold, italic,",
      "code",
      ", old and a link & “quotes” – 5 €. It goes on.",
      "Parts",
      "•one",
      "•two",
      "•nested",
      "1.deep",
      "2.deeper",
      "[x]done",
      "7.seven",
      "8.eight",
      "A quote.",
      'const a = "<b>";',
      "  indented();",
      "NameCount",
      "tooth12",
      "plain html",
      "1 / 1",
    ]);
    const raw = must(pdf).toString("latin1");
    expect(raw).toContain("/URI (https://example.com/x?a=1&b=2)");
    expect(raw).toContain("(Report on pawls)");
    for (const font of ["Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Courier"])
      expect(raw).toContain(`/BaseFont /${font}\n`);
  });

  it("makes the same bytes from the same input", async () => {
    const files = { "dot.png": png() };
    const input = { markdown: `${REPORT}\n\n![dot](dot.png)` };
    const [one, two] = [await render(input, { files }), await render(input, { files })];
    expect(one.pdf).not.toBeNull();
    expect(one.pdf).toEqual(two.pdf);
  });

  it("reads the Markdown from a file, and numbers its pages", async () => {
    const long = Array.from({ length: 150 }, (_, i) => `Paragraph ${i + 1}.`).join("\n\n");
    const { result, pages } = await render({ source: "long.md" }, { files: { "long.md": long } });
    expect(pages.length).toBeGreaterThan(2);
    expect(result).toMatchObject({ pages: pages.length });
    const all = pages.flatMap(linesOf);
    for (let i = 1; i <= 150; i++) expect(all).toContain(`Paragraph ${i}.`);
    expect(pages.map((page) => linesOf(page).at(-1))).toEqual(
      pages.map((_, i) => `${i + 1} / ${pages.length}`),
    );
  });

  it.each([
    ["a list", (i: number) => `- item ${i}`, "\n"],
    ["code", (i: number) => `    line ${i}`, "\n"],
    ["a table", (i: number) => `| row ${i} | x |`, "\n"],
  ])("continues on the next page in %s, and leaves nothing out", async (what, line, between) => {
    const head = what === "a table" ? "| a | b |\n|---|---|\n" : "";
    const markdown = head + Array.from({ length: 120 }, (_, i) => line(i + 1)).join(between);
    const { pages } = await render({ markdown });
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.length).toBeLessThan(8);
    const all = pages.flatMap(linesOf).join("\n");
    for (let i = 1; i <= 120; i++) expect(all).toMatch(new RegExp(`\\b(item|line|row) ${i}(x|\\b)`));
  });

  it("replaces each character that the font lacks by a question mark, and reports how many", async () => {
    const { result, pages } = await render({ markdown: "Αλφα, 漢字, 👨‍👩‍👧! Größe – A\u0308 → \u2212" });
    expect(linesOf(must(pages[0]))[0]).toBe("????, ??, ?! Größe – Ä -> -");
    expect(result).toMatchObject({
      note: '7 characters are not in the font and were replaced by "?": give a font that has them.',
    });
  });

  it("embeds images of the workspace, and the description of images elsewhere", async () => {
    const markdown = "![dot](img/a%20dot.png)\n\n![far away](https://example.com/far.png)";
    const { result, pdf, pages } = await render({ markdown }, { files: { "img/a dot.png": png() } });
    expect(must(pdf).toString("latin1")).toContain("/Subtype /Image");
    expect(linesOf(must(pages[0]))).toContain("[far away]");
    expect(result).toMatchObject({
      note: "The image https://example.com/far.png is not in the workspace and was left out.",
    });
  });

  it.each([
    ["is broken inside", png(Buffer.from("no pixels")), "its PNG data is broken"],
    ["has too few pixels", png(deflateSync(Buffer.alloc(3))), "its PNG data does not fit its size"],
    ["is interlaced", png(undefined, 1), "it is an interlaced PNG: save it without interlacing"],
    ["is cut off", png().subarray(0, 20), "its PNG cannot be read"],
    ["has an unknown filter", png(deflateSync(Buffer.alloc(18, 9))), "its PNG data is broken"],
    ["is something else", Buffer.from("GIF89a"), "it is neither PNG nor JPEG"],
  ])("refuses an image that %s", async (_what, picture, why) => {
    const { result, pdf } = await render({ markdown: "![x](x.png)" }, { files: { "x.png": picture } });
    expect(result).toBe(`The image "x.png" cannot be used: ${why}.`);
    expect(pdf).toBeNull();
  });

  it("reads and embeds an image once, however often and under whatever spelling it is named", async () => {
    const markdown = ["a.png", "./a.png", "%61.png", "a%2Epng", "a.png"].map((name) => `![x](${name})`);
    const files = { "a.png": png() };
    const { pdf } = await render({ markdown: markdown.join("\n\n") }, { files });
    const one = await render({ markdown: "![x](a.png)" }, { files });
    const images = (bytes: Buffer | null) =>
      must(bytes)
        .toString("latin1")
        .match(/\/Subtype \/Image/g);
    expect(images(pdf)).toEqual(images(one.pdf));
  });

  it("refuses more images, and larger ones, than may be kept in memory", async () => {
    const named = (count: number) => Array.from({ length: count }, (_, i) => `p${i}.png`);
    const markdown = (names: readonly string[]) => names.map((name) => `![x](${name})`).join("\n\n");
    const small = Object.fromEntries(named(201).map((name) => [name, png()]));
    const { result } = await render({ markdown: markdown(named(201)) }, { files: small });
    expect(result).toBe("The Markdown has more than 200 images: make several PDFs.");
    const large = Object.fromEntries(named(4).map((name) => [name, Buffer.alloc(15_000_000)]));
    const { result: other } = await render({ markdown: markdown(named(4)) }, { files: large });
    expect(other).toMatch(/^The images have more than 50000000 bytes together/);
  });

  it("copies the pieces of an image once, however many there are", () => {
    const pixels = deflateSync(Buffer.alloc(20_000), { level: 0 });
    const pieces = Array.from({ length: Math.ceil(pixels.length / 16) }, (_, i) =>
      pixels.subarray(16 * i, 16 * (i + 1)),
    );
    const picture = grayPng(19_999, pieces);
    const joined = vi.spyOn(Buffer, "concat");
    onTestFinished(() => joined.mockRestore());
    expect(pdfImage(picture)).toHaveProperty("bytes");
    const copied = joined.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    expect(copied).toBeGreaterThan(0);
    expect(copied).toBeLessThan(5 * picture.length);
  });

  it.each([
    [
      "is too large",
      Buffer.concat([png(), Buffer.alloc(10_000_000)]),
      /^it has \d+ bytes, and the maximum is 10000000: make it smaller$/,
    ],
    [
      "has too many parts",
      grayPng(1, Array<Buffer>(20_001).fill(Buffer.alloc(0))),
      /^its PNG has more than 20000 parts: save it again$/,
    ],
  ])("refuses an image that %s before it reads its pixels", (_what, picture, why) => {
    expect(pdfImage(picture)).toEqual({ problem: expect.stringMatching(why) });
  });

  it.each([
    ["an invalid JPEG", "![x](x.jpg)", { "x.jpg": Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2]) }],
    ["an image outside", "![x](../x.png)", {}],
    ["a missing image", "![x](x.png)", {}],
  ])("refuses %s with a clear error, once", async (_what, markdown, files) => {
    const { result, call } = await render({ markdown }, { files });
    expect(result).toMatch(/^\S.*\.$/);
    expect([call.status, call.attempt]).toEqual(["failed", 1]);
  });

  it("refuses a file that is not a font", async () => {
    const { result } = await render({ markdown: "x", font: "f.ttf" }, { files: { "f.ttf": "no font" } });
    expect(result).toMatch(/^The font "f\.ttf" cannot be used: /);
  });

  const DEJAVU = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
  it.skipIf(!existsSync(DEJAVU))("sets other scripts in a font of the workspace", async () => {
    const files = { "fonts/dejavu.ttf": readFileSync(DEJAVU) };
    const { result, pdf } = await render(
      { markdown: "# Αλφα\n\n**βήτα** `γάμμα`", font: "fonts/dejavu.ttf" },
      { files },
    );
    expect(result).not.toHaveProperty("note");
    expect(must(pdf).toString("latin1")).toContain("DejaVuSans");
  });

  it("drops the styles of a very long paragraph, and refuses a text that is too long", async () => {
    const { pages } = await render({ markdown: `**bold**\n\n${"*a ".repeat(4_000)}` });
    expect(linesOf(must(pages[0]))[0]).toBe("bold");
    expect(linesOf(must(pages[0]))[1]).toMatch(/^\*a \*a \*a/);
    const { result } = await render({ markdown: "x".repeat(100_001) });
    expect(result).toBe("The Markdown has 100001 characters, and the maximum is 100000: make several PDFs.");
  });

  it("separates very many quotes in a row, and leaves code unchanged", () => {
    const rows = "> # a\nb\n".repeat(150);
    expect(markdownBlocks(`\`\`\`\n${rows}\`\`\``)).toEqual([{ kind: "code", text: rows.trimEnd() }]);
    const read = vi.spyOn(Tokenizer.prototype, "blockquote");
    onTestFinished(() => read.mockRestore());
    const kinds = markdownBlocks("> # a\nb\n".repeat(1_000)).map(({ kind }) => kind);
    expect(kinds).toEqual(Array.from({ length: 1_000 }, () => ["quote", "paragraph"]).flat());
    // How far the parser may look ahead from a quote: to the next empty line.
    const reach = read.mock.calls.map(
      ([rest]) => (rest.indexOf("\n\n") + 1 || rest.length) / "> # a\nb\n".length,
    );
    expect(reach.length).toBeGreaterThan(1_000);
    expect(Math.max(...reach)).toBeLessThan(110);
  });

  it("lays out endless nesting and an endless word", async () => {
    const { call } = await render({ markdown: `${"> ".repeat(60)}deep\n\n${"x".repeat(20_000)}` });
    expect(call.status).toBe("succeeded");
  });
});

it("says what to install if pdfkit is missing, and only when it is needed", async () => {
  const script = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => {
      if (name === "pdfkit" || name.startsWith("nodemailer")) throw new Error("Cannot find package");
      return next(name, context);
    } });
    const { builtInTools } = await import("./src/adapters/tools/index.ts");
    const { render_pdf, send_mail } = builtInTools({ send_mail: { url: "smtp://localhost", from: "a@b.example" } });
    const call = { idempotencyKey: "k", correlate: () => {}, signal: new AbortController().signal };
    const say = (error) => console.log(error.details.reason, error.message);
    await render_pdf.execute({ path: "a.pdf", markdown: "x" }, call).catch(say);
    await send_mail.execute({ to: "a@b.example", subject: "s", text: "t" }, call).catch(say);
  `;
  const root = join(import.meta.dirname, "../../..");
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: root,
  });
  expect(stdout.trim().split("\n")).toEqual([
    'missing_package render_pdf needs the package "pdfkit", which could not be loaded: run `npm install pdfkit@0.20` beside pawl.',
    'missing_package send_mail needs the package "nodemailer", which could not be loaded: run `npm install nodemailer@10` beside pawl.',
  ]);
});

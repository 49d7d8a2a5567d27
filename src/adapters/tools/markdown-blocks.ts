import { htmlToText } from "html-to-text";
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { withQuotesApart } from "./markdown-quotes.ts";

/** Text in one style. */
export type TextRun = {
  readonly text: string;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly code: boolean;
  readonly strike: boolean;
  readonly link: string | null;
};

export type Alignment = "left" | "center" | "right";

/** Markdown as it is laid out on a page: blocks, one below the other. */
export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly runs: readonly TextRun[] }
  | { readonly kind: "paragraph"; readonly runs: readonly TextRun[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "image"; readonly href: string; readonly alt: string }
  | { readonly kind: "rule" }
  | { readonly kind: "list"; readonly items: readonly ListItem[] }
  | {
      readonly kind: "table";
      readonly align: readonly Alignment[];
      readonly rows: readonly (readonly string[])[];
    };

export type ListItem = { readonly marker: string; readonly blocks: readonly Block[] };

/** Longer than any paragraph; parsing inline styles takes time quadratic in the length. */
const MOST_STYLED_CHARACTERS = 8_000;

/** The blocks of a text. A paragraph that is too long loses its inline styles. */
export function markdownBlocks(markdown: string): readonly Block[] {
  const lexer = new Lexer({ gfm: true });
  lexer.blockTokens(withQuotesApart(markdown.replace(/\r\n?/g, "\n")), lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length <= MOST_STYLED_CHARACTERS) lexer.inlineTokens(src, tokens);
    else tokens.push({ type: "text", raw: src, text: src, escaped: false });
  }
  return blocksOf(lexer.tokens);
}

function blocksOf(tokens: readonly Token[]): readonly Block[] {
  return tokens.flatMap((token) => blockOf(token as MarkedToken));
}

function blockOf(token: MarkedToken): readonly Block[] {
  switch (token.type) {
    case "heading":
      return [{ kind: "heading", level: token.depth, runs: runsOf(token.tokens) }];
    case "paragraph":
      return paragraph(token.tokens);
    case "text":
      return paragraph("tokens" in token && token.tokens !== undefined ? token.tokens : [token]);
    case "code":
      return [{ kind: "code", text: token.text }];
    case "blockquote":
      return [{ kind: "quote", blocks: blocksOf(token.tokens) }];
    case "list":
      return [{ kind: "list", items: token.items.map((item, i) => listItem(token, item, i)) }];
    case "table":
      return [table(token)];
    case "hr":
      return [{ kind: "rule" }];
    case "html":
      return plainParagraph(htmlToText(token.text, { wordwrap: false }));
    // Spaces, and link definitions, which are resolved in the links; the others occur only inside a paragraph.
    case "space":
    case "def":
    case "checkbox":
    case "list_item":
    case "br":
    case "codespan":
    case "del":
    case "em":
    case "escape":
    case "image":
    case "link":
    case "strong":
      return [];
  }
}

/** A paragraph, followed by its images as separate blocks. */
function paragraph(tokens: readonly Token[]): readonly Block[] {
  const runs = runsOf(tokens);
  const images = tokens.flatMap((token) => imagesIn(token as MarkedToken));
  return runs.every(({ text }) => text.trim() === "") ? images : [{ kind: "paragraph", runs }, ...images];
}

function plainParagraph(text: string): readonly Block[] {
  return text === "" ? [] : [{ kind: "paragraph", runs: [{ ...PLAIN, text }] }];
}

function imagesIn(token: MarkedToken): readonly Block[] {
  if (token.type === "image") return [{ kind: "image", href: token.href, alt: unescaped(token.text) }];
  return "tokens" in token ? (token.tokens ?? []).flatMap((each) => imagesIn(each as MarkedToken)) : [];
}

function listItem(list: Tokens.List, item: Tokens.ListItem, index: number): ListItem {
  const first = typeof list.start === "number" ? list.start : 1;
  const bullet = list.ordered ? `${first + index}.` : "•";
  const marker = item.task ? (item.checked === true ? "[x]" : "[ ]") : bullet;
  return { marker, blocks: blocksOf(item.tokens) };
}

function table({ header, rows, align }: Tokens.Table): Block {
  const textOf = ({ tokens }: Tokens.TableCell) =>
    runsOf(tokens)
      .map(({ text }) => text)
      .join("");
  return {
    kind: "table",
    align: align.map((each) => each ?? "left"),
    rows: [header, ...rows].map((row) => row.map(textOf)),
  };
}

const PLAIN: Omit<TextRun, "text"> = { bold: false, italic: false, code: false, strike: false, link: null };

function runsOf(tokens: readonly Token[], style: Omit<TextRun, "text"> = PLAIN): readonly TextRun[] {
  return tokens.flatMap((token) => inlineOf(token as MarkedToken, style));
}

function inlineOf(token: MarkedToken, style: Omit<TextRun, "text">): readonly TextRun[] {
  switch (token.type) {
    case "strong":
      return runsOf(token.tokens, { ...style, bold: true });
    case "em":
      return runsOf(token.tokens, { ...style, italic: true });
    case "del":
      return runsOf(token.tokens, { ...style, strike: true });
    case "link":
      return runsOf(token.tokens, { ...style, link: linkTo(token.href) });
    case "codespan":
      return [{ ...style, code: true, text: token.text }];
    case "br":
      return [{ ...style, text: "\n" }];
    case "html":
      return /^<br\s*\/?>$/i.test(token.text) ? [{ ...style, text: "\n" }] : [];
    case "text":
    case "escape":
      // A soft line break is a space.
      return [{ ...style, text: unescaped(token.text).replace(/ *\n */g, " ") }];
    // An image becomes a separate block, and a checkbox is the marker of its item; the others are blocks.
    case "image":
    case "checkbox":
    case "space":
    case "def":
    case "blockquote":
    case "code":
    case "heading":
    case "hr":
    case "list":
    case "list_item":
    case "paragraph":
    case "table":
      return [];
  }
}

/** Only web and mail links are kept. */
function linkTo(href: string): string | null {
  return /^(?:https?|mailto):/i.test(href) ? href : null;
}

function unescaped(text: string): string {
  return text.replace(/&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});/gi, (entity) => htmlToText(entity));
}

import { type FormatCallback, type HtmlToTextOptions, htmlToText } from "html-to-text";
import { MOST_TITLE_READ } from "./page-limits.ts";

/** A web page as the model sees it. */
export type PageText = { readonly title: string | null; readonly text: string };

/** Elements that are not part of a page's text. */
const LEFT_OUT = [
  "script",
  "style",
  "noscript",
  "template",
  "nav",
  "svg",
  "iframe",
  "img",
  "button",
  "dialog",
];

const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"];

/** As in Markdown, so that the structure stays visible. */
const heading: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addInline(`${"#".repeat(Number((element.name ?? "h1").charAt(1)))} `);
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

/** A table row is a line. The columns are not aligned: that takes minutes for a large table. */
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(" | ");
};

/** Far more than real pages have. Reading time grows with the tags: a page made to keep a thread busy is cut here. */
const MOST_TAGS = 60_000;

/** The limit for the page itself, too: absolute URLs in place of short ones could make the text a hundred times as long. */
const MOST_CHARACTERS = 2_000_000;

/** The readable text of a page; links as `text [url]`, with absolute URLs. */
export function pageText(page: string, url: string): PageText & { readonly isWhole: boolean } {
  const html = withTags(page, MOST_TAGS);
  const options: HtmlToTextOptions = {
    wordwrap: false,
    formatters: { heading, cell },
    limits: { maxInputLength: html.length + 1, maxDepth: 200 },
    selectors: [
      ...LEFT_OUT.map((selector) => ({ selector, format: "skip" })),
      ...HEADINGS.map((selector) => ({ selector, format: "heading" })),
      {
        selector: "a",
        options: {
          pathRewrite: (path: string) => URL.parse(path, url)?.href ?? path,
          hideLinkHrefIfSameAsText: true,
          ignoreHref: false,
          noAnchorUrl: true,
        },
      },
      { selector: "ul", options: { itemPrefix: "- " } },
      { selector: "tr", format: "block", options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } },
      { selector: "td", format: "cell" },
      { selector: "th", format: "cell" },
    ],
  };
  const text = htmlToText(html, options)
    .replace(/ \|[ \t]*$/gm, "")
    .trim();
  const isWhole = html.length === page.length && text.length <= MOST_CHARACTERS;
  return { title: titleOf(html), text: text.slice(0, MOST_CHARACTERS), isWhole };
}

function withTags(html: string, most: number): string {
  let at = -1;
  for (let seen = 0; seen <= most; seen++) {
    at = html.indexOf("<", at + 1);
    if (at === -1) return html;
  }
  return html.slice(0, at);
}

function titleOf(html: string): string | null {
  const start = /<title(?:\s[^>]{0,500})?>/i.exec(html);
  if (start === null) return null;
  const from = start.index + start[0].length;
  const end = html.indexOf("<", from);
  const inner = html.slice(from, Math.min(end === -1 ? html.length : end, from + MOST_TITLE_READ));
  const title = htmlToText(inner, { wordwrap: false }).replace(/\s+/g, " ").trim();
  return title === "" ? null : title.toWellFormed();
}

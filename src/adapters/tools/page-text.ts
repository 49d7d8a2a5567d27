import { type FormatCallback, type HtmlToTextOptions, htmlToText } from "html-to-text";

/** A web page as a model is shown it. */
export type PageText = { readonly title: string | null; readonly text: string };

/** What is no part of what a page says. */
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

/** As in Markdown, so that a reader sees what belongs under what. */
const heading: FormatCallback = (element, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 });
  builder.addInline(`${"#".repeat(Number((element.name ?? "h1").charAt(1)))} `);
  walk(element.children, builder);
  builder.closeBlock({ trailingLineBreaks: 2 });
};

/** A row of a table is a line. The columns are not aligned: that takes minutes for a large table. */
const cell: FormatCallback = (element, walk, builder) => {
  walk(element.children, builder);
  builder.addInline(" | ");
};

/**
 * Far more than pages have. Reading takes as long as there are tags, and the process does nothing else meanwhile, its lease
 * included: a page that is made to keep somebody busy is cut here.
 */
const MOST_TAGS = 60_000;

/** The readable text of a page; links as `text [url]`, with whole addresses. */
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
  return { title: titleOf(html), text, isWhole: html.length === page.length };
}

function withTags(html: string, most: number): string {
  let at = -1;
  for (let seen = 0; seen <= most; seen++) {
    at = html.indexOf("<", at + 1);
    if (at === -1) return html;
  }
  return html.slice(0, at);
}

const MOST_TITLE = 300;

function titleOf(html: string): string | null {
  const inner = /<title(?:\s[^>]{0,500})?>([^<]{0,2000})/i.exec(html)?.[1] ?? "";
  const title = htmlToText(inner, { wordwrap: false }).replace(/\s+/g, " ").trim();
  return title === "" ? null : title.slice(0, MOST_TITLE).toWellFormed();
}

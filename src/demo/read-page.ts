import { unescapeHtml } from "./escape-html.ts";

/** A web page as the model sees it. */
export type ReadPage = {
  readonly url: string;
  readonly title: string;
  readonly text: string;
  readonly links: readonly { readonly url: string; readonly title: string }[];
};

/** The title, the paragraphs and the links of a page. Links are absolute, without fragments, each once. */
export function readPage(html: string, url: string): ReadPage {
  const links = new Map<string, string>();
  for (const [, target = "", label = ""] of html.matchAll(/<a\s[^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gis)) {
    const link = URL.parse(unescapeHtml(target), url);
    if (link === null) continue;
    link.hash = "";
    if (!links.has(link.href)) links.set(link.href, plainText(label));
  }
  return {
    url,
    title: plainText(/<title>(.*?)<\/title>/is.exec(html)?.[1] ?? ""),
    text: [...html.matchAll(/<p>(.*?)<\/p>/gis)].map(([, text = ""]) => plainText(text)).join("\n\n"),
    links: [...links].map(([href, title]) => ({ url: href, title })),
  };
}

function plainText(html: string): string {
  return unescapeHtml(html.replace(/<[^>]*>/g, ""))
    .replace(/\s+/g, " ")
    .trim();
}

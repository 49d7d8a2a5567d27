import type { AnswerHold } from "./answer-hold.ts";
import { escapeHtml } from "./escape-html.ts";
import { listenOnLoopback } from "./loopback-server.ts";
import { SITE_PAGES, type SitePage } from "./site-pages.ts";

export type WebSite = {
  readonly url: string;
  /** The paths of the requested pages, in order, duplicates included. */
  readonly requests: readonly string[];
  readonly close: () => Promise<void>;
};

/** The web site that the job researches. */
export async function openWebSite(hold: AnswerHold): Promise<WebSite> {
  const requests: string[] = [];
  const type = "text/html; charset=utf-8";
  const { url, close } = await listenOnLoopback(async ({ path }) => {
    const page = SITE_PAGES.find((each) => each.path === path);
    if (page === undefined) return { status: 404, type, body: "<h1>Not found</h1>" };
    requests.push(path);
    // The planner reads the first page; the crawler reads the others.
    if (path !== "/") await hold.pass("page", path);
    return { status: 200, type, body: htmlOf(page) };
  });
  return { url: `${url}/`, requests, close };
}

function htmlOf({ title, paragraphs, links }: SitePage): string {
  const items = links.map((link) => {
    const label = SITE_PAGES.find(({ path }) => path === link)?.title ?? link;
    return `    <li><a href="${escapeHtml(link)}">${escapeHtml(label)}</a></li>`;
  });
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title></head>
<body>
  <h1>${escapeHtml(title)}</h1>
${paragraphs.map((text) => `  <p>${escapeHtml(text)}</p>`).join("\n")}
  <ul>
${items.join("\n")}
  </ul>
</body>
</html>
`;
}

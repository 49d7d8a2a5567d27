import { escapeHtml } from "./escape-html.ts";
import { citedSources, type Report } from "./research.ts";

/** The report as a self-contained page. The same report produces the same bytes. */
export function reportHtml(written: Report, titleOf: (url: string) => string): string {
  const sources = citedSources(written);
  const sections = written.sections.map(
    ({ heading, paragraphs }) => `  <h2>${escapeHtml(heading)}</h2>
${paragraphs.map(({ text, sources: urls }) => `  <p>${escapeHtml(text)}${marks(sources, urls)}</p>`).join("\n")}`,
  );
  const list = sources.map(
    (url, i) =>
      `    <li id="source-${i + 1}">${escapeHtml(titleOf(url))}, <a href="${escapeHtml(url)}">${escapeHtml(url)}</a></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>${escapeHtml(written.title)}</title>
  <style>
    body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; font: 1.05rem/1.6 Georgia, serif; color: #222; }
    h1, h2 { line-height: 1.25; }
    .summary { font-style: italic; }
    sup a { text-decoration: none; }
  </style>
</head>
<body>
  <h1>${escapeHtml(written.title)}</h1>
  <p class="summary">${escapeHtml(written.summary)}</p>
${sections.join("\n")}
  <h2>Sources</h2>
  <ol>
${list.join("\n")}
  </ol>
</body>
</html>
`;
}

function marks(sources: readonly string[], urls: readonly string[]): string {
  return urls
    .map((url) => sources.indexOf(url) + 1)
    .map((number) => ` <sup><a href="#source-${number}">[${number}]</a></sup>`)
    .join("");
}

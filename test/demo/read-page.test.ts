import { expect, test } from "vitest";
import { escapeHtml, unescapeHtml } from "../../src/demo/escape-html.ts";
import { readPage } from "../../src/demo/read-page.ts";

test("a page is its title, its paragraphs as plain text, and its links, absolute and each once", () => {
  const html = `<html><head><title>Springs &amp; <b>weights</b></title></head><body><h1>Springs</h1>
    <p>A spring   is <em>wound</em>.</p><p>It&#39;s a &lt;coil&gt;.</p>
    <a href="/fusee">The <i>fusee</i></a> <a class="x" href="fusee#top">again</a> <a href="http://[">nowhere</a>
    <a href="https://other.example/a?b=1&amp;c=2">Elsewhere</a></body></html>`;
  expect(readPage(html, "http://127.0.0.1:8080/springs")).toEqual({
    url: "http://127.0.0.1:8080/springs",
    title: "Springs & weights",
    text: "A spring is wound.\n\nIt's a <coil>.",
    links: [
      { url: "http://127.0.0.1:8080/fusee", title: "The fusee" },
      { url: "https://other.example/a?b=1&c=2", title: "Elsewhere" },
    ],
  });
});

test("escaping leaves nothing of a tag or an attribute, and can be undone", () => {
  const text = `<script>alert("x" && 'y')</script>&amp;`;
  expect(escapeHtml(text)).not.toMatch(/[<>"']/);
  expect(unescapeHtml(escapeHtml(text))).toBe(text);
});

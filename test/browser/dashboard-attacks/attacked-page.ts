import type { Page, Request } from "playwright-core";
import { expect } from "vitest";
import { countInvisible } from "../../../src/core/visible-text.ts";
import { tooWide } from "../page-layout.ts";

/** A page on which a text may have done harm. */
export class AttackedPage {
  readonly page: Page;
  readonly #pending = new Set<Request>();

  constructor(page: Page) {
    this.page = page;
    // The stream has no end, and everything else is a part of the page.
    page.on("request", (request) => {
      if (!request.url().includes("/v1/stream")) this.#pending.add(request);
    });
    page.on("requestfinished", (request) => this.#pending.delete(request));
    page.on("requestfailed", (request) => this.#pending.delete(request));
  }

  /**
   * Resolves once this is shown and the page has what it reads, to the milliseconds until something was painted. A page whose
   * code is still being loaded reads nothing, and has nothing on it that could do harm.
   */
  async open(url: string, shown: string): Promise<number> {
    this.#pending.clear();
    await this.page.goto(url);
    await expect.poll(() => this.page.getByRole("status").first().innerText(), WAIT).toBe("live");
    await this.page.waitForSelector(shown, WAIT);
    await this.settled();
    return (await this.page.evaluate(FIRST_PAINT)) as number;
  }

  /** Resolves once nothing is being read, three times in a row. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      await this.page.evaluate(
        "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20)))",
      );
      quiet = this.#pending.size === 0 ? quiet + 1 : 0;
    }
  }

  /** All that a person can read there. */
  async text(): Promise<string> {
    const texts: readonly string[] = await this.page.evaluate(EVERY_TEXT);
    return texts.join("\n");
  }

  /** What the texts on the page have done, beside what the tab has collected. */
  async harm(): Promise<readonly string[]> {
    const { hasRun, links, texts } = (await this.page.evaluate(
      `({ hasRun: "pwned" in window, links: ${STRANGE_LINKS}, texts: ${EVERY_TEXT} })`,
    )) as { readonly hasRun: boolean; readonly links: readonly string[]; readonly texts: readonly string[] };
    const unseen = texts.filter((text) => countInvisible(text.toWellFormed()) > 0);
    return [
      ...(hasRun ? ["a script has run"] : []),
      ...links.map((link) => `a link leads to ${link}`),
      ...unseen.map((text) => `not seen: ${JSON.stringify(text.slice(0, 200))}`),
      ...(await tooWide(this.page)).map((wide) => `wider than its window ${wide}`),
    ];
  }
}

const WAIT = { timeout: 20_000 };

const FIRST_PAINT = `performance.getEntriesByName("first-contentful-paint").at(0)?.startTime ?? Infinity`;

/** Text nodes, and what readers of a screen and tooltips say. Fields have what a person types, as it is. */
const EVERY_TEXT = `(() => {
  const texts = [document.title];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) texts.push(nodes.currentNode.data);
  for (const element of document.body.querySelectorAll("*"))
    for (const name of ["title", "aria-label", "aria-description", "placeholder", "alt"])
      texts.push(element.getAttribute(name) ?? "");
  return texts.filter((text) => text !== "");
})()`;

/** Links that lead to no page, or tell another one where they were. */
const STRANGE_LINKS = `[...document.links].filter((link) => {
  if (link.origin === location.origin || link.protocol === "mailto:") return false;
  return !/^https?:$/.test(link.protocol) || !link.relList.contains("noreferrer");
}).map((link) => link.href)`;
